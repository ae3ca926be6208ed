"""Run some batches, and print counts and differences: `python -m compositions LEVEL FIRST LAST`."""
