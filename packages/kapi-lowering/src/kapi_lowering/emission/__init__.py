"""LLVM's passes and back end, in a helper process."""
