"""Analyses of typed IR: its result and text, the widths of its floats, the arguments that it writes."""
