"""What kernels' code is made of in SPIR-V: OpenCL's built-in functions, and SPIR-V's instructions by name."""
