"""The launch on CUDA devices in native code: the driver's function, called without Python in between."""
