"""Rows whose first vector ends where a line of the cache begins."""

import re
from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, host_target


def plus_one(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] += 1


def differences(item: kapi.Item, a, out):
    i, j = item.get_id(0), item.get_id(1)
    if 0 < j < a.shape[1] - 1:
        out[i, j] = a[i, j + 1] - a[i, j - 1]


def columns(item: kapi.Item, a, out):
    j = item.get_id(0)
    total = a[0, j] * 0
    for k in range(a.shape[0]):
        total += a[k, j]
    out[j] = total


def counted(item: kapi.Item, a, out):
    kapi.AtomicRef(out, a[item.get_id(0)] % 4).fetch_add(1)


def picked(item: kapi.Item, a, order, out):
    out[order[item.get_id(0)]] = a[order[item.get_id(0)] + 1]


def behind_a_line(array, nbytes):
    """The elements of an array so many bytes behind the start of a line, between others that nothing may change."""
    memory = np.full(array.nbytes + 256, 0x5A, np.uint8)
    start = -memory.ctypes.data % 64 + nbytes
    found = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[:] = array
    return memory, start, found


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("nbytes", [0, 8, 16, 40, 56])
def test_each_work_item_of_a_row_runs_once_wherever_memory_begins(nbytes, dtype, shape):
    cpu = Cpu(replace(host_target(), **SHAPES[shape]))
    for size in (1, 3, 511, 1023, 1024, 1025, 1027, 1030, 2100):
        a = np.random.default_rng(size).integers(0, 90, size).astype(dtype)
        memory, start, given = behind_a_line(a, nbytes)
        before = memory.copy()
        cpu.call(kapi.kernel(plus_one), kapi.Range(size), given)
        np.testing.assert_array_equal(given, a + 1)
        outside = np.r_[0:start, start + a.nbytes : memory.size]
        np.testing.assert_array_equal(memory[outside], before[outside])


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("extents", [(3, 1030), (2, 1000), (5, 700)])
def test_each_row_begins_elsewhere_in_a_line(extents, shape):
    a = np.random.default_rng(1).integers(0, 90, extents).astype(np.float32)
    _, _, given = behind_a_line(a, 16)
    out = np.zeros_like(a)
    Cpu(replace(host_target(), **SHAPES[shape])).call(kapi.kernel(differences), kapi.Range(*extents), given, out)
    np.testing.assert_array_equal(out[:, 1:-1], a[:, 2:] - a[:, :-2])
    assert not out[:, [0, -1]].any()


@pytest.mark.parametrize("shape", shapes())
def test_a_row_is_aligned_to_what_its_loop_reads(shape):
    a = np.random.default_rng(2).integers(0, 90, (7, 1500)).astype(np.float32)
    _, _, given = behind_a_line(a, 20)
    out = np.zeros(1500, np.float32)
    Cpu(replace(host_target(), **SHAPES[shape])).call(kapi.kernel(columns), kapi.Range(1500), given, out)
    np.testing.assert_array_equal(out, a.sum(axis=0))


@pytest.mark.parametrize(
    ("kernel", "arguments", "ndim", "is_aligned"),
    [
        (plus_one, (np.zeros(4),), 1, True),
        (differences, (np.zeros((4, 4)),) * 2, 2, True),
        (columns, (np.zeros((4, 4)), np.zeros(4)), 1, True),
        (counted, (np.zeros(4, int), np.zeros(4, int)), 1, False),  # in the order of vectors
        (picked, (np.zeros(5), np.zeros(4, int), np.zeros(4)), 1, True),  # by the indices that are read
    ],
)
def test_what_is_aligned_is_in_the_code(kernel, arguments, ndim, is_aligned):
    types = signature_of(ndim, arguments)
    text = compile_kernel(kernel, types, target=replace(host_target(), lanes=4)).optimized_llvm_ir
    assert bool(re.search(r"define internal i64 @\S+\.ahead\(", text)) == is_aligned


def computed(item: kapi.Item, a):
    i = item.get_id(0)
    x = a[i]
    for _ in range(50):
        x = x * x - x / 3
    a[i] = x


def test_rows_are_longer_where_vectors_take_longer():
    def least(kernel, *arguments):
        text = compile_kernel(kernel, signature_of(1, arguments), target=host_target()).optimized_llvm_ir
        return int(re.search(r"icmp uge i64 %local_size\.0, (\d+)", text)[1])

    assert 16 * 4 <= least(plus_one, np.zeros(4)) < least(computed, np.zeros(4))
