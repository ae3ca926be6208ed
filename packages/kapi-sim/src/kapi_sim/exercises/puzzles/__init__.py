"""Twenty puzzles: kernels to write, from a map to sub-groups, and what says whether they are right."""
