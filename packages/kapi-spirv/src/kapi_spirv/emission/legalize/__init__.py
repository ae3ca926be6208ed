"""Legalization: IR that LLVM's SPIR-V back end cannot lower, or lowers wrongly, is rewritten or refused."""
