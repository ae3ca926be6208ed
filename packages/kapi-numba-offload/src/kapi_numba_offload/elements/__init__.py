"""Elementwise expressions: one form of them, how an element is spelled, and the kernels that store or reduce it."""
