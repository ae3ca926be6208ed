"""`histogram`: how many elements are in each of several bins of equal width."""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelLaunchError
from kapi_sim.language import NdItem, NdRange
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.whole_arrays.group_steps import add_one
from kapi_sim.whole_arrays.world import Pieces, World, one_dimensional, scratch

__all__ = ["Histograms"]

_MOST_LOCAL = 4096  # bins that have counters in local memory


@device_func
def edge_of(number, lower, step, upper, bins, rounded):
    """The lower edge of a bin, as `numpy.linspace` computes it."""
    if number == bins:
        return rounded(upper)
    return rounded(number * step + lower)


@device_func
def bin_of(value, lower, step, upper, bins, rounded):
    """The bin of an element, by the edges on both sides; -1 for what is outside of all."""
    x = np.float64(value)
    found = -1
    if lower <= x and x <= upper:
        found = min(int((x - lower) / (upper - lower) * bins), bins - 1)
        if value < edge_of(found, lower, step, upper, bins, rounded):
            found -= 1
        elif found < bins - 1 and value >= edge_of(found + 1, lower, step, upper, bins, rounded):
            found += 1
    return found


def count_bins(item: NdItem, a, rows, found, length: int, lower, step, upper, bins: int, rounded) -> None:
    """Count the elements of a piece in local memory, then write a row of counts; each group takes a piece."""
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    piece = group.get_group_linear_id()
    for each in range(position, bins, size):
        found[each] = 0
    group_barrier(group)
    for i in range(piece * length + position, min((piece + 1) * length, a.shape[0]), size):
        each = bin_of(a[i], lower, step, upper, bins, rounded)
        if each >= 0:
            add_one(found, each)
    group_barrier(group)
    for each in range(position, bins, size):
        rows[piece * bins + each] = found[each]


def count_bins_alone(item: NdItem, a, rows, length: int, lower, step, upper, bins: int, rounded) -> None:
    """Count the elements of a piece in a row of counts; each work-item takes a piece."""
    piece = item.get_global_id(0)
    row = piece * bins
    for each in range(bins):
        rows[row + each] = 0
    for i in range(piece * length, min((piece + 1) * length, a.shape[0])):
        each = bin_of(a[i], lower, step, upper, bins, rounded)
        if each >= 0:
            rows[row + each] += 1


def sum_rows(item: NdItem, rows, out, count: int) -> None:
    """Add the counts of all rows; each work-item takes a bin."""
    each = item.get_global_id(0)
    if each < out.shape[0]:
        total = np.int64(0)
        for row in range(count):
            total += rows[row * out.shape[0] + each]
        out[each] = total


class Histograms:
    """`histogram` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def histogram(self, array: Any, bins: int, lower: float, upper: float, *, out: Any = None) -> Any:
        """Count the elements of an array in bins of equal width.

        Parameters
        ----------
        array : array of shape (n,)
            Of bools, integers or floats, of any platform, with any stride.
        bins : int
            How many, at least 1.
        lower, upper : float
            The first bin begins at `lower`, the last ends at `upper`. Each has its lower edge and not its upper one,
            but the last has both. What is outside, and not-a-number, is not counted.
        out : int64 array of shape (bins,), optional
            Where the counts go.

        Returns
        -------
        int64 array of shape (bins,)
            `out`, or a new array of the library of `array`, on its queue. Those on a device are not waited for.

        Raises
        ------
        KernelLaunchError
            If `bins` is not positive, `upper` not above `lower`, or `out` has another length.
        DtypeError
            If `array` is no array of rank 1, or of another dtype.

        Notes
        -----
        The counts are those of `numpy.histogram`, to the last element at an edge. Scratch memory is a count for each
        bin and work-group, of the pool of the array's library. The device must have float64.

        References
        ----------
        oneDPL, `oneapi::dpl::histogram`.
        """
        world = self._world
        dtype = one_dimensional(world, "array", array)
        if dtype.kind not in "biuf":
            raise DtypeError(f"array must be of bools, integers or floats, got {dtype}", code="algorithm-array")
        if not (bins > 0 and lower < upper):
            raise KernelLaunchError(
                f"bins must be at least 1, and upper above lower, got bins {bins} from {lower} to {upper}",
                code="algorithm-bins",
            )
        number = np.dtype(np.int64)
        if out is None:
            out = world.empty(array, (bins,), number)
        else:
            one_dimensional(world, "out", out)
            if out.shape[0] != bins:
                raise KernelLaunchError(
                    f"out must have an element for each of {bins} bins, got {out.shape[0]}", code="algorithm-length"
                )
        # NumPy rounds the edges to the dtype of floats.
        rounded = dtype.type if dtype.kind == "f" and dtype.itemsize < 8 else np.float64
        low, high = float(rounded(lower)), float(rounded(upper))
        shape = world.shape(array, "histogram", dtype.itemsize)
        pieces = Pieces.of(array.shape[0], shape)
        given = pieces.length, low, (high - low) / bins, high, bins
        is_local = shape.local > 1 and bins <= _MOST_LOCAL
        rows = world.empty(array, (pieces.count * bins,), np.dtype(np.int32) if is_local else number)
        if is_local:
            found = scratch(np.dtype(np.int32), bins)
            world.run(count_bins, pieces.space, (array, rows, found, *given), rounded=rounded)
        else:
            world.run(count_bins_alone, NdRange(pieces.count, 1), (array, rows, *given), rounded=rounded)
        width = max(shape.local, 16)
        world.run(sum_rows, NdRange(-(-bins // width) * width, width), (rows, out, pieces.count))
        return out
