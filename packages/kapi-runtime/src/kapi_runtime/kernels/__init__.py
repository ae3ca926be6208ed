"""Kernels of every origin, as `call_kernel` takes them."""
