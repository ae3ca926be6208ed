"""Numba types of arrays in the memory of devices, of any library, in functions that run on the host."""
