"""What PTX, LLVM's back end for it, or NVIDIA's assembler cannot express: written otherwise, or refused."""
