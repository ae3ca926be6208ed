"""Optimizations: work that LLVM leaves to be done, and what only this target can know."""
