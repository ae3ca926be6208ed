"""Loops whose next iterations read far away: with what an element decides, and the memory of later ones asked for."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, explain, host_target


def counted(item: kapi.NdItem, a, first, step, out, bins):
    k, width = item.get_local_id(0), item.get_local_range(0)
    for bin in range(k, 16, width):
        bins[bin] = 0
    kapi.group_barrier(item.get_group())
    for i in range(first + item.get_global_id(0), a.shape[0], step):
        kapi.AtomicRef(bins, a[i], address_space=kapi.AddressSpace.LOCAL).fetch_add(1)
    kapi.group_barrier(item.get_group())
    for bin in range(k, 16, width):
        kapi.AtomicRef(out, bin).fetch_add(bins[bin])


def counted_down(item: kapi.NdItem, a, first, step, out, bins):
    k, width = item.get_local_id(0), item.get_local_range(0)
    for bin in range(k, 16, width):
        bins[bin] = 0
    kapi.group_barrier(item.get_group())
    i = a.shape[0] - 1 - item.get_global_id(0)
    while i >= first:
        kapi.AtomicRef(bins, a[i], address_space=kapi.AddressSpace.LOCAL).fetch_add(1)
        i -= step
    kapi.group_barrier(item.get_group())
    for bin in range(k, 16, width):
        kapi.AtomicRef(out, bin).fetch_add(bins[bin])


def added(item: kapi.NdItem, a, first, step, out, bins):
    total = 0
    for i in range(first + item.get_global_id(0), a.shape[0], step):
        total += a[i]
    kapi.AtomicRef(out, item.get_global_id(0) % 16).fetch_add(total)


def next_to_each_other(item: kapi.NdItem, a, first, step, out, bins):
    k = item.get_local_id(0)
    for i in range(first + k, a.shape[0]):
        kapi.AtomicRef(out, a[i]).fetch_add(1)


def by_the_range(item: kapi.NdItem, a, first, step, out, bins):
    i, total = first + item.get_global_id(0), 0
    while i < a.shape[0]:
        total += a[i]
        i += item.get_global_range(0)
    kapi.AtomicRef(out, item.get_global_id(0) % 16).fetch_add(total)


KERNELS = (counted, counted_down, added, by_the_range, next_to_each_other)


def arguments(dtype):
    a = np.random.default_rng(1).integers(0, 16, 3000).astype(dtype)
    return [a, 7, 128, np.zeros(16, np.int64), kapi.LocalAccessor(16, np.int32)]


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_far_elements_are_those_of_numpy(dtype, shape):
    a, first, *_ = given = arguments(dtype)
    starts = np.arange(128)
    wanted = {
        counted: np.bincount(a[first:], minlength=16),
        counted_down: np.bincount(a[first:], minlength=16),
        added: sum(a[first + start :: 128].sum(dtype=np.int64) * (starts[:16] == start % 16) for start in starts),
        by_the_range: sum(
            a[first + start :: 128].sum(dtype=np.int64) * (starts[:16] == start % 16) for start in starts
        ),
        next_to_each_other: 2 * sum(np.bincount(a[first + start :], minlength=16) for start in range(64)),
    }
    cpu = Cpu(replace(host_target(), **SHAPES[shape]))
    for function in KERNELS if dtype is np.uint32 else [counted]:
        given[3] = np.zeros(16, np.int64)
        cpu.call(kapi.kernel(function), kapi.NdRange(128, 64), *given)
        np.testing.assert_array_equal(given[3], wanted[function])


def test_loops_with_far_steps_ask_for_memory_ahead():
    signature = signature_of(1, arguments(np.uint32), True)
    found = [
        any(each.kind == "far" for each in explain(compile_kernel(function, signature)).decisions)
        for function in KERNELS
    ]
    assert found == [True, True, True, True, False]
