"""Private arrays: each work-item has its own elements, however lanes share the memory."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import Cpu, signature_of

import kapi_cpu
import kapi_sim as kapi
from kapi_cpu import host_target

SIZE = 37


def sorted_list(item: kapi.Item, a, out):
    i = item.get_id(0)
    least = kapi.PrivateArray(3, a.dtype)
    for k in range(3):
        least[k] = a.dtype.type(100)
    for j in range(i % 5 + 3):
        value = a[(i + j * j) % a.shape[0]]
        for k in range(3):
            kept = least[k]
            is_less = value < kept
            least[k] = value if is_less else kept
            value = kept if is_less else value
    out[i] = least[0] * 3 - least[2] + least[1]


def own_indices(item: kapi.Item, a, out):
    i = item.get_id(0)
    counts = kapi.PrivateArray(5, a.dtype, fill_zeros=True)
    for j in range(i % 7):
        if (i + j) % 3:
            counts[(i * j + 1) % 5] += a[j]
        if j == 4:
            break
    total = a.dtype.type(0)
    for k in range(5):
        total += counts[k] * a.dtype.type(k + 1)
    out[i] = total


def filled_again(item: kapi.Item, a, out):
    i = item.get_id(0)
    total = a.dtype.type(0)
    for j in range(i % 4 + 1):
        if j != i % 3:
            sums = kapi.PrivateArray((2, 3), a.dtype, fill_zeros=True)
            for k in range(j + 2):
                sums[k % 2, (k + i) % 3] += a[(i + k) % a.shape[0]]
            total += sums[0, i % 3] + sums[1, j % 3] - sums[1, 2]
    out[i] = total


def shared_index(item: kapi.Item, a, out):
    i, n = item.get_id(0), a.shape[0]
    parts = kapi.PrivateArray(8, a.dtype, fill_zeros=True)
    for j in range(n):
        if a[j] > a[i]:
            parts[j % 8] += a[i]
    out[i] = parts[n % 8] - parts[(n + 3) % 8]


KERNELS = (sorted_list, own_indices, filled_again, shared_index)


CASES = [
    (function, dtype)
    for function in KERNELS
    for dtype in (np.int8, np.int16, np.int32, np.float32, np.float64, np.complex64)
    if dtype is not np.complex64 or function in (own_indices, filled_again)  # complex numbers have no order
]


def result(call, function, dtype):
    a, out = np.random.default_rng(1).integers(-20, 20, SIZE).astype(dtype), np.zeros(SIZE, dtype)
    with np.errstate(over="ignore"):
        call(kapi.kernel(function), kapi.Range(SIZE), a, out)
    return out


@cache
def simulated(function, dtype):
    return result(kapi.call_kernel, function, dtype)


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize("lanes", [0, 1, 4, 32])
@pytest.mark.parametrize(("function", "dtype"), CASES)
def test_private_arrays_are_each_work_items_own(function, dtype, lanes):
    found = result(Cpu(replace(host_target(), lanes=lanes)).call, function, dtype)
    np.testing.assert_array_equal(found, simulated(function, dtype))


def kinds(function, dtype):
    a = np.zeros(SIZE, dtype)
    module = kapi_cpu.compile_kernel(function, signature_of(1, (a, a)), target=replace(host_target(), lanes=8))
    return {each.kind for each in kapi_cpu.explain(module).decisions}


def with_an_index_of_its_own(item: kapi.Item, a, out):
    i = item.get_id(0)
    parts = kapi.PrivateArray(300, a.dtype)
    for k in range(300):
        parts[k] = a[i]
    parts[i] = a[i] + a[i]
    out[i] = parts[i + 1]


def with_an_index_of_all(item: kapi.Item, a, out):
    i = item.get_id(0)
    parts = kapi.PrivateArray(300, a.dtype)
    for k in range(300):
        parts[k] = a[i]
    parts[out.shape[0]] = a[i] + a[i]
    out[i] = parts[a.shape[0]]


def test_an_index_of_all_lanes_is_one_access():
    assert "strided" in kinds(with_an_index_of_its_own, np.float64)
    assert not {"gather", "scatter", "strided", "lane loop"} & kinds(with_an_index_of_all, np.float64)
