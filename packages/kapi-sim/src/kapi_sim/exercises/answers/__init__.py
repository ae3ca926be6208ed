"""The kernels of the exercises, as they should be."""
