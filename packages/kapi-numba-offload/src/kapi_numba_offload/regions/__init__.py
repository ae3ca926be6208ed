"""Array expressions and reductions that become kernels."""
