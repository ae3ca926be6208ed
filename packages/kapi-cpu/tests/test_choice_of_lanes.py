"""Whether kernels become code of vectors or of one work-item."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import AVX2, AVX512, Cpu, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, host_target


def rows(item: kapi.Item, data, indices, starts, x, out):
    row = item.get_id(0)
    total = x.dtype.type(0)
    for k in range(starts[row], starts[row + 1]):
        total += data[k] * x[indices[k]]
    out[row] = total


def search(item: kapi.Item, data, indices, starts, x, out):
    i = item.get_id(0)
    low, high = 0, data.shape[0]
    while low < high:
        middle = (low + high) // 2
        if data[middle] < x[i]:
            low = middle + 1
        else:
            high = middle
    out[i] = low


def largest(item: kapi.Item, data, indices, starts, x, out):
    row = item.get_id(0)
    most = x.dtype.type(0)
    for k in range(starts[row], starts[row + 1]):
        if data[k] > most:
            most = data[k]
    out[row] = most


def tree(item: kapi.Item, data, indices, starts, x, out):
    i = item.get_id(0)
    node = 0
    for _ in range(6):
        node = indices[node] if x[i] < data[node] else starts[node]
    out[i] = node


def lookup(item: kapi.Item, data, indices, starts, x, out):
    i = item.get_id(0)
    out[i] = x[starts[i] % 7] * 2


@pytest.mark.parametrize(
    ("function", "features", "has_gathers", "is_scalar"),
    [
        (rows, AVX512, False, True),
        (search, AVX512, False, False),
        (lookup, AVX512, False, False),
        (rows, AVX2, False, True),
        (search, AVX2, False, True),
        (lookup, AVX2, False, False),
        (search, AVX2, True, False),
        (search, AVX512, True, False),
        (lookup, AVX512, True, False),
        (largest, AVX512, True, False),
        (rows, AVX512, True, True),
        (tree, AVX512, True, False),
    ],
)
def test_loops_over_far_elements_stay_scalar(function, features, has_gathers, is_scalar):
    random = np.random.default_rng(0)
    starts = np.concatenate(([0], np.cumsum(random.integers(0, 9, 40)))).astype(np.int32)
    indices = random.integers(0, 40, starts[-1], dtype=np.int32)
    data = np.sort(random.random(starts[-1], dtype=np.float32))
    x = random.random(40, dtype=np.float32)
    results = []
    for world in (kapi, Cpu().kapi):
        results.append(np.zeros(40, np.float32))
        world.call_kernel(kapi.kernel(function), kapi.Range(40), data, indices, starts, x, results[-1])
    np.testing.assert_array_equal(results[1], results[0])
    signature = signature_of(1, (data, indices, starts, x, results[-1]), False)
    target = replace(host_target(), cpu="generic", features=features, has_fast_gathers=has_gathers)
    assert (compile_kernel(function, signature, target=target).lanes == 1) == is_scalar


def padded_rows(item: kapi.Item, data, columns, x, out):
    row = item.get_id(0)
    total = x.dtype.type(0)
    for k in range(columns.shape[1]):
        total += data[row, k] * x[columns[row, k]]
    out[row] = total


def neighbours(item: kapi.Item, data, columns, x, out):
    row = item.get_id(0)
    total = x.dtype.type(0)
    for k in range(columns.shape[1]):
        total += x[columns[row, k]]
    out[row] = total


def sums(item: kapi.Item, data, columns, x, out):
    row = item.get_id(0)
    total = x.dtype.type(0)
    for k in range(columns.shape[1]):
        total += data[row, k] * x[k]
    out[row] = total


@pytest.mark.parametrize(("function", "is_scalar"), [(padded_rows, True), (neighbours, True), (sums, False)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalar_code_loads_ahead_where_indices_are_loaded(function, is_scalar, index, dtype):
    random = np.random.default_rng(0)
    columns, data = random.integers(0, 40, (40, 5)).astype(index), random.integers(0, 9, (40, 5)).astype(dtype)
    arguments = (data, columns, random.integers(0, 9, 40).astype(dtype), np.zeros(40, dtype))
    Cpu().call(kapi.kernel(function), kapi.Range(40), *arguments)
    right = {
        padded_rows: (data * arguments[2][columns]).sum(axis=1),
        neighbours: arguments[2][columns].sum(axis=1),
        sums: data @ arguments[2][:5],
    }
    np.testing.assert_array_equal(arguments[3], right[function])
    target = replace(host_target(), cpu="generic", features=AVX512, has_fast_gathers=True)
    assert (compile_kernel(function, signature_of(1, arguments), target=target).lanes == 1) == is_scalar


def iterated(item: kapi.Item, x, out):
    i = item.get_id(0)
    total = x[i]
    for _ in range(200):
        total = total * total - x[i]
    out[i] = total


def once(item: kapi.Item, x, out):
    i = item.get_id(0)
    out[i] = x[i] * x[i] - x[i]


def test_iterations_that_wait_for_each_other_fill_two_registers():
    lanes = []
    for function in (once, iterated):
        cpu = Cpu()
        cpu.call(kapi.kernel(function), kapi.Range(50), np.ones(50, np.float32), np.zeros(50, np.float32))
        lanes += cpu.lanes
    assert lanes[1] == 2 * lanes[0]


def tiled(item: kapi.NdItem, x, out, tile):
    row, column = item.get_local_id(0), item.get_local_id(1)
    n = item.get_local_range(0)
    tile[row, column] = x[item.get_global_linear_id()]
    kapi.group_barrier(item.get_group())
    total = x.dtype.type(0)
    for k in range(n):
        total += tile[row, k] * tile[k, column]
    out[item.get_global_linear_id()] = total


@pytest.mark.parametrize(("width", "registers"), [(64, 2), (16, 1)])
def test_rows_of_work_groups_fill_vectors(width, registers):
    x = np.random.default_rng(width).integers(-3, 4, 3 * 4 * width).astype(np.float32)
    space, tile = kapi.NdRange((3 * 4, width), (4, width)), kapi.LocalAccessor((4, width), np.float32)
    results = []
    for world in (kapi, Cpu().kapi):
        results.append(np.zeros_like(x))
        world.call_kernel(kapi.kernel(tiled), space, x, results[-1], tile)
    np.testing.assert_array_equal(results[1], results[0])
    target = replace(host_target(), cpu="generic", features=AVX512)
    assert compile_kernel(tiled, signature_of(2, (x, x, tile), True), target=target).lanes == 16 * registers


def median(item: kapi.Item, x, out):
    i, n = item.get_id(0), x.shape[0]
    least, most = x[i], x[i]
    for k in range(1, 4):
        if i + k < n:
            least = min(least, x[i + k])
            most = max(most, x[i + k])
    out[i] = least ^ most


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_narrow_numbers_fill_registers(dtype):
    x, results = np.random.default_rng(0).integers(0, 99, 200).astype(dtype), []
    cpu = Cpu(replace(host_target(), cpu="generic", features=AVX2, has_fast_gathers=False))
    for world in (kapi, cpu.kapi, Cpu().kapi):
        results.append(np.zeros_like(x))
        world.call_kernel(kapi.kernel(median), kapi.Range(200), x, results[-1])
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])
    assert cpu.lanes[0] * x.itemsize >= 32
