"""Atomic operations on one element, and fences.

References
----------
SYCL 2020 specification, sections 4.15.1, "Barriers and fences", and 4.15.3, "Atomic references".
"""

from __future__ import annotations

from typing import Any, NoReturn

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.outside import carry_out

__all__ = ["ATOMIC_DTYPES", "ATOMIC_KINDS", "AtomicRef", "atomic_fence"]

ATOMIC_DTYPES: tuple[str, ...] = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
)  # fmt: skip
"""Types of elements that can be used atomically."""

ATOMIC_KINDS: dict[str, str] = {
    "load": "iuf",
    "store": "iuf",
    "exchange": "iuf",
    "compare_exchange": "iuf",
    "fetch_add": "iuf",
    "fetch_sub": "iuf",
    "fetch_mul": "iuf",
    "fetch_inc": "iu",
    "fetch_dec": "iu",
    "fetch_min": "iuf",
    "fetch_max": "iuf",
    "fetch_and": "iu",
    "fetch_or": "iu",
    "fetch_xor": "iu",
}
"""For each operation of an `AtomicRef`, the kinds of `ATOMIC_DTYPES` that it takes."""


def _only_in_kernels(name: str) -> NoReturn:
    raise KernelLaunchError(
        f"AtomicRef.{name} must be called inside a kernel, got a call outside of one: "
        "on the host, use the array's element itself",
        code="outside-kernel",
    )


class AtomicRef:
    """One element of an array, to be read and changed as a whole by many work-items at once.

    Made inside a kernel.  A read takes the acquiring part of the order, and a write the releasing part:
    `load` with ``RELEASE`` and `store` with ``ACQUIRE`` are errors.  A failed `compare_exchange` is a read.

    Parameters
    ----------
    ref : array
        In global memory or a `LocalAccessor`; its dtype is one of `ATOMIC_DTYPES`.
    index : int, tuple of int or str
        Names the element; where `ref` is a record of an array, as ``particles[i]`` is, the name of a field.
    memory_order : MemoryOrder
        How each operation orders the memory operations around it; a constant.  ``RELAXED`` orders none.
    memory_scope : MemoryScope
        Among whom the operations are atomic and ordered; a constant.
    address_space : AddressSpace
        Where `ref` lies: ``GENERIC`` for wherever that is, ``GLOBAL`` or ``LOCAL``; a constant.

    Raises
    ------
    OutOfBoundsError
        In the simulator, if the index lies outside.
    DtypeError
        In the simulator, if elements of this dtype cannot be used atomically.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def count(item: kapi.Item, values, bins):
    ...     kapi.AtomicRef(bins, values[item.get_id(0)]).fetch_add(1)
    >>> bins = np.zeros(3, np.int32)
    >>> kapi.call_kernel(count, kapi.Range(5), np.array([0, 2, 2, 1, 2]), bins)
    >>> bins
    array([1, 1, 3], dtype=int32)
    """

    __slots__ = ()

    def __new__(
        cls,
        ref: Any,
        index: int | tuple[int, ...] | str,
        memory_order: MemoryOrder = MemoryOrder.RELAXED,
        memory_scope: MemoryScope = MemoryScope.DEVICE,
        address_space: AddressSpace = AddressSpace.GENERIC,
    ) -> AtomicRef:
        made: AtomicRef = carry_out(AtomicRef, ref, index, memory_order, memory_scope, address_space)
        return made

    def load(self) -> Any:
        """Return the element."""
        _only_in_kernels("load")

    def store(self, value: Any) -> None:
        """Write `value`, converted to the element's dtype."""
        _only_in_kernels("store")

    def exchange(self, value: Any) -> Any:
        """Write `value`, and return the earlier value of the element."""
        _only_in_kernels("exchange")

    def compare_exchange(self, expected: Any, desired: Any, expected_idx: int = 0) -> bool:
        """Write `desired` if the element equals ``expected[expected_idx]``, and return whether it did.

        What was seen is written to ``expected[expected_idx]``.  Never fails without cause.  Floats are compared by
        their bits: nan equals itself, and -0.0 does not equal 0.0.

        Parameters
        ----------
        expected : array
            Of the element's dtype: a `PrivateArray`, or memory that no other work-item uses.
        desired : scalar
            Converted to the element's dtype.
        expected_idx : int
            Which element of `expected`.
        """
        _only_in_kernels("compare_exchange")

    def fetch_add(self, value: Any) -> Any:
        """Add `value`, and return the earlier value of the element; integers wrap."""
        _only_in_kernels("fetch_add")

    def fetch_sub(self, value: Any) -> Any:
        """Subtract `value`, and return the earlier value of the element; integers wrap."""
        _only_in_kernels("fetch_sub")

    def fetch_mul(self, value: Any) -> Any:
        """Multiply by `value`, and return the earlier value of the element; integers wrap."""
        _only_in_kernels("fetch_mul")

    def fetch_inc(self, limit: Any) -> Any:
        """Add 1, or write 0 if the element is `limit` or more, and return its earlier value; integers only."""
        _only_in_kernels("fetch_inc")

    def fetch_dec(self, limit: Any) -> Any:
        """Subtract 1, and return the earlier value of the element; integers only.

        If the element is 0 or less, or more than `limit`, `limit` is written.
        """
        _only_in_kernels("fetch_dec")

    def fetch_min(self, value: Any) -> Any:
        """Write the smaller of the element and `value`, and return the earlier value of the element.

        Of a number and nan, the number is written.
        """
        _only_in_kernels("fetch_min")

    def fetch_max(self, value: Any) -> Any:
        """Write the larger of the element and `value`, and return the earlier value of the element.

        Of a number and nan, the number is written.
        """
        _only_in_kernels("fetch_max")

    def fetch_and(self, value: Any) -> Any:
        """Keep the bits that are set in `value`, and return the earlier value of the element; integers only."""
        _only_in_kernels("fetch_and")

    def fetch_or(self, value: Any) -> Any:
        """Set the bits that are set in `value`, and return the earlier value of the element; integers only."""
        _only_in_kernels("fetch_or")

    def fetch_xor(self, value: Any) -> Any:
        """Flip the bits that are set in `value`, and return the earlier value of the element; integers only."""
        _only_in_kernels("fetch_xor")


def atomic_fence(memory_order: MemoryOrder, memory_scope: MemoryScope) -> None:
    """Order the calling work-item's memory operations before the fence and after it, for others.

    A fence alone orders nothing between work-items: one of them writes an atomic after a releasing
    fence, another reads that value before an acquiring fence.

    Parameters
    ----------
    memory_order : MemoryOrder
        ``ACQUIRE``, ``RELEASE``, ``ACQ_REL`` or ``SEQ_CST``; a constant.  ``RELAXED`` does nothing.
    memory_scope : MemoryScope
        For whom; a constant.
    """
    carry_out(atomic_fence, memory_order, memory_scope)
