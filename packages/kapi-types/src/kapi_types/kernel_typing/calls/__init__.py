"""The types of calls of the kernel language's own functions and of device functions."""
