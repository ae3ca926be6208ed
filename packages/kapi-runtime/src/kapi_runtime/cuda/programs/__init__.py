"""Programs for CUDA devices: from compiled code, or that of others, to kernels that can be launched."""
