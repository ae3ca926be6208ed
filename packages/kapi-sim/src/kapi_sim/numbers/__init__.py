"""Numbers of simulated kernels: NumPy's rules where Python's own arithmetic and functions differ."""
