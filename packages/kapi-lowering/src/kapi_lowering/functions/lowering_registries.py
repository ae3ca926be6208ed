"""Lowering of typed operations to LLVM IR, one module for each family of the kernel language."""

from __future__ import annotations

from kapi_lowering.calls import (
    atomics,
    bits,
    groups,
    index_space,
    library_calls,
    mathematics,
    printing,
    shuffles,
)
from kapi_lowering.numbers import arithmetic, comparison, complex_numbers, constants, conversion, enumerations
from kapi_lowering.values import array_memory, arrays, iteration, records, sequences, tuples, vectors, views

__all__ = ["REGISTRIES"]

REGISTRIES = tuple(
    module.registry
    for module in (
        arithmetic,
        array_memory,
        arrays,
        atomics,
        bits,
        comparison,
        complex_numbers,
        constants,
        conversion,
        enumerations,
        shuffles,
        groups,
        index_space,
        iteration,
        library_calls,
        mathematics,
        printing,
        records,
        sequences,
        tuples,
        vectors,
        views,
    )
)
"""Every lowering there is, in no particular order."""
