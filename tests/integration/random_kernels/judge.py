"""Plain Python as the judge of random kernels: one work-item after the other, over NumPy's scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from random_kernels import intrinsics
from random_kernels.program import CELLS, GROUP, SPREAD, SUB_GROUP, Program, function_of

__all__ = ["run_plainly"]

_UPDATES = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_OPERATORS = {
    "plus": np.add, "multiplies": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
}  # fmt: skip
_PRECISE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
_PRECISE |= {"atanh": "arctanh", "atan2": "arctan2", "pow": "power"}


class _Cell:
    """An atomic reference where there is one work-item at a time."""

    def __init__(self, array: Any, index: Any, *order: Any, **scope: Any) -> None:
        self._array, self._index = array, index

    def load(self) -> Any:
        return self._array[self._index]

    def store(self, value: Any) -> None:
        self._array[self._index] = value

    def exchange(self, value: Any) -> Any:
        before, self._array[self._index] = self._array[self._index], value
        return before

    def compare_exchange(self, expected: Any, desired: Any) -> bool:
        before = self._array[self._index]
        is_same = bool(before == expected[0])
        if is_same:
            self._array[self._index] = desired
        expected[0] = before
        return is_same

    def __getattr__(self, name: str) -> Any:
        function = _UPDATES[name.removeprefix("fetch_")]

        def update(value: Any) -> Any:
            before = self._array[self._index]
            self._array[self._index] = function(before, self._array.dtype.type(value))
            return before

        return update


class _Kapi:
    """Functions of kapi that programs call."""

    AtomicRef = _Cell
    clz, ctz, popcount = staticmethod(intrinsics.clz), staticmethod(intrinsics.ctz), staticmethod(intrinsics.popcount)
    rotate, mul_hi = staticmethod(intrinsics.rotate), staticmethod(intrinsics.mul_hi)
    random = intrinsics.Random

    class MemoryOrder:
        ACQ_REL = RELAXED = None

    class MemoryScope:
        SYSTEM = DEVICE = None

    @staticmethod
    def device_func(function: Any) -> Any:
        return function

    @staticmethod
    def PrivateArray(shape: int, dtype: Any, fill_zeros: bool = False) -> Any:
        return np.zeros(shape, getattr(dtype, "converted_to", dtype))


class _Numpy:
    """NumPy, but that floats become integers as the language says: 0 of nan, and held to the range."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name == "where":
            return lambda condition, x, y: np.where(condition, x, y)[()]
        if not (isinstance(found, type) and issubclass(found, np.integer)):
            return found
        ends = np.iinfo(found)

        def convert(value: Any) -> Any:
            if not isinstance(value, (float, np.floating)):
                return found(value)
            held = 0 if np.isnan(value) else min(max(float(value), float(ends.min)), float(ends.max))
            return found(min(int(held), ends.max))

        convert.converted_to = found  # type: ignore[attr-defined]
        return convert


class _Math:
    """`math` in more digits than any dtype of a kernel has."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, _PRECISE.get(name, name))
        return lambda *values: function(*map(np.longdouble, values))


class _Space:
    """A work-item, a group or a sub-group: each asks for what it is called."""

    def __init__(self, ids: dict[str, Any]) -> None:
        self._ids = ids

    def __getattr__(self, name: str) -> Any:
        value = self._ids[name]
        return (lambda dim: value[dim]) if isinstance(value, tuple) else (lambda: value)


def _item(program: Program, group: tuple[int, ...], local: tuple[int, ...]) -> _Space:
    extents, part = program.spaces
    ids = tuple(g * size + k for g, size, k in zip(group, part, local, strict=True))
    lane = int(np.ravel_multi_index(local, part))
    numbers = tuple(extent // size for extent, size in zip(extents, part, strict=True))
    linear = int(np.ravel_multi_index(ids, extents))
    group_linear = int(np.ravel_multi_index(group, numbers))
    as_group = {"get_group_id": group, "get_group_linear_id": group_linear, "get_group_range": numbers}
    as_sub_group = {"get_local_id": lane % SUB_GROUP, "get_group_id": lane // SUB_GROUP}
    return _Space(
        {
            "get_id": ids, "get_linear_id": linear, "get_range": extents, "get_global_id": ids,
            "get_global_linear_id": linear, "get_global_range": extents, "get_local_id": local,
            "get_local_linear_id": lane, "get_local_range": part, "get_group": _Space(as_group),
            "get_sub_group": _Space(as_sub_group),
        }
    )  # fmt: skip


def run_plainly(
    program: Program, arrays: list[Any], numbers: list[Any], identity_of: Callable[[str, Any], Any]
) -> None:
    """Run the judge, each work-item up to where it must converge with its group.

    Parameters
    ----------
    program : Program
        What to run.
    arrays : list of numpy.ndarray
        Read and changed.
    numbers : list
        The other arguments.
    identity_of : callable
        What changes nothing under an operator, given its name and a dtype.
    """
    function = function_of(program.plain, {"kapi": _Kapi, "np": _Numpy(), "math": _Math()})
    extents, part = program.spaces
    local = [None, None, None] if program.has_groups else []
    with np.errstate(all="ignore"):
        for group in np.ndindex(*(extent // size for extent, size in zip(extents, part, strict=True))):
            items = [_item(program, group, each) for each in np.ndindex(*part)]
            _run_group([function(item, *arrays, *numbers, *local) for item in items], identity_of)


def _run_group(runs: list[Iterator[Any]], identity_of: Callable[[str, Any], Any]) -> None:
    replies: list[Any] = [None] * GROUP
    while True:
        asked = [_resumed(run, reply) for run, reply in zip(runs, replies, strict=True)]
        (kind,) = {each[0] for each in asked}
        if kind == "end":
            return
        given = [each[1:] for each in asked]
        if kind == "bins":
            replies = [_binned(given)] * GROUP
            continue
        size = SUB_GROUP if kind.startswith("sub ") else GROUP
        replies = []
        for first in range(0, GROUP, size):
            replies += _together(kind.removeprefix("sub "), given[first : first + size], identity_of)


def _resumed(run: Any, reply: Any) -> Any:
    try:
        return run.send(reply)
    except StopIteration:
        return ("end",)


def _binned(given: list[Any]) -> Any:
    bins = np.zeros(CELLS, SPREAD[0])
    for operation, index, value in given:
        bins[index] = _UPDATES[operation](bins[index], bins.dtype.type(value))
    return bins


def _together(kind: str, given: list[Any], identity_of: Callable[[str, Any], Any]) -> list[Any]:
    """Result for each member of a group or sub-group."""
    values, arguments = [each[0] for each in given], [each[1] for each in given]
    if kind in ("any", "all", "none"):
        answer = {"any": any, "all": all, "none": lambda tests: not any(tests)}[kind](map(bool, values))
        return [answer] * len(values)
    if kind == "take":  # the value of another one, where there is it
        return [values[index] if 0 <= index < len(values) else None for index in arguments]
    array = np.array(values)
    scanned = _OPERATORS[arguments[0]].accumulate(array, dtype=array.dtype)
    if kind == "reduce":
        return [scanned[-1]] * len(values)
    if kind == "inclusive_scan":
        return list(scanned)
    return [identity_of(arguments[0], array.dtype), *scanned[:-1]]
