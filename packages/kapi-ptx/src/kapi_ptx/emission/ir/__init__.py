"""The text of LLVM IR: its patterns, names for what has numbers, and notes of lines."""
