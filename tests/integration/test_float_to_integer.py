"""Floats become integers as they should on the device, whatever the types: truncated, saturated, and nan 0."""

from __future__ import annotations

import os

import device_arrays
import numpy as np
import pytest

import kapi_runtime as kapi

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@kapi.kernel
def convert(item: kapi.Item, x, y):
    i = item.get_id(0)
    y[i] = y.dtype.type(x[i])


@kapi.kernel
def convert_in_loop(item: kapi.NdItem, x, y):
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        if x[i] > 1:
            y[i] = y.dtype.type(x[i])
        else:
            y[i] = y.dtype.type(x[i] * 1.0)


def floats(dtype):
    """Floats of every size, all kinds of bits, and what is next to each end of an integer type."""
    random = np.random.default_rng(int(os.environ.get("KAPI_TEST_SEED", "0")))
    edges = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, -0.5, 0.999, -0.999, 1e-40, -1e-310]
    with np.errstate(over="ignore"):
        for bits in (7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64):
            for edge in (2.0**bits, -(2.0**bits)):
                edges += [edge, edge + 0.5, edge - 0.5, edge + 1, edge - 1]
                edges += [float(np.nextafter(dtype(edge), dtype(to))) for to in (0, 2 * edge)]
        sizes = (random.random(4000) - 0.5) * 2.0 ** random.integers(-3, 70, 4000)
        bits = random.integers(0, 256, 4000 * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
        return np.concatenate([np.array(edges).astype(dtype), sizes.astype(dtype), bits])


def expected(values, dtype):
    """By Python's own integers, which have no end."""
    ends = np.iinfo(dtype)

    def converted(value):
        if value != value:
            return 0
        if value in (np.inf, -np.inf):
            return ends.max if value > 0 else ends.min
        return min(max(int(value), ends.min), ends.max)

    return np.array([converted(float(value)) for value in values], dtype)


@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
def test_floats_to_integers_truncate_and_saturate(source):
    """By themselves, where work-items are vectors; and in a loop with branches."""
    values = floats(source)
    on_device = device_arrays.asarray(values)
    for dtype in INTEGERS:
        right = expected(values, dtype)
        for kernel, space in ((convert, kapi.Range(values.size)), (convert_in_loop, kapi.NdRange(80, 16))):
            result = device_arrays.zeros(values.size, dtype=dtype)
            kapi.call_kernel(kernel, space, on_device, result)
            np.testing.assert_array_equal(
                device_arrays.asnumpy(result), right, err_msg=f"{dtype.__name__}, {kernel.__name__}"
            )


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int16", "uint16", "int32", "uint64"])
def test_floats_go_through_narrow_integers(source, target):
    """LLVM's SPIR-V back end made one operation of two conversions, which drivers refused."""
    narrow, wide = np.uint8, np.dtype(target).type

    @kapi.kernel
    def convert(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = wide(narrow(a[i]))

    values = np.array([0, 1.5, 200, 255, 300, -1, np.inf, -np.inf, np.nan], source)
    out = device_arrays.empty(values.size, dtype=target)
    kapi.call_kernel(convert, kapi.Range(values.size), device_arrays.asarray(values), out)
    np.testing.assert_array_equal(device_arrays.asnumpy(out), [0, 1, 200, 255, 255, 0, 255, 0, 0])
