"""``cuda.atomic``: what changes an element in one step, whoever else does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from kapi_sim.checks.device_limits import fail_narrow_atomics
from kapi_sim.errors import DtypeError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.intrinsics.memory import MemoryOrder, MemoryScope
from kapi_sim.language.source import source_location
from kapi_sim.memory.atomics import WatchedAtomicRef, wrapping_decrement, wrapping_increment
from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.threads.captured_arrays import as_view
from kapi_sim.numba_cuda.threads.running import running
from kapi_sim.numba_cuda.values.dtypes import wrapped

__all__ = [
    "add",
    "and_",
    "cas",
    "compare_and_swap",
    "dec",
    "exch",
    "inc",
    "max",
    "min",
    "nanmax",
    "nanmin",
    "or_",
    "sub",
    "xor",
]

_NAMES = ("int32", "int64", "uint32", "uint64", "float32", "float64")
_DTYPES = frozenset(map(np.dtype, _NAMES))
_getframe = sys._getframe


def _reference(word: str, ary: Any, idx: Any, frame: FrameType, kinds: str) -> Any:
    """Return a reference to the element, or `None` if no other thread can see it."""
    clock = running(word)
    bound = clock.bound
    assert bound is not None
    if not isinstance(ary, View):
        raise DtypeError(
            f"first argument of cuda.{word} must be an array of the kernel's, got {ary!r}", code="atomic-ref"
        )
    where = f"{clock.describe()} at {source_location(frame.f_code, frame.f_lasti)}"
    dtype = ary.dtype
    if dtype not in _DTYPES or dtype.kind not in kinds:
        named = ", ".join(name for name in _NAMES if np.dtype(name).kind in kinds)
        raise DtypeError(
            f"array of cuda.{word} must be of {named}, got `{ary.name}` of dtype {dtype}\n  {where}",
            code="atomic-dtype",
        )
    if not bound.has_atomic64 and dtype.itemsize == 8:
        fail_narrow_atomics(ary.name, dtype, where)
    if ary.space == "private":
        return None
    address, position = ary.element(idx, frame)
    return WatchedAtomicRef(ary, address, position, MemoryOrder.RELAXED, MemoryScope.DEVICE, bound.ordering)


def _value(ary: Any, value: Any) -> Any:
    dtype = ary.dtype
    if dtype.kind in "iu" and isinstance(value, (int, np.integer)):
        value = dtype.type(wrapped(int(value), dtype))
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.integer) and not isinstance(value, np.uint64) else value


class Atomic(DialectIntrinsic):
    """One of the functions of ``cuda.atomic``.

    Parameters
    ----------
    name : str
        As programs call it.
    function : callable
        Takes what the element is and the value, and returns what it is to be.
    kinds : str
        The kinds of dtype that it takes.
    """

    orders_memory: ClassVar[bool] = True
    is_atomic: ClassVar[bool] = True

    def __init__(self, name: str, function: Callable[[Any, Any], Any], kinds: str = "iuf") -> None:
        super().__init__(f"atomic.{name}")
        self._function = function
        self._kinds = kinds

    def __call__(self, ary: Any, idx: Any, val: Any) -> Any:
        """Change an element, and return what it was.

        Parameters
        ----------
        ary : array
            Global or shared memory.
        idx : int or tuple of int
            The element.
        val : number
            What it is changed with.
        """
        frame = _getframe(1)
        ary = as_view(ary)
        reference = _reference(self.__name__, ary, idx, frame, self._kinds)
        if reference is not None:
            return _plain(reference.change(self._function, _value(ary, val), frame))
        before = ary.take_out(idx, frame)
        ary.put_in(idx, self._function(before, val), frame)
        return before


class CompareAndSwap(DialectIntrinsic):
    """``cuda.atomic.cas``."""

    orders_memory: ClassVar[bool] = True
    is_atomic: ClassVar[bool] = True

    def __call__(self, ary: Any, idx: Any, old: Any, val: Any) -> Any:
        """Store `val` in an element that is `old`, and return what it was.

        Parameters
        ----------
        ary : array
            Global or shared memory.
        idx : int or tuple of int
            The element.
        old, val : number
            What it has to be, and is to be.
        """
        return self.swapped(ary, idx, old, val, _getframe(1))

    def swapped(self, ary: Any, idx: Any, old: Any, val: Any, frame: FrameType) -> Any:
        """Do so for the kernel that stands at `frame`."""
        ary = as_view(ary)
        reference = _reference(self.__name__, ary, idx, frame, "iu")
        if reference is not None:
            return _plain(reference.replace(_value(ary, old), _value(ary, val), frame))
        before = ary.take_out(idx, frame)
        if before == old:
            ary.put_in(idx, val, frame)
        return before


class CompareAndSwapFirst(CompareAndSwap):
    """``cuda.atomic.compare_and_swap``."""

    def __call__(self, ary: Any, old: Any, val: Any) -> Any:  # type: ignore[override]
        """Store `val` in the first element if that is `old`, and return what it was."""
        return self.swapped(ary, 0, old, val, _getframe(1))


def _larger(x: Any, y: Any) -> Any:
    return y if y > x else x


def _smaller(x: Any, y: Any) -> Any:
    return y if y < x else x


add = Atomic("add", lambda x, y: x + y)
sub = Atomic("sub", lambda x, y: x - y)
and_ = Atomic("and_", lambda x, y: x & y, "iu")
or_ = Atomic("or_", lambda x, y: x | y, "iu")
xor = Atomic("xor", lambda x, y: x ^ y, "iu")
inc = Atomic("inc", wrapping_increment, "u")
dec = Atomic("dec", wrapping_decrement, "u")
exch = Atomic("exch", lambda x, y: y, "iuf")
max = Atomic("max", _larger)
min = Atomic("min", _smaller)
nanmax = Atomic("nanmax", lambda x, y: x if y != y else y if x != x else _larger(x, y))
nanmin = Atomic("nanmin", lambda x, y: x if y != y else y if x != x else _smaller(x, y))
cas = CompareAndSwap("atomic.cas")
compare_and_swap = CompareAndSwapFirst("atomic.compare_and_swap")
