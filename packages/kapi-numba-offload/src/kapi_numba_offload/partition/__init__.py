"""A function's body parted into kernels, loops, calls of dpnp and plain Python."""
