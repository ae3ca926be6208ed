"""Wrong calls of the language's own functions are reported in terms of the kernel's author."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim import AddressSpace, MemoryOrder, MemoryScope
from kapi_types import ArrayType, NdItemType, weak_int
from kapi_types.kernel_typing import ProblemsFound

I32 = ArrayType(types.int32, 1, "C")
F32 = ArrayType(types.float32, 1, "C")
I16 = ArrayType(types.int16, 1, "C")
TILE = ArrayType(types.int32, 2, "C", address_space=AddressSpace.LOCAL)
READONLY = ArrayType(types.int32, 1, "C", readonly=True)
SIZE = 4
SHAPE = (2, 3)

WRONG = {
    "barrier of an item": ("kapi.group_barrier(item)", "no-group"),
    "shift in a work-group": ("kapi.shift_group_left(group, 1)", "no-sub-group"),
    "scope of another enumeration": ("kapi.group_barrier(group, kapi.MemoryOrder.RELAXED)", "no-enum-member"),
    "value of a reduction": ("kapi.reduce_over_group(group, a, kapi.plus)", "group-operator-type"),
    "operator of Python": ("kapi.reduce_over_group(group, 1, operator.add)", "group-operator"),
    "operator that does not take floats": (
        "kapi.inclusive_scan_over_group(group, f[0], kapi.bit_xor)",
        "group-operator-type",
    ),
    "operator that takes bools only": (
        "kapi.exclusive_scan_over_group(group, a[0], kapi.logical_or)",
        "group-operator-type",
    ),
    "float as an id": ("kapi.group_broadcast(group, a[0], 0.5)", "group-integer"),
    "predicate": ("kapi.any_of_group(group, a)", "group-predicate"),
    "too many arguments": ("kapi.all_of_group(group, True, 1)", "call-arguments"),
    "a name that is none": ("kapi.none_of_group(group, value=True)", "call-arguments"),
    "atomics on truth values": ("kapi.AtomicRef(kapi.PrivateArray(1, np.bool_), 0)", "atomic-ref"),
    "index of too many axes": ("kapi.AtomicRef(a, (0, 1))", "atomic-index"),
    "order that is a number": ("kapi.AtomicRef(a, 0, 1)", "no-enum-member"),
    "local memory called global": (
        "kapi.AtomicRef(tile, (0, 1), address_space=kapi.AddressSpace.GLOBAL)",
        "atomic-address-space",
    ),
    "global memory called local": (
        "kapi.AtomicRef(a, 0, address_space=kapi.AddressSpace.LOCAL)",
        "atomic-address-space",
    ),
    "private memory": (
        "kapi.AtomicRef(kapi.PrivateArray(2, a.dtype), 0, address_space=kapi.AddressSpace.PRIVATE)",
        "atomic-of-private",
    ),
    "releasing load": ("kapi.AtomicRef(a, 0, kapi.MemoryOrder.RELEASE).load()", "atomic-order"),
    "acquiring store": ("kapi.AtomicRef(a, 0, kapi.MemoryOrder.ACQUIRE).store(1)", "atomic-order"),
    "bits of floats": ("kapi.AtomicRef(f, 0).fetch_and(1)", "atomic-needs-integer"),
    "read-only array": ("kapi.AtomicRef(r, 0).fetch_add(1)", "argument-read-only"),
    "value that is none": ("kapi.AtomicRef(a, 0).store(a)", "atomic-value"),
    "expected value without an array": ("kapi.AtomicRef(a, 0).compare_exchange(1, 2)", "atomic-expected"),
    "operation that atomics lack": ("kapi.AtomicRef(a, 0).fetch_nand(2)", "attribute-unknown"),
    "fence without a scope": ("kapi.atomic_fence(kapi.MemoryOrder.ACQUIRE)", "call-arguments"),
    "shape that an argument gives": ("kapi.PrivateArray(n, np.int32)", "shape-unknown"),
    "shape partly of an argument": ("kapi.PrivateArray((2, n), np.int32)", "shape-unknown"),
    "empty shape": ("kapi.PrivateArray(0, np.int32)", "array-shape"),
    "shape of no axes": ("kapi.PrivateArray((), np.int32)", "array-shape"),
    "dtype that is a number": ("kapi.PrivateArray(3, 1.0)", "array-dtype"),
    "bits of a float": ("kapi.clz(f[0])", "bits-of-integer"),
    "places that are a float": ("kapi.rotate(a[0], 0.5)", "bits-of-integer"),
    "factor that is none": ("kapi.mul_hi(a[0], True)", "bits-of-integer"),
    "factors without a common type": ("kapi.mul_hi(np.int64(1), np.uint64(1))", "bits-of-integer"),
    "seed that is a float": ("kapi.random.uniform(0.5, n)", "random-integer"),
    "bound that may not fit int64": ("kapi.random.randint(1, n, 0, np.uint64(n))", "random-integer"),
    "random numbers of integers": ("kapi.random.normal(1, n, dtype=a.dtype)", "random-dtype"),
    "random number without a counter": ("kapi.random.randint(1, 2, 3)", "call-arguments"),
    "filling that an argument decides": ("kapi.PrivateArray(3, np.int32, n > 2)", "option-bool"),
}


def kernel(line):
    """A kernel with one line, all of whose names exist."""
    source = f"def kernel(item, a, f, h, r, tile, n):\n    group = item.get_group()\n    {line}\n"
    namespace = {"kapi": kapi, "np": np, "math": math, "operator": operator, "SIZE": SIZE, "SHAPE": SHAPE}
    exec(source, namespace)
    return namespace["kernel"]


def inferred(infer, line):
    return infer(kernel(line), NdItemType(1), I32, F32, I16, READONLY, TILE, weak_int, returns=types.none)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_call_is_reported(infer, case):
    """One problem, on the call's line."""
    line, code = WRONG[case]
    with pytest.raises(ProblemsFound) as caught:
        inferred(infer, line)
    (problem,) = caught.value.problems
    assert (problem.line, problem.code) == (3, code)


def test_an_atomic_is_of_the_memory_that_its_array_is_in(infer):
    """Its address space may be left out, or named rightly."""
    named = ("", ", address_space=kapi.AddressSpace.LOCAL", ", address_space=kapi.AddressSpace.GENERIC")
    for space in named:
        found = inferred(infer, f"x = kapi.AtomicRef(tile, (0, 1){space})")["x"]
        assert found.array.address_space is AddressSpace.LOCAL
    assert inferred(infer, "x = kapi.AtomicRef(a, 0)")["x"].array.address_space is AddressSpace.GLOBAL


@pytest.mark.parametrize("order", list(MemoryOrder))
@pytest.mark.parametrize("scope", list(MemoryScope))
def test_orders_and_scopes_are_part_of_the_type(infer, order, scope):
    """Every order with every scope."""
    found = inferred(infer, f"x = kapi.AtomicRef(a, 0, kapi.MemoryOrder.{order.name}, kapi.MemoryScope.{scope.name})")
    assert (found["x"].order, found["x"].scope, found["x"].dtype) == (order, scope, types.int32)


@pytest.mark.parametrize(
    ("shape", "rank"),
    [("3", 1), ("(2, 3)", 2), ("SIZE", 1), ("SHAPE", 2), ("(SIZE, 2 * SIZE + 1)", 2), ("SIZE // 3 - 0", 1)],
)
def test_private_array_takes_constant_shapes(infer, shape, rank):
    """Literals, globals, tuples of these, and arithmetic on them."""
    found = inferred(infer, f"x = kapi.PrivateArray({shape}, f.dtype, fill_zeros=True)")["x"]
    assert (found.ndim, found.dtype, found.address_space) == (rank, types.float32, AddressSpace.PRIVATE)


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("kapi.clz(a[0])", types.int32),
        ("kapi.popcount(n)", "weak_int"),
        ("kapi.rotate(np.uint8(1), a[0])", types.uint8),
        ("kapi.mul_hi(h[0], 5)", types.int16),
        ("kapi.mul_hi(a[0], np.uint32(5))", types.int64),
        ("kapi.mul_hi(n, 5)", "weak_int"),
        ("kapi.random.uniform(a[0], n)", types.float32),
        ("kapi.random.normal(1, n, dtype=np.float64)", types.float64),
        ("kapi.random.uniform(1, n, dtype=f.dtype)", types.float32),
        ("kapi.random.randint(1, n, 0, a[0])", "weak_int"),
        ("kapi.random.philox(1, n)[2]", types.uint32),
    ],
)
def test_functions_of_integers_have_the_type_of_the_table(infer, call, result):
    """That of the argument, NumPy's common one, or the one that is named."""
    found = inferred(infer, f"x = {call}")["x"]
    assert result in (found, str(found))


@pytest.mark.parametrize(
    ("value", "result"), [("a[0]", types.int32), ("n", "weak_int"), ("f[0]", types.float32), ("0.5", "weak_float")]
)
def test_group_functions_keep_the_type_of_the_value(infer, value, result):
    """Weak stays weak."""
    for call in (f"kapi.group_broadcast(group, {value})", f"kapi.reduce_over_group(group, {value}, kapi.plus)"):
        found = inferred(infer, f"x = {call}")["x"]
        assert result in (found, str(found))
