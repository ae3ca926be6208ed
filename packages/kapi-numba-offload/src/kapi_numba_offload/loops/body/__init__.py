"""The body of a parallel loop, rewritten as the body of a kernel: statements over elements."""
