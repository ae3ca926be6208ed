"""Workarounds: PTX written so that NVIDIA's assembler takes it rightly."""
