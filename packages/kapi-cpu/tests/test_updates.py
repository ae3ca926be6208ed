"""Atomic updates of several lanes: of one element, of elements of their own, with and without what was there."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target

GROUP, GROUPS = 31, 3


def updated(item: kapi.NdItem, a, totals, out, cells):
    i, k = item.get_global_id(0), item.get_local_id(0)
    if k < 8:
        cells[k] = a.dtype.type(k)
    kapi.group_barrier(item.get_group())
    value = a[i]
    if value > -15:
        kapi.AtomicRef(cells, 0, address_space=kapi.AddressSpace.LOCAL).fetch_add(value)
        kapi.AtomicRef(cells, 1, address_space=kapi.AddressSpace.LOCAL).fetch_sub(value)
        kapi.AtomicRef(cells, 2, address_space=kapi.AddressSpace.LOCAL).fetch_max(value)
        kapi.AtomicRef(cells, 3, address_space=kapi.AddressSpace.LOCAL).fetch_min(value)
        kapi.AtomicRef(cells, 4 + k % 4, address_space=kapi.AddressSpace.LOCAL).fetch_add(value)
        kapi.AtomicRef(totals, 0).fetch_add(value)
        kapi.AtomicRef(totals, 1).fetch_sub(value)
        kapi.AtomicRef(totals, 2).fetch_max(value)
        kapi.AtomicRef(totals, 3).fetch_min(value)
        kapi.AtomicRef(totals, 4 + k % 4).fetch_add(value)
        kapi.AtomicRef(totals, int(value > 20)).fetch_add(value)
    kapi.AtomicRef(cells, int(k > 17), address_space=kapi.AddressSpace.LOCAL).fetch_add(value)
    kapi.group_barrier(item.get_group())
    out[i] = cells[k % 8]


def of_bits(item: kapi.NdItem, a, totals, out, cells):
    i = item.get_global_id(0)
    for j in range(a[i] % 3):
        kapi.AtomicRef(totals, j).fetch_or(a[i])
        kapi.AtomicRef(totals, 2).fetch_xor(a[i])
        kapi.AtomicRef(totals, 3 + j).fetch_and(a[i])


def results(call, function, dtype):
    a = np.random.default_rng(3).integers(-30, 70, GROUP * GROUPS)
    a = (abs(a) if np.dtype(dtype).kind == "u" else a).astype(dtype)
    totals, out = np.full(8, 77, dtype), np.zeros_like(a)
    space, tile = kapi.NdRange(GROUP * GROUPS, GROUP), kapi.LocalAccessor(8, dtype)
    call(kapi.kernel(function), space, a, totals, out, tile)
    return totals, out


@cache
def simulated(function, dtype):
    return results(kapi.call_kernel, function, dtype)


@pytest.mark.parametrize("lanes", [0, 1, 4, 32])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.float32, np.float64])
def test_updates_are_those_of_the_simulator(dtype, lanes):
    cpu = Cpu(replace(host_target(), lanes=lanes))
    for function in (updated,) if np.dtype(dtype).kind == "f" else (updated, of_bits):
        found = results(cpu.call, function, dtype)
        for each, wanted in zip(found, simulated(function, dtype), strict=True):
            np.testing.assert_array_equal(each, wanted)


def draw(item: kapi.NdItem, a, totals, out, cells):
    i = item.get_global_id(0)
    if item.get_local_id(0) == 0:
        cells[0] = 0
    kapi.group_barrier(item.get_group())
    if a[i] > 0:
        out[i] = kapi.AtomicRef(cells, 0, address_space=kapi.AddressSpace.LOCAL).fetch_add(1)
        totals[i] = kapi.AtomicRef(cells, 0, address_space=kapi.AddressSpace.LOCAL).exchange(out[i] + 1)


@pytest.mark.parametrize("lanes", [0, 4])
def test_each_work_item_reads_what_was_there(lanes):
    a = np.random.default_rng(4).integers(-1, 3, GROUP * GROUPS).astype(np.int32)
    out, before = np.full_like(a, -1), np.full_like(a, -1)
    tile = kapi.LocalAccessor(1, np.int32)
    cpu = Cpu(replace(host_target(), lanes=lanes))
    cpu.call(kapi.kernel(draw), kapi.NdRange(GROUP * GROUPS, GROUP), a, before, out, tile)
    for group in range(GROUPS):
        part = slice(group * GROUP, (group + 1) * GROUP)
        drawn = out[part][a[part] > 0]
        assert (out[part][a[part] <= 0] == -1).all()
        assert len(set(before[part][a[part] > 0])) > 1
        assert (np.diff(np.sort(drawn)) >= 0).all()
        assert drawn.min() == 0
