"""Instrumentation: a kernel's source becomes source that the simulator can run, check and interrupt."""
