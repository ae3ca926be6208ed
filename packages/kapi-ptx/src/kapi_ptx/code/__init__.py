"""Code of kernels in PTX: LLVM's intrinsics for it, and its own instructions where LLVM has none."""
