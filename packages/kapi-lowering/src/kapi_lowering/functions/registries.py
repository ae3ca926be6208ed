"""From typed operations to LLVM IR, one module for each family of the kernel language."""

from __future__ import annotations

from kapi_lowering.calls import (
    atomics,
    bits,
    convergence,
    exchange,
    groups,
    index_space,
    mathematics,
    printing,
    random_numbers,
    reductions,
    sub_groups,
)
from kapi_lowering.numbers import arithmetic, comparison, complex_numbers, constants, conversion, enumerations
from kapi_lowering.values import arrays, constant_arrays, iteration, private_memory, sequences, tuples, views

__all__ = ["REGISTRIES"]

REGISTRIES = tuple(
    module.registry
    for module in (
        arithmetic,
        arrays,
        atomics,
        bits,
        comparison,
        complex_numbers,
        constant_arrays,
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
        random_numbers,
        reductions,
        sequences,
        sub_groups,
        tuples,
        views,
    )
)
"""Every lowering there is, in no particular order."""
