"""The text of LLVM IR: functions and their loops, the arrays of the packed argument, and values that hide a pattern."""
