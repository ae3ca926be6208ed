"""The CUDA platform: kernels on NVIDIA's GPUs, through the driver."""
