"""Cases of Python as kernels have it: control flow, calls, and names from outside."""
