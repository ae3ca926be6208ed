"""Passes over the body of a loop before its rows are lowered to elements."""
