"""`copy_if` and `unique`: some of the elements, in their order; and where segments of equal keys begin."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language import NdItem
from kapi_sim.language.intrinsics.group_algorithms import exclusive_scan_over_group, reduce_over_group
from kapi_sim.language.intrinsics.operators import plus
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.language.launchables.graph import require_not_recording
from kapi_sim.whole_arrays.group_steps import same
from kapi_sim.whole_arrays.scans import scan_into
from kapi_sim.whole_arrays.world import Pieces, World, one_dimensional, require_own, require_room

__all__ = ["Selections", "equal_to", "select_into"]


@device_func
def equal_to(x, y):
    """Whether two elements are equal."""
    return x == y


@device_func
def is_kept(a, i, predicate, equal):
    """Whether an element is selected: by a predicate, or as the first of a segment of equal ones."""
    if predicate is not None:
        return bool(predicate(a[i]))
    if i == 0:
        return True
    return not equal(a[i - 1], a[i])


def count_kept(item: NdItem, a, counts, length: int, predicate, equal) -> None:
    """Count the selected elements of each piece; each group takes a piece."""
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    start = group.get_group_linear_id() * length
    found = np.int64(0)
    for i in range(start + position, min(start + length, a.shape[0]), size):
        if is_kept(a, i, predicate, equal):
            found += 1
    total = reduce_over_group(group, found, plus)
    if position == 0:
        counts[group.get_group_linear_id()] = total


def write_kept(item: NdItem, a, offsets, out, count, length: int, run: int, predicate, equal, indices) -> None:
    """Write the selected elements of each piece, or their indices, where those of the pieces before end."""
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    start = group.get_group_linear_id() * length
    end = min(start + length, a.shape[0])
    following = offsets[group.get_group_linear_id()]
    base = start
    while base < end:
        first = base + position * run
        last = min(first + run, end)
        found = np.int64(0)
        for i in range(first, last):
            if is_kept(a, i, predicate, equal):
                found += 1
        to = following + exclusive_scan_over_group(group, found, plus)
        following += reduce_over_group(group, found, plus)
        for i in range(first, last):
            if is_kept(a, i, predicate, equal):
                if indices is None:
                    out[to] = a[i]
                else:
                    out[to] = indices(i)
                to += 1
        base += size * run
    if position == 0 and end == a.shape[0]:
        count[0] = following


def write_kept_alone(item: NdItem, a, offsets, out, count, length: int, predicate, equal, indices) -> None:
    """Write the selected elements of each piece, one after the other; each work-item takes a piece."""
    piece = item.get_global_id(0)
    end = min((piece + 1) * length, a.shape[0])
    to = offsets[piece]
    for i in range(piece * length, end):
        if is_kept(a, i, predicate, equal):
            if indices is None:
                out[to] = a[i]
            else:
                out[to] = indices(i)
            to += 1
    if end == a.shape[0]:
        count[0] = to


def select_into(world: World, a: Any, out: Any, predicate: Any, equal: Any, indices: Any) -> int:
    """Write selected elements of an array, or their indices, to the start of another; return how many.

    - `world`: where kernels run.
    - `a`: at least one element.
    - `out`: long enough; none of its memory is that of `a`.
    - `predicate`, `equal`: one of them.
    - `indices`: None for elements; `same` for their indices.
    """
    require_not_recording("an algorithm whose count the host reads", world.graph())
    dtype = world.dtype_of(a)
    assert dtype is not None  # the caller has looked
    shape = world.shape(a, "scan", dtype.itemsize)
    pieces = Pieces.of(a.shape[0], shape)
    number = np.dtype(np.int64)
    counts, count = world.empty(a, (pieces.count,), number), world.empty(a, (1,), number)
    test = {"predicate": predicate, "equal": equal}
    world.run(count_kept, pieces.space, (a, counts, pieces.length), **test)
    scan_into(world, world.shape(a, "scan", 8), counts, counts, number, plus, 0, True, same)
    args = (a, counts, out, count, pieces.length)
    if shape.local > 1:
        world.run(write_kept, pieces.space, (*args, shape.run), **test, indices=indices)
    else:
        world.run(write_kept_alone, pieces.space, args, **test, indices=indices)
    return world.number(count, 0)


class Selections:
    """`copy_if` and `unique` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def copy_if(self, array: Any, predicate: Callable[[Any], Any], *, out: Any = None) -> Any:
        """Copy the elements of an array for which a predicate holds, in their order.

        Parameters
        ----------
        array : array of shape (n,)
            Of any platform, with any stride.
        predicate : function
            A `device_func` of an element.
        out : array of shape (m,), optional
            At least as long as `array`; shares no memory with it.

        Returns
        -------
        array of shape (k,)
            The start of `out`, or of a new array of n elements of the library of `array`.

        Raises
        ------
        KernelLaunchError
            If `out` is shorter than `array`, or `predicate` is no function for kernels.
        DtypeError
            If an array is none of rank 1.

        Notes
        -----
        The host waits for the number of elements, which is copied from the device. Scratch memory is a count for each
        work-group, of the pool of the array's library. The result is deterministic.

        References
        ----------
        C++, [alg.copy]; oneDPL, `oneapi::dpl::copy_if`.
        """
        return self._select(array, out, predicate, None)

    def unique(self, array: Any, equal: Callable[[Any, Any], Any] = equal_to, *, out: Any = None) -> Any:
        """Copy the first element of each segment of equal neighbours; sorted arrays lose all that is there twice.

        Parameters
        ----------
        array, out
            As for `copy_if`.
        equal : function
            A `device_func` of two neighbours. By default ``==``, for which not-a-number equals nothing; records
            need one.

        Returns
        -------
        array of shape (k,)
            As of `copy_if`.

        Raises
        ------
        KernelLaunchError
            As by `copy_if`.
        DtypeError
            If an array is none of rank 1, or of records without an `equal` of your own.

        References
        ----------
        C++, `std::unique_copy` in [alg.unique]; oneDPL, `oneapi::dpl::unique_copy`.
        """
        return self._select(array, out, None, equal)

    def _select(self, array: Any, out: Any, predicate: Any, equal: Any) -> Any:
        world = self._world
        dtype = one_dimensional(world, "array", array)
        require_own("compared", "equal", dtype, is_own=equal is not equal_to)
        if out is None:
            out = world.empty(array, (array.shape[0],), dtype)
        else:
            one_dimensional(world, "out", out)
            require_room(out, array)
        if array.shape[0] == 0:
            return out[:0]
        return out[: select_into(world, array, out, predicate, equal, None)]
