"""Legalization: IR that PTX, or LLVM's back end for it, cannot express is rewritten or refused."""
