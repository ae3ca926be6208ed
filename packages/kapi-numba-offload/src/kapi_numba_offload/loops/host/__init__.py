"""Loops on the host: over copies of the arrays, and what they leave."""
