"""Functions of the table that no device has by itself, written in the kernel language for every back end.

A call is compiled as a device function's is, for its argument types.  A target lowers some forty primitives and gets
these for nothing; a vendor's library would give other results on each device.
"""
