"""Rows that work-items sum into in place of one small array: which arrays are small enough, and how the rows add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.elements.kernel_source import MOST_DIMENSIONS, space_of
from kapi_numba_offload.elements.own_rows import adding_kernel, pitch_of
from kapi_numba_offload.elements.reductions import COMBINATIONS
from kapi_numba_offload.elements.shares import ROWS_PER_UNIT, Shares, rows_of
from kapi_numba_offload.loops.body.own_sums import OwnSum
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.usm import DpnpArray, allocate, is_same_view, may_overlap

__all__ = ["OwnRows", "is_apart", "samples", "small_arrays"]

_MOST_BYTES = 2**20  # of a row; more would not stay near the processor
_FEWEST = 4096  # iterations; with fewer, two kernels more take longer than atomics do
_DTYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def small_arrays(captured: Sequence[Any], stored: Sequence[int], extents: Sequence[int], queue: Any) -> tuple[int, ...]:
    """Those of the stored arrays of which each unit of a device may have a row of its own.

    A row has at most as many elements as the unit has iterations, so that to fill and add up rows is the lesser work.

    Parameters
    ----------
    captured : sequence
        Values of a loop's variables.
    stored : sequence of int
        Positions of those that elements are stored to.
    extents : sequence of int
        Iterations along each axis.
    queue : dpctl.SyclQueue
        Where the loop runs.
    """
    count = math.prod(extents)
    if count < _FEWEST:
        return ()
    most = count // int(queue.sycl_device.max_compute_units)
    return tuple(number for number in stored if _is_small(captured[number], most))


def _is_small(array: Any, most: int) -> bool:
    return (
        isinstance(array, DpnpArray)
        and 1 <= array.ndim <= MOST_DIMENSIONS
        and 0 < array.size <= most
        and array.dtype.name in _DTYPES
        and array.nbytes <= _MOST_BYTES
        # No two indices mean the same element.
        and bool(array.flags.c_contiguous or array.flags.f_contiguous)
    )


def is_apart(own: Sequence[int], captured: Sequence[Any]) -> bool:
    """Whether the arrays at the positions `own` share no memory with other ones."""
    return not any(
        at != number and isinstance(each, DpnpArray) and _meet(captured[at], each)
        for at in own
        for number, each in enumerate(captured)
    )


def _meet(one: Any, other: Any) -> bool:
    return is_same_view(one, other) or may_overlap(one, other)


def samples(own: Sequence[OwnSum], names: Sequence[str], captured: Sequence[Any]) -> list[Any]:
    """Arguments of a kernel for `OwnSum.parameters`, to compile it for the captured variables."""
    arrays = [captured[names.index(each.array)] for each in own]
    return [
        part
        for each, array in zip(own, arrays, strict=True)
        for part in (allocate((1,), array.dtype, "device", array.sycl_queue), 1, _identity(each.operation, array.dtype))
    ]


def _identity(operation: str, dtype: np.dtype[Any]) -> Any:
    """What rows start with; for sums of floats -0.0, since to add 0.0 would change the sign of a zero."""
    return dtype.type(-0.0) if dtype.kind == "f" else COMBINATIONS[operation].identity(dtype)


@dataclass(frozen=True, slots=True)
class OwnRows:
    """Rows for one launch.

    Attributes
    ----------
    own : sequence of OwnSum
        What is summed.
    arrays : sequence of dpnp.ndarray
        The arrays, in that order.
    rows : sequence of dpnp.ndarray
        The rows of each, one after another.
    shares : Shares
        How the iterations of the outermost loop are shared out.
    place : str
        What the kernels are made from, ``file:line``.
    """

    own: Sequence[OwnSum]
    arrays: Sequence[Any]
    rows: Sequence[Any]
    shares: Shares
    place: str

    @classmethod
    def of(
        cls, own: Sequence[OwnSum], arrays: Sequence[Any], extents: Sequence[int], queue: Any, place: Any
    ) -> OwnRows:
        """Rows for arrays that are small enough for so many iterations."""
        units = int(queue.sycl_device.max_compute_units)
        longest = max(each.size for each in arrays)
        per_unit = max(1, min(ROWS_PER_UNIT, math.prod(extents) // (longest * units)))
        shares = rows_of(extents[0], queue, per_unit)
        rows = [
            allocate((shares.rows * pitch_of(each.size, each.dtype),), each.dtype, "device", queue) for each in arrays
        ]
        return cls(own, arrays, rows, shares, str(place))

    @property
    def args(self) -> list[Any]:
        """Arguments of the loop's kernel for `OwnSum.parameters`."""
        return [
            part
            for each, array, rows in zip(self.own, self.arrays, self.rows, strict=True)
            for part in (rows, pitch_of(array.size, array.dtype), _identity(each.operation, array.dtype))
        ]

    @property
    def made(self) -> list[tuple[tuple[int, ...], Any, str]]:
        """Shape, dtype and USM kind of the rows."""
        return [(each.shape, each.dtype, "device") for each in self.rows]

    def add_up(self) -> None:
        """Combine the rows with the arrays."""
        for each, array, rows in zip(self.own, self.arrays, self.rows, strict=True):
            kernel = adding_kernel(each.operation, array.dtype, array.ndim, self.place)
            args = [array, rows, self.shares.rows, pitch_of(array.size, array.dtype), *array.shape[1:]]
            launch(kernel, space_of(array.shape), args)
