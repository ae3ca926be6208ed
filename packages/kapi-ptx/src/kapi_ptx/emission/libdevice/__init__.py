"""NVIDIA's library of functions for devices: found, cut to what a kernel needs, and linked."""
