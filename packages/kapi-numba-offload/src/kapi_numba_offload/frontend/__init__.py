"""Where Numba hands over: the decorator, the pipeline, and an offloaded function with its calls."""
