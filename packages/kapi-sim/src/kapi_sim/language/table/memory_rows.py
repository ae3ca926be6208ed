"""The rows of the intrinsic table for atomics, fences and private memory.

A SPIR-V operation with ``...`` stands for the one of its family that fits the dtype.
"""

from __future__ import annotations

from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["MEMORY_ROWS"]

_ELEMENT: tuple[Parameter, ...] = (("value", "element", None),)
_LIMIT: tuple[Parameter, ...] = (("limit", "element", None),)

# name, parameters, result, meaning, SPIR-V operation
_OPERATIONS: tuple[tuple[str, tuple[Parameter, ...], str, str, str], ...] = (
    ("load", (), "element", "the element", "OpAtomicLoad"),
    ("store", _ELEMENT, "none", "write the element", "OpAtomicStore"),
    ("exchange", _ELEMENT, "element", "write the element; what it was before", "OpAtomicExchange"),
    (
        "compare_exchange",
        (("expected", "array of element", None), ("desired", "element", None), ("expected_idx", "integer", 0)),
        "bool",
        "write the element if it is as expected; what was seen goes to `expected`",
        "OpAtomicCompareExchange",
    ),
    ("fetch_add", _ELEMENT, "element", "add; what it was before", "OpAtomicIAdd or OpAtomicFAddEXT"),
    ("fetch_sub", _ELEMENT, "element", "subtract; what it was before", "OpAtomicISub or OpAtomicFAddEXT"),
    ("fetch_mul", _ELEMENT, "element", "multiply; what it was before", "OpAtomicCompareExchange"),
    ("fetch_inc", _LIMIT, "element", "add 1, or 0 from the limit on; what it was before", "OpAtomicCompareExchange"),
    (
        "fetch_dec",
        _LIMIT,
        "element",
        "subtract 1, or the limit from 0 and from above the limit; what it was before",
        "OpAtomicCompareExchange",
    ),
    ("fetch_min", _ELEMENT, "element", "keep the smaller; what it was before", "OpAtomic...Min"),
    ("fetch_max", _ELEMENT, "element", "keep the larger; what it was before", "OpAtomic...Max"),
    ("fetch_and", _ELEMENT, "element", "keep the bits of value; what it was before", "OpAtomicAnd"),
    ("fetch_or", _ELEMENT, "element", "set the bits of value; what it was before", "OpAtomicOr"),
    ("fetch_xor", _ELEMENT, "element", "flip the bits of value; what it was before", "OpAtomicXor"),
)

MEMORY_ROWS: tuple[Intrinsic, ...] = (
    Intrinsic(
        "PrivateArray",
        "memory",
        None,
        "function",
        (("shape", "shape", None), ("dtype", "dtype", None), ("fill_zeros", "constant bool", False)),
        "private array",
        "an array of the work-item's own, uninitialised unless filled with zeros",
        "4.7.7",
        "OpVariable Function",
    ),
    Intrinsic(
        "atomic_fence",
        "atomic",
        None,
        "function",
        (("memory_order", "MemoryOrder", None), ("memory_scope", "MemoryScope", None)),
        "none",
        "order the memory operations before and after it, for others",
        "4.15.1",
        "OpMemoryBarrier",
    ),
    Intrinsic(
        "AtomicRef",
        "atomic",
        None,
        "function",
        (
            ("ref", "atomic array", None),
            ("index", "index", None),
            ("memory_order", "MemoryOrder", "MemoryOrder.RELAXED"),
            ("memory_scope", "MemoryScope", "MemoryScope.DEVICE"),
            ("address_space", "AddressSpace", "AddressSpace.GENERIC"),
        ),
        "AtomicRef",
        "an element to be read and changed as a whole",
        "4.15.3",
        "none",
    ),
    *(
        Intrinsic(name, "atomic", "AtomicRef", "method", parameters, returns, meaning, "4.15.3", spirv)
        for name, parameters, returns, meaning, spirv in _OPERATIONS
    ),
)
