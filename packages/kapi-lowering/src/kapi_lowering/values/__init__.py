"""Arrays, tuples and loops as LLVM IR: what every target has alike."""
