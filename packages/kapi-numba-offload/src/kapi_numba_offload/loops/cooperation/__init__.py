"""Iterations that work-groups do together on a GPU: the inner loops of each are distributed over the work-items."""
