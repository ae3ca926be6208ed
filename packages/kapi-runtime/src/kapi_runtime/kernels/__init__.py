"""What `call_kernel` takes: kernels of every origin."""
