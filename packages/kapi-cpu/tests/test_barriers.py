"""Barriers by fission: wherever they stand, work-groups give what the simulator gives."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target

GROUPS = ((64, 16), (21, 7), (6, 3), (40, 40))


def in_a_loop(item: kapi.NdItem, a, out, tile):
    i, k, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[k] = a[i]
    kapi.group_barrier(item.get_group())
    total = 0
    for step in range(n):
        total = total * 3 + tile[(k + step) % n]
        kapi.group_barrier(item.get_group())
        if k == step:
            tile[k] += total
        kapi.group_barrier(item.get_group())
    out[i] = total


@kapi.device_func
def turned(group, tile, k, n, x):
    tile[k] = x
    kapi.group_barrier(group)
    found = tile[(k + 1) % n]
    kapi.group_barrier(group)
    return found


def in_a_function(item: kapi.NdItem, a, out, tile):
    i, k, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    x = a[i]
    for _ in range(3):
        x = 2 * turned(item.get_group(), tile, k, n, x) + x
    out[i] = x


def in_a_branch(item: kapi.NdItem, a, out, tile):
    i, k, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    tile[k] = a[i]
    if a[0] > 50:
        kapi.group_barrier(item.get_group())
        out[i] = tile[n - 1 - k]
    else:
        if k % 2:
            tile[k] -= 1
        kapi.group_barrier(item.get_group())
        out[i] = -tile[(k + 2) % n]


def group_algorithms(item: kapi.NdItem, a, out, tile):
    group = item.get_group()
    i, k = item.get_global_id(0), item.get_local_id(0)
    tile[k] = a[i]
    for step in range(3):
        total = kapi.reduce_over_group(group, a[i] * (step + 1), kapi.plus)
        before = kapi.exclusive_scan_over_group(group, a[i], kapi.maximum)
        first = kapi.group_broadcast(group, a[i], step)
        out[i] += total + 7 * before + 11 * first
        if kapi.any_of_group(group, a[i] == 1):
            out[i] += 1


def private_memory(item: kapi.NdItem, a, out, tile):
    i, k, n = item.get_global_id(0), item.get_local_id(0), item.get_local_range(0)
    kept = kapi.PrivateArray(4, np.int64)
    for j in range(4):
        kept[j] = a[i] + j
    tile[k] = kept[a[i] % 4]
    kapi.group_barrier(item.get_group())
    kept[k % 4] = tile[(k + 1) % n]
    kapi.group_barrier(item.get_group())
    for j in range(4):
        out[i] = out[i] * 5 + kept[j]


def scans_of_two_widths(item: kapi.NdItem, a, out, tile):
    group, i = item.get_group(), item.get_global_id(0)
    for _ in range(2):
        out[i] += kapi.exclusive_scan_over_group(group, np.int32(a[i]), kapi.plus)
        out[i] = out[i] * 3 + kapi.inclusive_scan_over_group(group, a[i], kapi.maximum)


KERNELS = (in_a_loop, in_a_function, in_a_branch, group_algorithms, private_memory, scans_of_two_widths)


def result(call, function, size, local):
    a, out = np.random.default_rng(size).integers(0, 100, size), np.full(size, 5)
    call(kapi.kernel(function), kapi.NdRange((size,), (local,)), a, out, kapi.LocalAccessor(local, np.int64))
    return out


@cache
def simulated(function, size, local):
    return result(kapi.call_kernel, function, size, local)


@pytest.mark.parametrize("lanes", [0, 1, 4])
@pytest.mark.parametrize("function", KERNELS)
def test_barriers_hold_wherever_they_stand(function, lanes):
    cpu = Cpu(replace(host_target(), lanes=lanes))
    for size, local in GROUPS:
        found = result(cpu.call, function, size, local)
        np.testing.assert_array_equal(found, simulated(function, size, local), f"{size} in groups of {local}")


@pytest.mark.parametrize(
    ("size", "local"), [((8, 6), (4, 3)), ((4, 4), (4, 2)), ((64, 1), (16, 1)), ((4, 2, 6), (2, 1, 6))]
)
def test_sub_groups_follow_the_linear_id(size, local):
    @kapi.kernel(sub_group_size=8)
    def kernel(item: kapi.NdItem, out):
        sub, i = item.get_sub_group(), item.get_global_linear_id()
        out[i, 0] = item.get_local_linear_id() * 100 + item.get_global_id(item.dimensions - 1)
        out[i, 1] = sub.get_local_id() * 100 + sub.get_group_id()
        out[i, 2] = kapi.reduce_over_group(sub, i, kapi.plus)
        out[i, 3] = kapi.inclusive_scan_over_group(sub, i, kapi.plus)

    given = [np.zeros((int(np.prod(size)), 4), np.int64) for _ in range(2)]
    kapi.call_kernel(kernel, kapi.NdRange(size, local), given[0])
    Cpu().call(kernel, kapi.NdRange(size, local), given[1])
    np.testing.assert_array_equal(given[1], given[0])


def over_rows(item: kapi.NdItem, a, out, tile):
    i = item.get_global_linear_id()
    k, n = item.get_local_linear_id(), tile.shape[0]
    group = item.get_group()
    total = a[i] * (item.get_local_id(0) + 1)
    for step in range(1, 4):
        tile[k] = total
        kapi.group_barrier(group)
        total += tile[(k * 7 + step) % n] - tile[n - 1 - k]
        kapi.group_barrier(group)
    out[i] = total


@pytest.mark.parametrize("lanes", [0, 1, 4])
@pytest.mark.parametrize("local", [(3, 20), (5, 33), (4, 16), (2, 3, 17), (2, 2, 3), (7, 1)])
def test_rows_of_a_group_keep_their_own_values(local, lanes):
    size = (2 * local[0], *local[1:])
    a = np.random.default_rng(0).integers(-99, 99, int(np.prod(size)))
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=lanes)).kapi):
        results.append(np.zeros_like(a))
        tile = kapi.LocalAccessor(int(np.prod(local)), np.int64)
        world.call_kernel(kapi.kernel(over_rows), kapi.NdRange(size, local), a, results[-1], tile)
    np.testing.assert_array_equal(results[1], results[0])


def scans(item: kapi.NdItem, a, out, tile):
    i, group = item.get_global_linear_id(), item.get_group()
    x = a[i]
    first = kapi.exclusive_scan_over_group(group, x, kapi.minimum)
    second = kapi.inclusive_scan_over_group(group, np.int16(x) * np.int16(2), kapi.maximum)
    third = kapi.exclusive_scan_over_group(group, np.int32(x), kapi.plus)
    fourth = kapi.inclusive_scan_over_group(group, np.float64(x), kapi.maximum)
    out[i] = (min(first, 1000) * 7 + second) * 5 + third + np.int64(fourth) * 3


@pytest.mark.parametrize("lanes", [0, 1, 4])
@pytest.mark.parametrize("local", [(3, 5), (3, 20), (5, 33), (4, 16), (2, 3, 17), (35,)])
def test_scans_of_several_widths_have_their_own_values(local, lanes):
    """The ends of rows are done after all of the vectors, whose values may be wider or narrower."""
    size = (2 * local[0], *local[1:])
    a = np.random.default_rng(0).integers(-99, 99, int(np.prod(size)))
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=lanes)).kapi):
        results.append(np.zeros_like(a))
        world.call_kernel(kapi.kernel(scans), kapi.NdRange(size, local), a, results[-1], 0)
    np.testing.assert_array_equal(results[1], results[0])
