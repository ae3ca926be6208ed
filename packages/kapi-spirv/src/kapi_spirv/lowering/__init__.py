"""From typed operations to LLVM IR, one module for each family of the kernel language."""

from __future__ import annotations

from kapi_spirv.lowering import (
    arithmetic,
    arrays,
    atomics,
    comparison,
    complex_numbers,
    constants,
    convergence,
    conversion,
    enumerations,
    exchange,
    groups,
    index_space,
    iteration,
    mathematics,
    printing,
    private_memory,
    reductions,
    sequences,
    sub_groups,
    tuples,
    views,
)

__all__ = ["REGISTRIES"]

REGISTRIES = tuple(
    module.registry
    for module in (
        arithmetic,
        arrays,
        atomics,
        comparison,
        complex_numbers,
        constants,
        conversion,
        enumerations,
        convergence,
        exchange,
        groups,
        index_space,
        iteration,
        mathematics,
        printing,
        private_memory,
        reductions,
        sequences,
        sub_groups,
        tuples,
        views,
    )
)
"""Every lowering there is, in no particular order."""
