"""`numpy.histogram` of equal bins as kernels: each work-item counts in a row of its own, and NumPy makes the edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.kernel_source import make_kernel, space_of
from kapi_numba_offload.elements.reduction_operators import COMBINATIONS
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.elements.work_distribution import (
    POSITION_LINES,
    ROWS_PER_UNIT,
    WorkDistribution,
    distribute,
    distribute_rows,
)
from kapi_numba_offload.libraries.arrays import (
    allocate,
    device_facts,
    host_copy,
    is_device_array,
    kind_of,
    library,
    queue_of,
)
from kapi_numba_offload.loops.privatization import adding_kernel, pitch_of
from kapi_numba_offload.run.launching import launch

__all__ = ["histogram"]

_DTYPES = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 float32 float64".split())
_MOST_BINS = 2**17  # 1 MiB of counts, and a bin's number is exact in float32
_FEWEST = 32_768  # elements of a work-item: the counts of several take another launch to add
_MANY = 2**18  # elements in which NumPy finds an extremum in less time than a launch takes
_BLOCK = 64  # elements whose bins are computed before they are counted
_COUNT = np.dtype(np.int64)
_PARAMETERS = ("a", "bins", "range", "density", "weights")


def histogram(location: StatementLocation, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Counts and edges, as `numpy.histogram` gives them; None where these kernels do not do what is asked.

    Raises `ValueError`: NumPy's, for a range that is none and for too many bins.
    """
    given = {"bins": 10, **dict(zip(_PARAMETERS, args, strict=False)), **keywords}
    array, bins, limits = given.get("a"), given["bins"], given.get("range")
    if (
        len(args) > len(_PARAMETERS)
        or not given.keys() <= {*_PARAMETERS}
        or any(own in keywords for own in _PARAMETERS[: len(args)])
        or given.get("weights") is not None
        or given.get("density") not in (None, False)
        or not is_device_array(array)
        or array.dtype.name not in _DTYPES
        or not device_facts(queue_of(array)).is_cpu
        or not _is_integer(bins)
        or not 1 <= bins <= _MOST_BINS
        or not (limits is None or _are_limits(limits))
    ):
        return None
    return _histogram(location, array, int(bins), limits)


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _are_limits(value: Any) -> bool:
    """Whether a range is two numbers whose comparison with elements the kernel has."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(
            isinstance(each, (float, np.float32)) or (_is_integer(each) and -(2**63) <= each < 2**63) for each in value
        )
        and (type(value[0]) is type(value[1]) or not all(map(_is_integer, value)))
    )


class _Types(NamedTuple):
    """The dtypes of NumPy's steps for elements and ends of some types.

    - `low`, `high`: that in which an element is compared with each end.
    - `edge`, `difference`, `quotient`: those of the edges, of distances from the first one, and of parts of all.
    - `unit`: the largest relative error of an operation among them.
    """

    low: np.dtype[Any]
    high: np.dtype[Any]
    edge: np.dtype[Any]
    difference: np.dtype[Any]
    quotient: np.dtype[Any]
    unit: float


@lru_cache(maxsize=256)
def _types(dtype: np.dtype[Any], first: type[Any], last: type[Any]) -> _Types:
    """The types of the steps for elements of a dtype, and ends of these types, which are NumPy's or Python's."""
    ends = first(0), last(1)
    edge = np.histogram_bin_edges(np.zeros(0, dtype), 1, ends).dtype
    sample = np.ones(1, edge) - (float(ends[0]) if first is int else ends[0])
    distance = _distance(*ends)
    quotient = (sample / distance).dtype
    is_integer = dtype.kind in "iu"
    low, high = (
        np.dtype(np.int64) if is_integer and _is_integer(each) else np.result_type(np.ones(1, dtype), each)
        for each in ends
    )
    used = [sample.dtype, edge, quotient, *(np.asarray(each).dtype for each in (*ends, distance))]
    unit = max(float(np.finfo(each).eps) for each in used if each.kind == "f")
    return _Types(low, high, edge, sample.dtype, quotient, unit)


def _distance(first: Any, last: Any) -> Any:
    """The distance of the ends, as NumPy has it."""
    return np.uint64(int(last) - int(first)) if _is_integer(first) and _is_integer(last) else last - first


def _histogram(location: StatementLocation, array: Any, bins: int, limits: Any) -> tuple[Any, Any] | None:
    own = library(array)
    flat = array
    if array.ndim != 1:
        flat = own.flat_view(array) if array.flags.c_contiguous else own.functions.ravel(array)
    ends = _extrema(location, flat) if limits is None and flat.size else np.zeros(0, flat.dtype)
    edges = np.histogram_bin_edges(ends, bins, limits)
    first, last = limits if limits is not None else (ends[0], ends[1]) if ends.size else (0, 1)
    if first == last:
        first, last = first - 0.5, last + 0.5
    classes: tuple[Any, Any] = type(first), type(last)
    distance, types = _distance(first, last), _types(flat.dtype, *classes)
    if not (np.isfinite(edges).all() and np.isfinite(distance) and distance > 0):
        return None
    numbers = [
        types.low.type(first),
        types.high.type(last),
        types.difference.type(first),
        types.quotient.type(distance),
        *_products(first, last, distance, bins, types),
    ]
    kernel = _counting(types, str(location))
    queue, kind = queue_of(array), kind_of(array)
    on_device = own.from_host(edges, queue, kind)
    facts = device_facts(queue)
    most = min(ROWS_PER_UNIT, flat.size // (bins * facts.units), flat.size // _FEWEST // facts.units)
    shares = distribute_rows(max(1, flat.size), facts, most) if most else WorkDistribution(1, 1, flat.size)
    is_one = shares.rows == 1
    pitch = bins if is_one else pitch_of(bins, _COUNT)
    rows = allocate((shares.rows * pitch,), _COUNT, kind if is_one else "device", queue)
    launch(kernel, shares.single_items, [rows, pitch, flat, flat.size, shares.steps, on_device, bins, *numbers])
    if is_one:
        return rows, on_device
    counts = allocate((bins,), _COUNT, kind, queue)
    adding = adding_kernel("sum", _COUNT, 1, str(location), is_new=True)
    launch(adding, space_of((bins,)), [counts, rows, shares.rows, pitch])
    return counts, on_device


def _products(first: Any, last: Any, distance: Any, bins: int, types: _Types) -> list[Any]:
    """Bins for each unit of distance, how near to an edge a product says nothing, from both sides, and the bins' end.

    A product, NumPy's quotient and its edges differ from the real numbers by a few units of their dtypes, of values
    that are as large as the ends.
    """
    near = min(1.0, 16 * types.unit * bins * (1 + max(abs(float(first)), abs(float(last))) / float(distance)))
    with np.errstate(all="ignore"):
        return [types.difference.type(each) for each in (bins / float(distance), near, 1 - near, bins)]


def _extrema(location: StatementLocation, flat: Any) -> np.ndarray[Any, Any]:
    """The least and the greatest element of an array that has some; nan if it has one."""
    dtype, queue = flat.dtype, queue_of(flat)
    if library(flat).is_host and flat.size < _MANY:
        return np.array([flat.min(), flat.max()])
    low, high = COMBINATIONS["min"], COMBINATIONS["max"]
    lines = (
        "low = lowest",
        "high = highest",
        *POSITION_LINES,
        "for step in range(kapi_steps):",
        "    at = kapi_base + step * kapi_lanes",
        "    if at < count:",
        "        x = a[at]",
        f"        {low.line('x', dtype).replace('total', 'low')}",
        f"        {high.line('x', dtype).replace('total', 'high')}",
        "lows[kapi_row * kapi_lanes + kapi_lane] = low",
        "highs[kapi_row * kapi_lanes + kapi_lane] = high",
    )
    parameters = ("lows", "highs", "lowest", "highest", "a", "count", "kapi_steps")
    kernel = make_kernel("ends", parameters, lines, str(location))
    shares = distribute(flat.size, device_facts(queue))
    lows, highs = (allocate((shares.items,), dtype, "device", queue) for _ in range(2))
    args = [lows, highs, low.identity(dtype), high.identity(dtype), flat, flat.size, shares.steps]
    launch(kernel, shares.space, args)
    return np.array([host_copy(lows).min(), host_copy(highs).max()])


@lru_cache(maxsize=256)
def _counting(types: _Types, location: str) -> kapi_runtime.Kernel:
    """The kernel that counts: by a product where it is far from all edges, else in NumPy's steps and their order.

    NumPy's are a quotient, and two comparisons with the edges. The products are what the driver makes vectors of.
    """
    low, high, edge, difference, quotient, _ = types
    lines = (
        "row = item.get_global_id(0)",
        "base = row * pitch",
        "for slot in range(pitch):",
        "    counts[base + slot] = 0",
        f"found = kapi_runtime.PrivateArray({_BLOCK}, np.int32)",
        "end = min(row * share + share, count)",
        f"for block in range(row * share, end, {_BLOCK}):",
        f"    length = min({_BLOCK}, end - block)",
        "    for number in range(length):",
        f"        guess = (np.{difference.name}(np.{edge.name}(a[block + number])) - first) * scale",
        "        k = np.int32(guess)",
        f"        rest = guess - np.{difference.name}(k)",
        "        is_sure = (rest > near) & (rest < far) & (guess < beyond)",
        "        found[number] = k if is_sure else np.int32(-1)",
        "    for number in range(length):",
        "        k = np.int64(found[number])",
        "        if k >= 0:",
        "            counts[base + k] += 1",
        "        else:",
        "            x = a[block + number]",
        f"            if np.{low.name}(x) >= lowest and np.{high.name}(x) <= highest:",
        f"                v = np.{edge.name}(x)",
        f"                part = np.{quotient.name}(np.{difference.name}(v) - first) / distance",
        f"                k = min(np.int64(part * np.{quotient.name}(bins)), np.int64(bins - 1))",
        "                if v < edges[k]:",
        "                    k -= 1",
        "                if k != bins - 1 and v >= edges[k + 1]:",
        "                    k += 1",
        "                counts[base + k] += 1",
    )
    parameters = ("counts", "pitch", "a", "count", "share", "edges", "bins", "lowest", "highest", "first", "distance",
                  "scale", "near", "far", "beyond")  # fmt: skip
    return make_kernel("count", parameters, lines, location)
