"""Loops that become kernels, or run on the host."""
