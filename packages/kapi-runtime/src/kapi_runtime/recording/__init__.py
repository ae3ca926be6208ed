"""Profiling: a record of launches and copies."""
