"""The text of PTX, written so that NVIDIA's assembler takes it rightly."""
