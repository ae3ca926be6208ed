"""Tests of LLVM IR as objects."""
