"""What is read off typed IR: the result, its text, the widths of its floats, the arguments it writes."""
