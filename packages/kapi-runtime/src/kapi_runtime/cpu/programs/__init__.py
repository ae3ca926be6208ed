"""Programs for the CPU: from object code to kernels that can be launched."""
