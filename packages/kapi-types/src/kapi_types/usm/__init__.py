"""Numba types of arrays in unified shared memory and of queues, on the host."""
