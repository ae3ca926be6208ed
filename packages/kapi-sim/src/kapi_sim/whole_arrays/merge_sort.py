"""A merge sort by a comparison, for elements of any dtype.

Each work-item sorts a run by insertion. Then pairs of sorted runs are merged, and their length doubles with each
launch: each work-item finds by bisection where its part of a merged run begins in both, and writes it.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.language import NdItem, NdRange
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.whole_arrays.group_steps import same
from kapi_sim.whole_arrays.radix_sort import copy_pieces
from kapi_sim.whole_arrays.world import Pieces, World, converter, known_dtype

__all__ = ["merge_sort"]


@device_func
def complex_less(x, y):
    """NumPy's order of complex numbers: the real part, then the imaginary part; not-a-number in either comes last."""
    x_is_nan, y_is_nan = x.real != x.real, y.real != y.real
    if x_is_nan != y_is_nan:
        return y_is_nan
    if not x_is_nan and (x.imag != x.imag) != (y.imag != y.imag):
        return y.imag != y.imag
    if not x_is_nan and x.real != y.real:
        return x.real < y.real
    return x.imag < y.imag or (y.imag != y.imag and x.imag == x.imag)


def sort_runs(item: NdItem, a, values, run: int, flip: bool, less, key_of, value_of) -> None:
    """Sort runs of neighbours in place; each work-item takes one."""
    start = item.get_global_id(0) * run
    end = min(start + run, a.shape[0])
    for i in range(start + 1, end):
        x = key_of(a[i])
        if values is not None:
            v = value_of(values[i])
        j = i
        while j > start and (less(x, a[j - 1]) if not flip else less(a[j - 1], x)):
            a[j] = a[j - 1]
            if values is not None:
                values[j] = values[j - 1]
            j -= 1
        a[j] = x
        if values is not None:
            values[j] = v


def merge_runs(item: NdItem, a, values, out, values_out, width: int, part: int, flip: bool, less) -> None:
    """Merge pairs of sorted runs of `width` elements; each work-item writes `part` neighbours."""
    first = item.get_global_id(0) * part
    if first < a.shape[0]:
        start = first // (2 * width) * (2 * width)
        middle = min(start + width, a.shape[0])
        end = min(start + 2 * width, a.shape[0])
        # So many of the first `first - start` elements are of the left run: where equal, the left one comes first.
        number = first - start
        low = max(0, number - (end - middle))
        high = min(number, middle - start)
        while low < high:
            half = (low + high) // 2
            x, y = a[start + half], a[middle + number - 1 - half]
            if less(y, x) if not flip else less(x, y):
                high = half
            else:
                low = half + 1
        left, right = start + low, middle + number - low
        for i in range(first, min(first + part, end)):
            is_left = right >= end
            if left < middle and right < end:
                x, y = a[left], a[right]
                is_left = not (less(y, x) if not flip else less(x, y))
            if is_left:
                out[i] = a[left]
                if values is not None:
                    values_out[i] = values[left]
                left += 1
            else:
                out[i] = a[right]
                if values_out is not None:
                    values_out[i] = values[right]
                right += 1


def merge_sort(
    world: World, keys: Any, values: Any, dtype: np.dtype[Any], less: Callable[..., Any], flip: bool
) -> None:
    """Sort an array in place by a comparison, and move the elements of another with them; stable.

    - `world`: where kernels run.
    - `keys`: at least two elements.
    - `values`: what goes with the keys.
    - `dtype`: of the keys.
    - `less`: whether the first of two elements comes before the second.
    - `flip`: reverse the order.
    """
    elements = keys.shape[0]
    shape = world.shape(keys, "merge", dtype.itemsize)
    other = world.empty(keys, (elements,), dtype)
    source, target, moved, moved_other = keys, other, values, None
    optional: dict[str, Any] = {"values": None, "value_of": same}
    if values is not None:
        value_type = known_dtype(world, values)
        moved_other, optional = world.empty(values, (elements,), value_type), {"value_of": converter(value_type)}
    space = NdRange(-(-elements // shape.tile) * shape.local, shape.local)
    order = {"less": less}
    given = (keys,) if values is None else (keys, values)
    world.run(sort_runs, space, (*given, shape.run, flip), **optional, **order, key_of=converter(dtype))
    optional = {"values": None, "values_out": None} if values is None else {}
    width = shape.run
    while width < elements:
        both = (source, target) if values is None else (source, moved, target, moved_other)
        world.run(merge_runs, space, (*both, width, shape.run, flip), **optional, **order)
        source, target, moved, moved_other = target, source, moved_other, moved
        width *= 2
    if source is not keys:
        full = Pieces.of(elements, world.shape(keys, "scan", dtype.itemsize)).space
        world.run(copy_pieces, full, (source, keys))
        if values is not None:
            world.run(copy_pieces, full, (moved, values))
