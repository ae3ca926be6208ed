"""Words of the kernel language that ask the target: queries, groups, atomics, mathematics, printing."""
