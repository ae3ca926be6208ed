"""Floats as indices of arrays: they read the element of the saturated integer, and other uses of it keep its ends."""

from __future__ import annotations

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi

SIZE = 1000


@kapi.kernel
def read(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[i] = table[int(x[i])]


@kapi.kernel
def read_of_32_bits(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[i] = table[np.int32(x[i])]


@kapi.kernel
def read_unsigned(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[i] = table[np.uint64(x[i])]


@kapi.kernel
def read_inside(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[i] = -1
    if x[i] > -1 and x[i] < table.shape[0]:
        y[i] = table[int(x[i])]


@kapi.kernel
def read_and_kept(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    index = int(x[i])
    y[i] = index
    if index >= 0 and index < table.shape[0]:
        y[i] += table[index]


@kapi.kernel
def read_moved(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[i] = table[int(x[i]) + 2]


@kapi.kernel
def read_local(item: kapi.NdItem, x, table, y, copy):
    i, lane = item.get_global_id(0), item.get_local_id(0)
    copy[lane] = table[lane]
    kapi.group_barrier(item.get_group())
    y[i] = copy[int(x[i])]


@kapi.kernel
def write(item: kapi.Item, x, table, y):
    i = item.get_id(0)
    y[int(x[i])] = table[i]


@kapi.kernel
def count(item: kapi.NdItem, x, counts, bins):
    lane = item.get_local_id(0)
    bins[lane] = 0
    kapi.group_barrier(item.get_group())
    kapi.AtomicRef(bins, int(x[item.get_global_id(0)]), address_space=kapi.AddressSpace.LOCAL).fetch_add(1)
    kapi.group_barrier(item.get_group())
    counts[item.get_group().get_group_id(0), lane] = bins[lane]


@kapi.kernel
def count_globally(item: kapi.Item, x, counts):
    kapi.AtomicRef(counts, np.int32(x[item.get_id(0)]), address_space=kapi.AddressSpace.GLOBAL).fetch_add(1)


@kapi.kernel
def add_globally(item: kapi.Item, x, sums):
    i = item.get_id(0)
    before = kapi.AtomicRef(sums, int(x[i]), address_space=kapi.AddressSpace.GLOBAL).fetch_add(x[i])
    sums[sums.shape[0] - 1] = before


def converted(x):
    """The integers, by Python's own."""
    return np.array([0 if np.isnan(each) else int(each) for each in x.astype(float)])


def inside(dtype):
    x = np.random.default_rng(0).random(256) * (SIZE - 1)
    x[:8] = [np.nan, -0.0, -0.5, 0.99, 1.0, SIZE - 1, SIZE - 0.5, 0.0]
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kernel", [read, read_of_32_bits, read_unsigned, read_inside, read_and_kept])
def test_float_as_index_reads_the_element_of_its_integer(kernel, dtype):
    """Nan is index 0, and what lies between -1 and 0 is, too; nan is not inside."""
    x = inside(dtype)
    table = np.arange(SIZE) * 3 + 7
    y = dpnp.zeros(x.size, dtype="int64")
    kapi.call_kernel(kernel, kapi.Range(x.size), dpnp.asarray(x), dpnp.asarray(table), y)
    indices = converted(x)
    expected = table[indices] + (indices if kernel is read_and_kept else 0)
    np.testing.assert_array_equal(
        y.asnumpy(), np.where(np.isnan(x), -1, expected) if kernel is read_inside else expected
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [read_inside, read_and_kept])
def test_float_that_is_no_index_reads_nothing(kernel, dtype):
    """Behind a condition, floats beyond every integer are not indices; an integer that is kept has its ends."""
    x = inside(dtype)
    x[8:16] = [1e30, -1e30, np.inf, -np.inf, 2.0**31, -(2.0**31), 2.0**32 + 4096, 2.0**63]
    table = np.arange(SIZE)
    y = dpnp.zeros(x.size, dtype="int64")
    kapi.call_kernel(kernel, kapi.Range(x.size), dpnp.asarray(x), dpnp.asarray(table), y)
    most, least = 2**63 - 1, -(2**63)
    kept = np.array([most, least, most, least, 2**31, -(2**31), 2**32 + 4096, most])
    np.testing.assert_array_equal(y.asnumpy()[8:16], kept if kernel is read_and_kept else -1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_with_a_number_added_may_be_negative(dtype):
    """The integer alone is no index then."""
    x = np.array([-2.0, -1.5, -1.0, 0.0, 5.5, SIZE - 3], dtype=dtype)
    table = np.arange(SIZE)
    y = dpnp.zeros(x.size, dtype="int64")
    kapi.call_kernel(read_moved, kapi.Range(x.size), dpnp.asarray(x), dpnp.asarray(table), y)
    np.testing.assert_array_equal(y.asnumpy(), converted(x) + 2)


def test_float_as_index_in_local_memory_and_of_a_store():
    x = inside("float32") % 64
    table = np.arange(SIZE) * 3 + 7
    y = dpnp.zeros(x.size, dtype="int64")
    space = kapi.NdRange(x.size, 64)
    local = kapi.LocalAccessor(64, np.int64)
    kapi.call_kernel(read_local, space, dpnp.asarray(x), dpnp.asarray(table), y, local)
    np.testing.assert_array_equal(y.asnumpy(), table[converted(x)])
    indices = np.random.default_rng(1).permutation(x.size).astype(np.float32)
    y = dpnp.zeros(x.size, dtype="int64")
    kapi.call_kernel(write, kapi.Range(x.size), dpnp.asarray(indices + 0.25), dpnp.asarray(table), y)
    expected = np.zeros(x.size, int)
    expected[indices.astype(int)] = table[: x.size]
    np.testing.assert_array_equal(y.asnumpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_as_index_of_an_atomic_operation(dtype):
    x = inside(dtype) % 64
    expected = np.bincount(converted(x), minlength=64)
    counts, given = dpnp.zeros((4, 64), dtype="int32"), dpnp.asarray(x)
    kapi.call_kernel(count, kapi.NdRange(x.size, 64), given, counts, kapi.LocalAccessor(64, np.int32))
    np.testing.assert_array_equal(
        counts.asnumpy(), [np.bincount(converted(part), minlength=64) for part in x.reshape(4, 64)]
    )
    counts = dpnp.zeros(64, dtype="int32")
    kapi.call_kernel(count_globally, kapi.Range(x.size), given, counts)
    np.testing.assert_array_equal(counts.asnumpy(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_as_index_of_an_atomic_operation_on_floats(dtype):
    x = np.random.default_rng(2).integers(0, 64, 256).astype(dtype)
    sums = dpnp.zeros(65, dtype=dtype)
    kapi.call_kernel(add_globally, kapi.Range(x.size), dpnp.asarray(x), sums)
    expected = np.bincount(x.astype(int), weights=x, minlength=64)
    np.testing.assert_array_equal(sums.asnumpy()[:64], expected)


def test_module_with_an_atomic_operation_at_a_converted_index_is_vectorised():
    """Modules that call themselves OpenCL C are vectorised if the driver finds it worth while, and others always."""
    counts = dpnp.zeros(64, dtype="int32")
    for dtype, is_weighed in (("float32", False), ("int32", True)):
        kapi.call_kernel(count_globally, kapi.Range(4), dpnp.zeros(4, dtype=dtype), counts)
        (code,) = (text for name, text in count_globally.inspect_llvm().items() if f"Item(1d), array({dtype}," in name)
        assert ("opencl.ocl.version" in code) == is_weighed


@pytest.mark.parametrize("kernel", [read, read_of_32_bits, read_inside])
def test_float_that_is_an_index_alone_is_not_saturated(kernel):
    x, table, y = dpnp.zeros(4, dtype="float32"), dpnp.zeros(4, dtype="int64"), dpnp.zeros(4, dtype="int64")
    kapi.call_kernel(kernel, kapi.Range(4), x, table, y)
    (code,) = (text for name, text in kernel.inspect_llvm().items() if "float32" in name)
    assert code.count("fptosi") == 1
    assert ".shifted = shl" not in code
    assert ".bounded = select" not in code
