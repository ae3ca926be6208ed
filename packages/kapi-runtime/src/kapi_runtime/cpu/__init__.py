"""The CPU platform: kernels as vector code of this process, over arrays in the host's memory."""
