"""Optimizations: IR that drivers' compilers turn into better code."""
