"""Static types of numba.cuda: how programs spell them, which values have them, and which convert to which."""
