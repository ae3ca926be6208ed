"""Kernels and device functions on the host: options, signatures, launches, and pickling."""
