"""What is there, in which version, and what is wrong with it."""
