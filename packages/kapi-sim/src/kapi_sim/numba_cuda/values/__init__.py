"""Types of elements, and what kernels do with elements: vectors, parts of arrays, functions of single instructions."""
