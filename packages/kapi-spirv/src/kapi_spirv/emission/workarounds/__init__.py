"""Faults of drivers' compilers, each avoided by a module of its own."""
