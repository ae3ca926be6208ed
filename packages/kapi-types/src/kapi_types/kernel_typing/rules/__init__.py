"""The types of values in kernels: operators, functions of numbers, arrays, tuples, loops."""
