"""Cases of memory: arrays, constants, private arrays and atomics."""
