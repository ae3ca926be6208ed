"""Legalization: group operations become queries of constant axes, memory of the group, and barriers."""
