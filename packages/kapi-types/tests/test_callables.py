"""What is wrong with a call of the language's own functions is told in words for the kernel's author."""

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
    "barrier of an item": (
        "kapi.group_barrier(item)",
        "group of group_barrier() must be a Group or SubGroup, got NdItem; an NdItem's get_group() or get_sub_group() "
        "gives one",
    ),
    "shift in a work-group": (
        "kapi.shift_group_left(group, 1)",
        "group of shift_group_left() must be a SubGroup, got Group; an NdItem's get_sub_group() gives one",
    ),
    "scope of another enumeration": (
        "kapi.group_barrier(group, kapi.MemoryOrder.RELAXED)",
        "fence_scope of group_barrier() must be a member of MemoryScope itself, got MemoryOrder.RELAXED; "
        "write MemoryScope.WORK_ITEM",
    ),
    "value of a reduction": (
        "kapi.reduce_over_group(group, a, kapi.plus)",
        "x of reduce_over_group() must be a value that plus takes (signed integers, unsigned integers, floats), "
        "got int32 array of rank 1",
    ),
    "operator of Python": (
        "kapi.reduce_over_group(group, 1, operator.add)",
        "op of reduce_over_group() must be one of kapi's operators (plus, multiplies, minimum, maximum, bit_and, "
        "bit_or, bit_xor, logical_and, logical_or), got",
    ),
    "operator that does not take floats": (
        "kapi.inclusive_scan_over_group(group, f[0], kapi.bit_xor)",
        "x of inclusive_scan_over_group() must be a value that bit_xor takes "
        "(bools, signed integers, unsigned integers), got float32",
    ),
    "operator that takes bools only": (
        "kapi.exclusive_scan_over_group(group, a[0], kapi.logical_or)",
        "x of exclusive_scan_over_group() must be a value that logical_or takes (bools), got int32",
    ),
    "float as an id": (
        "kapi.group_broadcast(group, a[0], 0.5)",
        "linear_id of group_broadcast() must be an integer, got Python float",
    ),
    "predicate": (
        "kapi.any_of_group(group, a)",
        "pred of any_of_group() must be a bool, or a number to be compared with 0, got int32 array of rank 1",
    ),
    "too many arguments": ("kapi.all_of_group(group, True, 1)", "all_of_group(): too many positional arguments"),
    "a name that is none": (
        "kapi.none_of_group(group, value=True)",
        "none_of_group(): missing a required argument: 'pred'",
    ),
    "atomics on int16": (
        "kapi.AtomicRef(h, 0)",
        "ref of AtomicRef() must be an array of int32, int64, uint32, uint64, float32 or float64, "
        "got int16 array of rank 1",
    ),
    "index of too many axes": (
        "kapi.AtomicRef(a, (0, 1))",
        "index of AtomicRef() must be an integer for each of the array's axes (1), got tuple (Python int, Python int)",
    ),
    "order that is a number": (
        "kapi.AtomicRef(a, 0, 1)",
        "memory_order of AtomicRef() must be a member of MemoryOrder itself, got Python int; write MemoryOrder.RELAXED",
    ),
    "local memory without its address space": (
        "kapi.AtomicRef(tile, (0, 1))",
        "address_space of AtomicRef() must be AddressSpace.LOCAL, where ref is, got AddressSpace.GLOBAL",
    ),
    "global memory called local": (
        "kapi.AtomicRef(a, 0, address_space=kapi.AddressSpace.LOCAL)",
        "address_space of AtomicRef() must be AddressSpace.GLOBAL, where ref is, got AddressSpace.LOCAL",
    ),
    "private memory": (
        "kapi.AtomicRef(kapi.PrivateArray(2, a.dtype), 0, address_space=kapi.AddressSpace.PRIVATE)",
        "ref of AtomicRef() must be in memory that work-items share, got int32 private array of rank 1; "
        "its elements are read and written as they are",
    ),
    "releasing load": (
        "kapi.AtomicRef(a, 0, kapi.MemoryOrder.RELEASE).load()",
        "memory_order of AtomicRef.load() must be one that it can have, got MemoryOrder.RELEASE; a load releases "
        "nothing: make the AtomicRef with ACQUIRE, ACQ_REL or SEQ_CST",
    ),
    "acquiring store": (
        "kapi.AtomicRef(a, 0, kapi.MemoryOrder.ACQUIRE).store(1)",
        "memory_order of AtomicRef.store() must be one that it can have, got MemoryOrder.ACQUIRE; a store acquires "
        "nothing: make the AtomicRef with RELEASE, ACQ_REL or SEQ_CST",
    ),
    "bits of floats": (
        "kapi.AtomicRef(f, 0).fetch_and(1)",
        "element of AtomicRef.fetch_and() must be an integer, got float32",
    ),
    "read-only array": (
        "kapi.AtomicRef(r, 0).fetch_add(1)",
        "array of AtomicRef.fetch_add() must be writable, got read-only int32 array of rank 1",
    ),
    "value that is none": (
        "kapi.AtomicRef(a, 0).store(a)",
        "value of AtomicRef.store() must be a number that becomes int32, got int32 array of rank 1",
    ),
    "expected value without an array": (
        "kapi.AtomicRef(a, 0).compare_exchange(1, 2)",
        "expected of AtomicRef.compare_exchange() must be a writable int32 array of rank 1, which gets the value seen, "
        "got Python int; make one with PrivateArray(1, np.int32)",
    ),
    "operation that atomics lack": ("kapi.AtomicRef(a, 0).fetch_mul(2)", "AtomicRef has no 'fetch_mul' in a kernel"),
    "fence without a scope": (
        "kapi.atomic_fence(kapi.MemoryOrder.ACQUIRE)",
        "atomic_fence(): missing a required argument: 'memory_scope'",
    ),
    "shape that an argument gives": (
        "kapi.PrivateArray(n, np.int32)",
        "shape of PrivateArray() must be known when the kernel is compiled, got Python int; "
        "write literals, or globals that are integers",
    ),
    "shape partly of an argument": (
        "kapi.PrivateArray((2, n), np.int32)",
        "shape of PrivateArray() must be known when the kernel is compiled, got tuple (Python int, Python int)",
    ),
    "empty shape": ("kapi.PrivateArray(0, np.int32)", "must be one to six integers of at least 1, got 0"),
    "shape of no axes": ("kapi.PrivateArray((), np.int32)", "must be one to six integers of at least 1, got ()"),
    "dtype that is a number": (
        "kapi.PrivateArray(3, 1.0)",
        "dtype of PrivateArray() must be a NumPy scalar type or an array's dtype, got Python float; "
        "write np.float32, or x.dtype",
    ),
    "bits of a float": ("kapi.clz(f[0])", "x of clz() must be an integer, got float32"),
    "places that are a float": ("kapi.rotate(a[0], 0.5)", "n of rotate() must be an integer, got Python float"),
    "factor that is none": ("kapi.mul_hi(a[0], True)", "y of mul_hi() must be an integer, got Python bool"),
    "factors without a common type": (
        "kapi.mul_hi(np.int64(1), np.uint64(1))",
        "x and y of mul_hi() must have a common type of integers, got int64 and uint64; convert one",
    ),
    "seed that is a float": (
        "kapi.random.uniform(0.5, n)",
        "seed of random.uniform() must be an integer, got Python float",
    ),
    "random numbers of integers": (
        "kapi.random.normal(1, n, dtype=a.dtype)",
        "dtype of random.normal() must be np.float32 or np.float64, got",
    ),
    "random number without a counter": (
        "kapi.random.randint(1, 2, 3)",
        "random.randint(): missing a required argument: 'high'",
    ),
    "filling that an argument decides": (
        "kapi.PrivateArray(3, np.int32, n > 2)",
        "fill_zeros of PrivateArray() must be True or False itself, got Python bool",
    ),
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
def test_wrong_call_is_told(infer, case):
    """One problem, on the call's line, with what to write instead."""
    line, text = WRONG[case]
    with pytest.raises(ProblemsFound) as caught:
        inferred(infer, line)
    (problem,) = caught.value.problems
    assert problem.line == 3
    assert text in problem.text


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
