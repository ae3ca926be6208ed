"""Plans for a function's loops: as kernels, as functions on the host, behind a guard, or interpreted."""
