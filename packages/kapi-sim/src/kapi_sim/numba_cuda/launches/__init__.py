"""Functions of Python as kernels: decorators, what is captured, and how a launch runs."""
