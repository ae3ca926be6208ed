"""`reduce_by_segment`: the values of each segment of equal keys combined."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language import NdItem, NdRange
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.operators import plus
from kapi_sim.whole_arrays.group_steps import same, scan_tile
from kapi_sim.whole_arrays.selections import equal_to, select_into
from kapi_sim.whole_arrays.world import (
    World,
    converter,
    is_group_operator,
    one_dimensional,
    operator_on,
    require_own,
    require_room,
    same_length,
    scratch,
)

__all__ = ["Segments"]

_LONG = 32  # elements of a segment, on the average, from which a group takes each


def combine_segments(item: NdItem, keys, values, heads, out_keys, out_values, count: int, op, convert) -> None:
    """Combine the values of each segment, one after the other; each work-item takes a segment."""
    segment = item.get_global_id(0)
    if segment < count:
        start = heads[segment]
        end = values.shape[0]
        if segment + 1 < count:
            end = heads[segment + 1]
        total = convert(values[start])
        for i in range(start + 1, end):
            total = op(total, convert(values[i]))
        out_keys[segment] = keys[start]
        out_values[segment] = total


def combine_long_segments(
    item: NdItem, keys, values, heads, out_keys, out_values, tile, count: int, op, group_op, convert
) -> None:
    """Combine the values of each segment in their order; each group takes a segment, a tile after the other."""
    position, size = item.get_local_id(0), item.get_local_range(0)
    segment = item.get_group().get_group_linear_id()
    start = heads[segment]
    end = values.shape[0]
    if segment + 1 < count:
        end = heads[segment + 1]
    total = convert(values[start])
    base = start
    while base < end:
        scan_tile(item, tile, convert(values[min(base + position, end - 1)]), op, group_op)
        last = convert(tile[min(size, end - base) - 1])
        total = op(total, last) if base > start else last
        group_barrier(item.get_group())
        base += size
    if position == 0:
        out_keys[segment] = keys[start]
        out_values[segment] = total


class Segments:
    """`reduce_by_segment` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def reduce_by_segment(
        self,
        keys: Any,
        values: Any,
        op: Callable[[Any, Any], Any] = plus,
        equal: Callable[[Any, Any], Any] = equal_to,
        *,
        dtype: Any = None,
        out_keys: Any = None,
        out_values: Any = None,
    ) -> tuple[Any, Any]:
        """Combine the values of each segment of equal neighbours among the keys.

        Parameters
        ----------
        keys, values : array of shape (n,)
            Of one platform, of any dtype.
        op : function
            An operator of kapi, or a `device_func` of two values. It must be associative; the order is kept, so that it
            need not be commutative. Of two records it returns a record, or a tuple of the fields.
        equal : function
            A `device_func` of two neighbouring keys; by default ``==``. Records need one.
        dtype : dtype, optional
            The values are converted to it first; by default they keep theirs.
        out_keys, out_values : array of shape (m,), optional
            At least as long as `keys`; they share no memory with the others.

        Returns
        -------
        keys, values : array of shape (k,)
            The first key of each segment, and its values combined: the starts of `out_keys` and `out_values`, or new
            arrays of the libraries of `keys` and `values`.

        Raises
        ------
        KernelLaunchError
            If the arrays differ in length, there is no room, or a function is none for kernels.
        DtypeError
            If an array is none of rank 1, or of records without a function of your own.

        Notes
        -----
        The host waits for the number of segments, which is copied from the device. Scratch memory is an index of eight
        bytes for each key, of the pool of their library. The result is deterministic. One segment is the work of one
        work-item, or of one work-group where segments are long on the average, so that a single long one among many
        short ones takes its time.

        References
        ----------
        oneDPL, `oneapi::dpl::reduce_by_segment`.
        """
        world = self._world
        of_keys, of_values = one_dimensional(world, "keys", keys), one_dimensional(world, "values", values)
        same_length("values", values, "keys", keys)
        require_own("compared", "equal", of_keys, is_own=equal is not equal_to)
        elements = keys.shape[0]
        kept = of_values if dtype is None else np.dtype(dtype)
        for out in (out_keys, out_values):
            if out is not None:
                require_room(out, keys)
        if elements == 0:
            empty_keys = world.empty(keys, (0,), of_keys) if out_keys is None else out_keys[:0]
            return empty_keys, world.empty(values, (0,), kept) if out_values is None else out_values[:0]
        heads = world.empty(keys, (elements,), np.dtype(np.int64))
        count = select_into(world, keys, heads, None, equal, same)
        out_keys = world.empty(keys, (count,), of_keys) if out_keys is None else out_keys[:count]
        out_values = world.empty(values, (count,), kept) if out_values is None else out_values[:count]
        convert = converter(kept, None if kept == of_values else kept)
        op = operator_on(op, kept)
        args = (keys, values, heads, out_keys, out_values)
        shape = world.shape(keys, "segments", kept.itemsize)
        if shape.local == 1 or elements < _LONG * count:
            space = NdRange(-(-count // shape.local) * shape.local, shape.local)
            world.run(combine_segments, space, (*args, count), op=op, convert=convert)
        else:
            group_op = op if is_group_operator(op, kept) else None
            space = NdRange(count * shape.local, shape.local)
            more = scratch(kept, shape.local), count
            world.run(combine_long_segments, space, (*args, *more), op=op, group_op=group_op, convert=convert)
        return out_keys, out_values
