"""`reduce` and `transform_reduce`: all elements combined into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language import NdItem
from kapi_sim.language.intrinsics.operators import plus
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.language.launchables.graph import require_not_recording
from kapi_sim.whole_arrays.group_steps import fold_tile, same
from kapi_sim.whole_arrays.in_numpy import reduce_in_numpy
from kapi_sim.whole_arrays.world import (
    Pieces,
    World,
    as_element,
    converter,
    one_dimensional,
    operator_on,
    same_length,
    scratch,
)

__all__ = ["Reductions", "reduce_pieces"]


@device_func
def element(a: Any, b: Any, i: Any, transform: Any, convert: Any) -> Any:
    """An element of one array, or of two, transformed."""
    if b is None:
        return convert(transform(a[i]))
    return convert(transform(a[i], b[i]))


def reduce_pieces(
    item: NdItem,
    a: Any,
    b: Any,
    results: Any,
    tile: Any,
    length: int,
    init: Any,
    op: Any,
    transform: Any,
    convert: Any,
) -> None:
    """Combine each piece of an array into an element of `results`; each group takes a piece.

    Four elements of a work-item are in flight at a time.
    """
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group().get_group_linear_id()
    start = group * length
    end = min(start + length, a.shape[0])
    row = start  # rows of an element for each work-item: their bounds are the same for all of the group
    if row + size <= end:
        total = element(a, b, row + position, transform, convert)
        row += size
        if row + 3 * size <= end:
            second = element(a, b, row + position, transform, convert)
            third = element(a, b, row + size + position, transform, convert)
            fourth = element(a, b, row + 2 * size + position, transform, convert)
            row += 3 * size
            while row + 4 * size <= end:
                w = element(a, b, row + position, transform, convert)
                x = element(a, b, row + size + position, transform, convert)
                y = element(a, b, row + 2 * size + position, transform, convert)
                z = element(a, b, row + 3 * size + position, transform, convert)
                total = op(total, w)
                second = op(second, x)
                third = op(third, y)
                fourth = op(fourth, z)
                row += 4 * size
            total = op(op(total, second), op(third, fourth))
        while row + size <= end:
            total = op(total, element(a, b, row + position, transform, convert))
            row += size
        if row + position < end:
            total = op(total, element(a, b, row + position, transform, convert))
        tile[position] = total
    elif row + position < end:
        tile[position] = element(a, b, row + position, transform, convert)
    fold_tile(item, tile, min(size, end - start), op)
    if position == 0:
        if init is None:
            results[group] = tile[0]
        elif start < end:
            results[group] = op(init, tile[0])
        else:
            results[group] = init


class Reductions:
    """`reduce` and `transform_reduce` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def reduce(
        self, array: Any, init: Any = None, op: Callable[[Any, Any], Any] = plus, *, dtype: Any = None, out: Any = None
    ) -> Any:
        """Combine all elements of an array by an operator.

        Parameters
        ----------
        array : array of shape (n,)
            Of any platform, with any stride.
        init : number or record, optional
            Combined before the elements; the result for an empty array.
        op : function
            An operator of kapi, such as `plus` and `maximum`, or a `device_func` of two values. It must be associative
            and commutative, for the order of the elements is not kept. Of two records it returns a record, or a tuple
            of the fields.
        dtype : dtype, optional
            The elements are converted to it first; by default they keep theirs, so that sums of int8 wrap.
        out : array of shape (1,), optional
            Where the result goes.

        Returns
        -------
        scalar or array of rank 0
            NumPy's scalar for NumPy arrays. On a device an array of rank 0 on the queue of `array`, which is not waited
            for. With `out`, its element, as an array of rank 0 while a graph records.

        Raises
        ------
        KernelLaunchError
            If the array is empty and there is no `init`, or `op` is no function for kernels.
        DtypeError
            If `array` is no array of rank 1, or of records without an `op` of your own.

        Notes
        -----
        Scratch memory is an element for each work-group, of the pool of the array's library. The result is
        deterministic: on one device, equal arrays give equal bits.

        References
        ----------
        C++, [reduce]; oneDPL, `oneapi::dpl::reduce`.
        """
        return self.transform_reduce(array, same, init, op, dtype=dtype, out=out)

    def transform_reduce(
        self,
        array: Any,
        transform: Callable[..., Any],
        init: Any = None,
        op: Callable[[Any, Any], Any] = plus,
        *,
        other: Any = None,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Combine what a function makes of each element of an array, or of two arrays, by an operator.

        Parameters
        ----------
        array : array of shape (n,)
            Of any platform, with any stride.
        transform : function
            A `device_func` or a function of kernels such as `math.sqrt`, of an element, or of an element of each array.
        init, op, out
            As for `reduce`.
        other : array of shape (n,), optional
            The second array.
        dtype : dtype, optional
            Of what `transform` returns; by default that of `array`.

        Returns
        -------
        scalar or array of rank 0
            As of `reduce`.

        Raises
        ------
        KernelLaunchError
            As by `reduce`; also if the arrays differ in length.
        DtypeError
            If an array is none of rank 1.

        References
        ----------
        C++, [transform.reduce]; oneDPL, `oneapi::dpl::transform_reduce`.
        """
        world = self._world
        given = one_dimensional(world, "array", array)
        if other is not None:
            one_dimensional(world, "other", other)
            same_length("other", other, "array", array)
        kept = given if dtype is None else np.dtype(dtype)
        elements = array.shape[0]
        if elements == 0 and init is None:
            raise KernelLaunchError(
                "array must have elements to be reduced without `init`, got none: give the result of an empty one as "
                "`init`",
                code="algorithm-empty",
            )
        graph = world.graph()
        if out is None and isinstance(array, np.ndarray):
            require_not_recording("a reduction of a NumPy array without `out`", graph)
        result = world.empty(array, (1,), kept) if out is None else out
        initial = None if init is None else as_element(init, kept)
        if transform is same and other is None and kept == given:
            by_numpy = reduce_in_numpy(array, op, initial, result)
            if by_numpy is not None and world.has_done(by_numpy, array, result):
                return result[0]
        convert = converter(kept, None if transform is same and kept == given else kept)
        op = operator_on(op, kept)
        shape = world.shape(array, "reduce", kept.itemsize)
        pieces = Pieces.of(elements, shape)
        tile = scratch(kept, shape.local)
        constants = {"b": None} if other is None else {}
        arrays = (array,) if other is None else (array, other)
        last = {"init": None} if init is None else {}
        first = () if init is None else (initial,)
        if pieces.count == 1:
            args = (*arrays, result, tile, pieces.length, *first)
            world.run(
                reduce_pieces, pieces.space, args, **constants, **last, op=op, transform=transform, convert=convert
            )
        else:
            partial = world.empty(array, (pieces.count,), kept)
            args = (*arrays, partial, tile, pieces.length)
            world.run(
                reduce_pieces, pieces.space, args, **constants, init=None, op=op, transform=transform, convert=convert
            )
            args = (partial, result, tile, pieces.count, *first)
            one = Pieces.of(1, shape)
            world.run(reduce_pieces, one.space, args, b=None, **last, op=op, transform=same, convert=converter(kept))
        # While a graph records, the element is not there yet.
        return result.reshape(())[()] if graph is None else result.reshape(())
