"""A solution of each puzzle."""
