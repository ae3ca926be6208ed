"""A kernel's entry point, and its compilation to the target's code."""
