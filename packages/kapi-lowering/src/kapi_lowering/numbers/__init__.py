"""Numbers as LLVM IR: constants, operators and conversions, which every target has alike."""
