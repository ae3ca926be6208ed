"""The types of `range` loops, and of loops over tuples of one element type."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.weak import weak_int

__all__ = ["RangeIteratorType", "RangeType", "registry"]

registry = templates.Registry()


class RangeIteratorType(types.SimpleIteratorType):
    """The state of a `range` loop; its values are weak ints, as Python's are."""

    def __init__(self) -> None:
        super().__init__("range_iterator", weak_int)


class RangeType(types.SimpleIterableType):
    """`range(start, stop, step)` of 64-bit integers."""

    def __init__(self) -> None:
        super().__init__("range", RangeIteratorType())


@registry.register_global(range)
class _Range(templates.AbstractTemplate):
    key = range

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if not 1 <= len(args) <= 3 or kws or not all(isinstance(arg, types.Integer) for arg in args):
            return None
        return templates.signature(RangeType(), *[weak_int] * len(args))


@registry.register
class _GetIter(templates.AbstractTemplate):
    key = "getiter"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        (iterable,) = args
        if isinstance(iterable, (RangeType, types.UniTuple)):
            return templates.signature(iterable.iterator_type, iterable)
        return None


@registry.register
class _IterNext(templates.AbstractTemplate):
    key = "iternext"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        (iterator,) = args
        if isinstance(iterator, types.IteratorType):
            return templates.signature(types.Pair(iterator.yield_type, types.boolean), iterator)
        return None
