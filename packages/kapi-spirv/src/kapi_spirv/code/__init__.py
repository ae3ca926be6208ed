"""Code of kernels in SPIR-V: OpenCL's built-in functions, and SPIR-V's instructions by name."""
