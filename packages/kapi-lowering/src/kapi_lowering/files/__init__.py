"""Compiled kernels as bytes, for files that anybody may have written."""
