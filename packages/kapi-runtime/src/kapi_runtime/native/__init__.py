"""Functions that are written in Python and run as native code: compiled once, and kept in the disk cache.

`language` is what they are written in, beside Python.  `compilation` makes object code of them.  `loading` gives them
as builtins to those who call them.  What is compiled is the platforms' own, such as `kapi_runtime.sycl.native`.
"""
