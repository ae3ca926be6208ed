"""Entry from Numba: the decorator, the pipeline, and an offloaded function with its calls."""
