"""Combining of partial results: one value of what each work-item found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.kernel_source import make_kernel
from kapi_numba_offload.elements.reductions import Combination
from kapi_numba_offload.libraries.interface import DeviceFacts

__all__ = [
    "MOST_OF_ONE_GROUP",
    "combining_kernel",
    "combining_lines",
    "combining_parameters",
    "combining_space",
    "combining_values",
]

_GROUP = 256
MOST_OF_ONE_GROUP = 32 * _GROUP
"""Elements that a work-group has combined before a second launch would begin."""
_PARAMETERS = ("result", "partial", "identity", "items", "count")


def combining_lines(
    combination: Combination, dtype: np.dtype[Any], value: str, facts: DeviceFacts, each: Sequence[str] = ()
) -> list[str]:
    """The lines of a kernel that combines the elements of `partial`, and stores `value`, made of `total`.

    On a processor one work-item takes them all; elsewhere a work-group does, by a tree in its local memory.

    Parameters
    ----------
    combination : Combination
        What two values become.
    dtype : numpy.dtype
        The result's.
    value : str
        What is stored.
    facts : DeviceFacts
        Those of the device.
    each : sequence of str, optional
        The lines that combine what is at `i`; by default that of `partial`.
    """
    each = each or (combination.line("partial[i]", dtype),)
    if facts.is_cpu:
        return [
            "total = identity",
            "for i in range(items):",
            *(f"    {line}" for line in each),
            f"result[()] = {value}",
        ]
    return [
        "k = item.get_local_id(0)",
        "total = identity",
        f"for i in range(k, items, {_GROUP}):",
        *(f"    {line}" for line in each),
        "shared[k] = total",
        f"half = {_GROUP // 2}",
        "while half > 0:",
        "    kapi_runtime.group_barrier(item.get_group())",
        "    if k < half:",
        f"        {combination.line('shared[k + half]', dtype)}",
        "        shared[k] = total",
        "    half = half // 2",
        "if k == 0:",
        f"    result[()] = {value}",
    ]


def combining_space(facts: DeviceFacts) -> kapi_runtime.Range | kapi_runtime.NdRange:
    """The index space of such a kernel."""
    return kapi_runtime.Range(1) if facts.is_cpu else kapi_runtime.NdRange(_GROUP, _GROUP)


def combining_parameters(facts: DeviceFacts) -> tuple[str, ...]:
    """The parameters of such a kernel: two arrays, the identity, how many values, and of how many elements they are."""
    return _PARAMETERS if facts.is_cpu else (*_PARAMETERS, "shared")


def combining_values(dtype: np.dtype[Any], facts: DeviceFacts) -> tuple[Any, ...]:
    """Arguments after those numbers."""
    return () if facts.is_cpu else (kapi_runtime.LocalAccessor(_GROUP, dtype),)


@cache
def combining_kernel(
    combination: Combination, dtype: np.dtype[Any], facts: DeviceFacts, location: str
) -> kapi_runtime.Kernel:
    """The kernel that combines what the work-items of a loop found."""
    lines = combining_lines(combination, dtype, "total", facts)
    return make_kernel("combine", combining_parameters(facts), tuple(lines), location)
