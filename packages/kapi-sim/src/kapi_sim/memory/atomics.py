"""Atomic operations: references to one element, watched and unwatched."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from kapi_sim.checks.bounds import spell
from kapi_sim.checks.device_limits import fail_narrow_atomics
from kapi_sim.checks.happens_before import HappensBefore
from kapi_sim.errors import DtypeError, KernelCompilationError
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.intrinsics.atomics import ATOMIC_DTYPES, ATOMIC_KINDS
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.operators import bit_and, bit_or, bit_xor, multiplies, plus
from kapi_sim.language.source import SourceLocation, source_location
from kapi_sim.memory.records import Record
from kapi_sim.memory.views import View
from kapi_sim.numbers.arithmetic import stored_integer
from kapi_sim.short_repr import short_repr

__all__ = ["References", "SimAtomicRef", "WatchedAtomicRef", "wrapping_decrement", "wrapping_increment"]

_getframe = sys._getframe
_DTYPES = frozenset(map(np.dtype, ATOMIC_DTYPES))
_SPACES = {"global": AddressSpace.GLOBAL, "local": AddressSpace.LOCAL}


def _smaller(x: Any, y: Any) -> Any:
    """Return the smaller one; of a number and nan, the number."""
    return y if y < x or x != x else x


def _larger(x: Any, y: Any) -> Any:
    return y if x < y or x != x else x


def _has_same_bits(element: Any, other: Any) -> bool:
    """Whether a number is the element, as devices compare them: nan is nan, and -0.0 is not 0.0."""
    return bool(element.tobytes() == element.dtype.type(other).tobytes())


def _minus(x: Any, y: Any) -> Any:
    return x - y


def wrapping_increment(x: Any, limit: Any) -> Any:
    """Return the integer after `x` in the cycle from 0 to `limit`."""
    return x - x if x >= limit else x + 1


def wrapping_decrement(x: Any, limit: Any) -> Any:
    """Return the integer before `x` in the cycle from 0 to `limit`."""
    return limit if x <= 0 or x > limit else x - 1


class SimAtomicRef:
    """A reference to one element, in a kernel that is not checked."""

    __slots__ = ("_array", "_index")

    def __init__(self, array: Any, index: Any) -> None:
        self._array = array
        self._index = index

    def load(self) -> Any:
        return self._array[self._index]

    def store(self, value: Any) -> None:
        self._array[self._index] = _element(value, self._array.dtype)

    def exchange(self, value: Any) -> Any:
        before = self._array[self._index]
        self.store(value)
        return before

    def compare_exchange(self, expected: Any, desired: Any, expected_idx: int = 0) -> bool:
        before = self._array[self._index]
        is_equal = _has_same_bits(before, expected[expected_idx])
        if is_equal:
            self.store(desired)
        expected[expected_idx] = before
        return is_equal

    def _change(self, function: Callable[[Any, Any], Any], value: Any) -> Any:
        array, index = self._array, self._index
        before = array[index]
        array[index] = function(before, _element(value, array.dtype))
        return before

    def fetch_add(self, value: Any) -> Any:
        return self._change(plus, value)

    def fetch_sub(self, value: Any) -> Any:
        return self._change(_minus, value)

    def fetch_mul(self, value: Any) -> Any:
        return self._change(multiplies, value)

    def fetch_inc(self, limit: Any) -> Any:
        return self._change(wrapping_increment, limit)

    def fetch_dec(self, limit: Any) -> Any:
        return self._change(wrapping_decrement, limit)

    def fetch_min(self, value: Any) -> Any:
        return self._change(_smaller, value)

    def fetch_max(self, value: Any) -> Any:
        return self._change(_larger, value)

    def fetch_and(self, value: Any) -> Any:
        return self._change(bit_and, value)

    def fetch_or(self, value: Any) -> Any:
        return self._change(bit_or, value)

    def fetch_xor(self, value: Any) -> Any:
        return self._change(bit_xor, value)


class WatchedAtomicRef:
    """A reference to one element, each operation of which is looked at."""

    __slots__ = ("_address", "_index", "_order", "_ordering", "_scope", "_view")

    def __init__(
        self, view: View, address: int, index: Any, order: int, scope: int, ordering: HappensBefore | None
    ) -> None:
        self._view = view
        self._address = address
        self._index = index
        self._order = order
        self._scope = scope
        self._ordering = ordering

    def load(self) -> Any:
        if self._order == MemoryOrder.RELEASE:
            raise self._wrong_order("load", "ACQUIRE", _getframe(1))
        frame = _getframe(1)
        self._note(True, False, False, frame)
        self._view.trace_atomic(self._index, frame)
        return self._view.array[self._index]

    def store(self, value: Any) -> None:
        if self._order == MemoryOrder.ACQUIRE:
            raise self._wrong_order("store", "RELEASE", _getframe(1))
        frame = _getframe(1)
        element = self._element(value)
        self._note(False, True, self._view.array[self._index] != element, frame)
        self._write(element, frame)

    def exchange(self, value: Any) -> Any:
        frame = _getframe(1)
        element = self._element(value)
        before = self._view.array[self._index]
        self._note(True, True, before != element, frame)
        self._write(element, frame)
        return before

    def compare_exchange(self, expected: Any, desired: Any, expected_idx: int = 0) -> bool:
        frame = _getframe(1)
        array = self._view.array
        if getattr(expected, "dtype", None) != array.dtype or getattr(expected, "ndim", 0) != 1:
            raise DtypeError(
                f"expected of compare_exchange must be a one-dimensional array of dtype {array.dtype}, "
                f"got {short_repr(expected)}: make it with kapi.PrivateArray(1, {self._view.name}.dtype)",
                code="atomic-expected",
            )
        element = self._element(desired)
        wanted = expected.take_out(expected_idx, frame) if isinstance(expected, View) else expected[expected_idx]
        before = array[self._index]
        is_equal = _has_same_bits(before, wanted)
        self._note(True, is_equal, is_equal and not _has_same_bits(before, element), frame)
        if is_equal:
            self._write(element, frame)
        else:
            self._view.trace_atomic(self._index, frame)
        if isinstance(expected, View):
            expected.put_in(expected_idx, before, frame)
        else:
            expected[expected_idx] = before
        return is_equal

    def fetch_add(self, value: Any) -> Any:
        return self._change(plus, value, _getframe(1))

    def fetch_sub(self, value: Any) -> Any:
        return self._change(_minus, value, _getframe(1))

    def fetch_mul(self, value: Any) -> Any:
        return self._change(multiplies, value, _getframe(1))

    def fetch_inc(self, limit: Any) -> Any:
        return self._change_integer("fetch_inc", wrapping_increment, limit, _getframe(1))

    def fetch_dec(self, limit: Any) -> Any:
        return self._change_integer("fetch_dec", wrapping_decrement, limit, _getframe(1))

    def fetch_min(self, value: Any) -> Any:
        return self._change(_smaller, value, _getframe(1))

    def fetch_max(self, value: Any) -> Any:
        return self._change(_larger, value, _getframe(1))

    def fetch_and(self, value: Any) -> Any:
        return self._change_integer("fetch_and", bit_and, value, _getframe(1))

    def fetch_or(self, value: Any) -> Any:
        return self._change_integer("fetch_or", bit_or, value, _getframe(1))

    def fetch_xor(self, value: Any) -> Any:
        return self._change_integer("fetch_xor", bit_xor, value, _getframe(1))

    def _change_integer(self, name: str, function: Callable[[Any, Any], Any], value: Any, frame: FrameType) -> Any:
        dtype = self._view.dtype
        if dtype.kind not in ATOMIC_KINDS[name]:
            raise DtypeError(
                f"{name} of an AtomicRef must be of an integer, got `{self._view.name}` of dtype {dtype}\n"
                f"  {self._view.clock.describe()} at {_site(frame)}",
                code="atomic-needs-integer",
            )
        return self._change(function, value, frame)

    def _change(self, function: Callable[[Any, Any], Any], value: Any, frame: FrameType) -> Any:
        element = self._element(value)
        before = self._view.array[self._index]
        after = function(before, element)
        self._note(True, True, before != after, frame)
        self._write(after, frame)
        return before

    def replace(self, expected: Any, desired: Any, frame: FrameType) -> Any:
        """Store `desired` if the element is `expected`, and return what it was; the kernel stands at `frame`."""
        element = self._element(desired)
        before = self._view.array[self._index]
        is_equal = bool(before == expected)
        self._note(True, is_equal, is_equal and before != element, frame)
        if is_equal:
            self._write(element, frame)
        else:
            self._view.trace_atomic(self._index, frame)
        return before

    def change(self, function: Callable[[Any, Any], Any], value: Any, frame: FrameType) -> Any:
        """Store what `function` makes of the element and `value`, and return what it was; the kernel is at `frame`."""
        return self._change(function, value, frame)

    def _element(self, value: Any) -> Any:
        if value.__class__ is Undefined:
            name = spell(self._view.name, self._index)
            raise value.fail(f"in an atomic operation on {name} by {self._view.clock.describe()}")
        return _element(value, self._view.array.dtype)

    def _note(self, reads: bool, writes: bool, changes: Any, frame: FrameType) -> None:
        ordering = self._ordering
        address, order, scope = self._address, self._order, self._scope
        has_all = ordering.see(address, order, scope) if reads and ordering is not None else True
        self._view.note_atomic(address, self._index, frame, reads, writes, bool(changes), order, scope)
        if writes and ordering is not None:
            ordering.publish(address, order, scope, reads, has_all)

    def _write(self, element: Any, frame: FrameType) -> None:
        self._view.array[self._index] = element
        self._view.trace_atomic(self._index, frame)

    def _wrong_order(self, name: str, right: str, frame: FrameType) -> KernelCompilationError:
        return KernelCompilationError(
            f"memory_order of an AtomicRef must suit {name}, got {MemoryOrder(self._order).name} at {_site(frame)}: "
            f"use {right}, ACQ_REL, SEQ_CST or RELAXED",
            code="atomic-order",
        )


class References:
    """Makes the references of one launch: what a kernel's name `AtomicRef` becomes.

    - `ordering`: what atomics order, where that is recorded.
    - `has_atomic64`: whether the pretended device has atomics of 64 bits.
    """

    __slots__ = ("_has_atomic64", "_ordering")

    def __init__(self, ordering: HappensBefore | None, has_atomic64: bool) -> None:
        self._ordering = ordering
        self._has_atomic64 = has_atomic64

    def __call__(
        self,
        ref: Any,
        index: Any,
        memory_order: MemoryOrder = MemoryOrder.RELAXED,
        memory_scope: MemoryScope = MemoryScope.DEVICE,
        address_space: AddressSpace = AddressSpace.GENERIC,
    ) -> SimAtomicRef | WatchedAtomicRef:
        """Return a reference to ``ref[index]``; the parameters are those of `AtomicRef`."""
        if isinstance(ref, Record):
            ref, index = ref.field_view(index)
        if not isinstance(ref, View):
            if not isinstance(ref, np.ndarray):
                raise DtypeError(
                    f"ref of an AtomicRef must be an array, got {short_repr(ref)}: give the array, then the index",
                    code="atomic-ref",
                )
            return SimAtomicRef(ref, index)
        frame = _getframe(1)
        is_constant = memory_order.__class__ is MemoryOrder and memory_scope.__class__ is MemoryScope
        is_here = address_space == _SPACES.get(ref.space) or (
            address_space is AddressSpace.GENERIC and ref.space != "private"
        )
        dtype = ref.array.dtype
        is_known = dtype in _DTYPES and (self._has_atomic64 or dtype.itemsize < 8)
        if not (is_constant and is_here and is_known and ref.array.flags.aligned):
            self._fail(ref, memory_order, memory_scope, address_space, frame)
        address, position = ref.element(index, frame)
        return WatchedAtomicRef(ref, address, position, memory_order, memory_scope, self._ordering)

    def _fail(self, ref: View, order: object, scope: object, space: object, frame: FrameType) -> NoReturn:
        """Raise for arguments of an AtomicRef that it cannot have."""
        where = f"{ref.clock.describe()} at {_site(frame)}"
        for name, value, kind in (
            ("memory_order", order, MemoryOrder),
            ("memory_scope", scope, MemoryScope),
            ("address_space", space, AddressSpace),
        ):
            if not isinstance(value, kind):
                raise KernelCompilationError(
                    f"{name} of an AtomicRef must be a member of {kind.__name__}, got {short_repr(value)}\n  {where}",
                    code="no-enum-member",
                )
        if ref.space == "private":
            raise KernelCompilationError(
                f"ref of an AtomicRef must be in memory that work-items share, got `{ref.name}`\n  {where}\n"
                "  its elements are read and written as they are",
                code="atomic-of-private",
            )
        if space not in (AddressSpace.GENERIC, _SPACES.get(ref.space)):
            raise KernelCompilationError(
                f"address_space of an AtomicRef must be that of `{ref.name}`, which is {ref.space} memory, "
                f"got {AddressSpace(space).name}\n  {where}\n"  # type: ignore[arg-type]
                f"  leave it out, or give address_space=AddressSpace.{ref.space.upper()}",
                code="atomic-address-space",
            )
        if ref.dtype not in _DTYPES:
            raise DtypeError(
                f"elements of an AtomicRef must be of {', '.join(ATOMIC_DTYPES)}, got `{ref.name}` of dtype "
                f"{ref.dtype}\n  {where}",
                code="atomic-dtype",
            )
        if not ref.array.flags.aligned:
            raise DtypeError(
                f"elements of an AtomicRef must be at multiples of their size in memory, got `{ref.name}` of dtype "
                f"{ref.dtype}\n  {where}\n  make the dtype of the records with align=True",
                code="atomic-ref",
            )
        fail_narrow_atomics(ref.name, ref.dtype, where)


def _element(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what an element of this dtype takes of `value`."""
    if value.__class__ is dtype.type:
        return value
    if isinstance(value, (complex, np.complexfloating)):
        raise DtypeError(
            f"value of an atomic operation must be a number that becomes {dtype}, got {short_repr(value)}: use .real",
            code="atomic-value",
        )
    made = np.empty((), dtype)
    made[()] = stored_integer(value, dtype) if dtype.kind in "iu" else value
    return made[()]


def _site(frame: FrameType) -> SourceLocation:
    return source_location(frame.f_code, frame.f_lasti)
