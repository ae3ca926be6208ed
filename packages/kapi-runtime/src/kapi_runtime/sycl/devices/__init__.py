"""SYCL devices: the drivers that bring them, what each can do, and what kernels for it are compiled for."""
