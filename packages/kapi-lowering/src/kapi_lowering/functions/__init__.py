"""A Python function and what it calls as LLVM IR, through Numba's lowering."""
