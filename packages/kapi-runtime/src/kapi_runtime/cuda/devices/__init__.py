"""CUDA devices, and the driver that all of the platform calls."""
