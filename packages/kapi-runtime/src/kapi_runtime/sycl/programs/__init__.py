"""Programs for SYCL devices: from compiled code, or that of others, to kernels that can be launched."""
