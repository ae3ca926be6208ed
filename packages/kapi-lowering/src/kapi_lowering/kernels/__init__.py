"""A kernel's entry point, and its way to the target's code."""
