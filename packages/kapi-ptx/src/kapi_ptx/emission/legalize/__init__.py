"""What PTX, or LLVM's back end for it, cannot express: written otherwise, or refused."""
