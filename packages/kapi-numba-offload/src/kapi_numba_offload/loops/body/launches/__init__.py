"""Integers, lengths and arrays that the launch of a loop decides, and its conditions."""
