"""What makes kernels faster: IR that drivers' compilers turn into better code."""
