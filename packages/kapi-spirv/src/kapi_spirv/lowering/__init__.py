"""From typed operations to LLVM IR, one module for each family of the kernel language."""

from __future__ import annotations

from kapi_spirv.lowering import (
    arithmetic,
    arrays,
    comparison,
    constants,
    convergence,
    conversion,
    index_space,
    iteration,
    mathematics,
    printing,
    tuples,
)

__all__ = ["REGISTRIES"]

REGISTRIES = tuple(
    module.registry
    for module in (
        arithmetic,
        arrays,
        comparison,
        constants,
        conversion,
        convergence,
        index_space,
        iteration,
        mathematics,
        printing,
        tuples,
    )
)
"""Every lowering there is, in no particular order."""
