"""Private arrays: registers where LLVM can, memory of the work-item's own elsewhere."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim.errors import KernelCompilationError, LimitError
from kapi_sim.language import MAX_PRIVATE_BYTES
from kapi_sim.testing.reports import raises
from kapi_spirv import compile_kernel
from kapi_types import ArrayType, ItemType

F32 = ArrayType(types.float32, 1, "C")
SIZE = 4


def reversed_rows(item, a):
    i = item.get_id(0)
    row = kapi.PrivateArray(SIZE, a.dtype)
    for k in range(SIZE):
        row[k] = a[i * SIZE + k]
    for k in range(SIZE):
        a[i * SIZE + k] = row[SIZE - 1 - k]


def test_private_array_with_known_indices_is_held_in_registers(validated_compile):
    """Loops of known length are unrolled, and no memory is left."""
    module = validated_compile(reversed_rows, [ItemType(1), F32])
    assert "alloca" in module.llvm_ir
    assert "alloca" not in module.optimized_llvm_ir


def chosen(item, a, n):
    counts = kapi.PrivateArray((3, 5), np.int16, fill_zeros=True)
    for k in range(n):
        counts[k % 3, k % 5] += 1
    a[item.get_id(0)] = counts[n % 3, n % 5] + counts.shape[1] + len(counts) + counts.size


def test_private_array_with_computed_indices_is_memory(validated_compile):
    """One piece, whatever its shape; shape and size are constants."""
    module = validated_compile(chosen, [ItemType(1), F32, types.int64])
    assert module.optimized_llvm_ir.count("alloca") == 1
    assert "Float64" not in module.capabilities


@pytest.mark.parametrize("dtype", ["bool_", "int8", "uint64", "float64"])
def test_private_arrays_of_other_dtypes_compile(validated_compile, dtype):
    """Any that kernels have."""
    type_ = getattr(np, dtype)

    def copies(item, a):
        own = kapi.PrivateArray(8, type_, True)
        i = item.get_id(0)
        own[i % 8] = a[i]
        a[i] = own[(i + 1) % 8]

    validated_compile(copies, [ItemType(1), F32])


def test_private_array_is_given_to_device_functions(validated_compile):
    """As any array."""

    def fill(array, value):
        for k in range(array.shape[0]):
            array[k] = value

    def fills(item, a):
        own = kapi.PrivateArray(3, np.float32)
        fill(own, a[0])
        a[item.get_id(0)] = own[2]

    validated_compile(fills, [ItemType(1), F32])


def test_private_array_does_not_leave_its_function():
    """Its memory is the function's own."""

    def made():
        return kapi.PrivateArray(3, np.float32)

    def takes(item, a):
        a[0] = made()[1]

    with raises(KernelCompilationError, "private-array-returned"):
        compile_kernel(takes, [ItemType(1), F32])


def test_private_array_of_an_earlier_iteration_is_refused():
    """Both would be the same memory: silently another number than Python's."""

    def swaps(item, a):
        old = kapi.PrivateArray(1, np.float32)
        old[0] = 0
        for k in range(3):
            new = kapi.PrivateArray(1, np.float32)  # refused
            new[0] = old[0] + k
            old = new
        a[0] = old[0]

    def first(item, a):
        row = kapi.PrivateArray((2, 2), np.float32)[0]
        for k in range(3):
            made = kapi.PrivateArray((2, 2), np.float32)  # refused
            if k == 0:
                row = made[1]
        a[0] = row[0]

    for kernel in (swaps, first):
        line = next(n for n, text in numbered_lines(kernel) if "# refused" in text)
        with raises(KernelCompilationError, "private-array-in-loop", line=line):
            compile_kernel(kernel, [ItemType(1), F32])


def test_private_array_of_each_iteration_alone_is_allowed(validated_compile):
    def iterations(item, a):
        rows = kapi.PrivateArray((2, 2), np.float32)
        for k in range(3):
            current = kapi.PrivateArray((2, 2), np.float32, fill_zeros=True)
            row = current[1]
            pair = (row, rows)
            row[0] = k
            rows[0, 0] = pair[0][0]
            if k == 1:
                current = rows
            a[k] = current[0, 0]
        a[0] = rows[0, 0]

    validated_compile(iterations, [ItemType(1), F32])


def numbered_lines(function):
    lines, start = inspect.getsourcelines(function)
    return enumerate(lines, start)


def test_private_arrays_have_a_limit():
    """Of all together, with the line of each: drivers take minutes for more, or crash."""
    half = MAX_PRIVATE_BYTES // 8

    def helper(x):
        scratch = kapi.PrivateArray(half, np.float32)
        scratch[0] = x
        return scratch[0]

    def both(item, a):
        scratch = kapi.PrivateArray((2, half // 2), np.float32)
        scratch[0, 0] = helper(a[0])
        a[0] = scratch[0, 0]

    def one_more(item, a):
        scratch = kapi.PrivateArray(1, np.int8)
        scratch[0] = helper(helper(a[0]))
        more = kapi.PrivateArray(half, np.float32)
        more[0] = scratch[0]
        a[0] = more[0]

    compile_kernel(both, [ItemType(1), F32])
    line = one_more.__code__.co_firstlineno
    with pytest.raises(LimitError) as caught:
        compile_kernel(one_more, [ItemType(1), F32])
    assert f"must have at most {MAX_PRIVATE_BYTES} bytes in all" in str(caught.value)
    assert f"got {MAX_PRIVATE_BYTES + 1}" in str(caught.value)
    assert f"{__file__}:{line + 1}: 1 bytes" in str(caught.value)
    assert f"{__file__}:{line + 3}: {half * 4} bytes" in str(caught.value)


@pytest.mark.parametrize("size", [10**7, 10**9, 10**12, 2**62])
def test_private_array_of_any_size_is_refused_at_once(size):
    def large(item, a):
        scratch = kapi.PrivateArray(size, np.float32)
        scratch[0] = a[0]
        a[0] = scratch[0]

    with raises(LimitError, "private-memory-too-large"):
        compile_kernel(large, [ItemType(1), F32])
