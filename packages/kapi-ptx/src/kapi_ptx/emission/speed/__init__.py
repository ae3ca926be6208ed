"""What makes kernels faster: IR of which LLVM and NVIDIA's assembler make better code."""
