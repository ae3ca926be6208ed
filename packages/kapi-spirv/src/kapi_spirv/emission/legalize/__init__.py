"""What LLVM's SPIR-V back end cannot lower, or lowers wrongly: written otherwise, or refused."""
