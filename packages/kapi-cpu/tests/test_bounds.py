"""Bounds along a row of work-items: wherever the answer turns, work-groups give what the simulator gives."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import Cpu, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, host_target
from kapi_cpu.emission.launch_record import ALIGNMENT

LOCAL, GROUPS = 70, 3
LIMITS = (-(2**63), -1, 0, 1, 3, 4, 5, 8, 31, 32, 33, 63, 64, 65, 69, 70, 71, 2**32, 2**63 - 1)


def below(item: kapi.NdItem, a, out, tile, limits):
    k, group = item.get_local_id(0), item.get_group()
    tile[k] = a[item.get_global_id(0)]
    for number in range(limits.shape[0]):
        kapi.group_barrier(group)
        x = tile[k]
        if k < limits[number]:
            x += tile[69 - k]
        kapi.group_barrier(group)
        tile[k] = x
    out[item.get_global_id(0)] = tile[k]


def not_above(item: kapi.NdItem, a, out, tile, limits):
    k, group = item.get_local_id(0), item.get_group()
    for number in range(limits.shape[0]):
        if limits[number] >= k:
            tile[k] = a[item.get_global_id(0)] + number
        else:
            tile[k] = -number
        kapi.group_barrier(group)
        out[item.get_global_id(0)] += tile[69 - k] * (number + 1)
        kapi.group_barrier(group)


def from_there(item: kapi.NdItem, a, out, tile, limits):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    kapi.group_barrier(group)
    for number in range(limits.shape[0]):
        limit = limits[(number + group.get_group_id(0)) % limits.shape[0]]
        if i >= limit:
            out[i] += tile[69 - k]
        kapi.group_barrier(group)
        tile[k] = out[i]
        kapi.group_barrier(group)


def above_a_sum(item: kapi.NdItem, a, out, tile, limits):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    for number in range(limits.shape[0]):
        x = 2
        if k + number > limits[number]:
            x = a[i]
            if k > 40:
                x += 7
        tile[k] = x
        kapi.group_barrier(group)
        for step in range(3):
            if k < step * 20 + number:
                out[i] += tile[(k + step) % 70]
        kapi.group_barrier(group)


def unsigned(item: kapi.NdItem, a, out, tile, limits):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    for number in range(limits.shape[0]):
        tile[k] = a[i]
        kapi.group_barrier(group)
        if np.uint64(k) < np.uint64(limits[number]):
            out[i] += tile[69 - k] * (number + 1)
        if np.uint64(k) >= np.uint64(number * 5):
            out[i] -= number
        kapi.group_barrier(group)


def sometimes(item: kapi.NdItem, a, out, tile, limits):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    for number in range(limits.shape[0]):
        tile[k] = a[i] + number
        kapi.group_barrier(group)
        if number % 3:
            if k < limits[number]:
                out[i] += tile[69 - k]
        else:
            out[i] -= tile[k]
        kapi.group_barrier(group)


def twice_used(item: kapi.NdItem, a, out, tile, limits):
    """Answers that are numbers too, so that LLVM turns no comparison round."""
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    for number in range(limits.shape[0]):
        tile[k] = a[i] + number
        kapi.group_barrier(group)
        is_in = k <= limits[number]
        if is_in:
            out[i] += tile[69 - k]
        out[i] = out[i] * 3 + is_in
        kapi.group_barrier(group)
        tile[k] = a[i] - number
        kapi.group_barrier(group)
        is_in = k >= limits[number]
        if is_in:
            out[i] += tile[69 - k]
        out[i] = out[i] * 3 + is_in
        kapi.group_barrier(group)
        tile[k] = number
        kapi.group_barrier(group)
        is_in = np.uint64(k) >= np.uint64(number * 5)
        if is_in:
            out[i] -= tile[69 - k]
        out[i] = out[i] * 3 + is_in
        kapi.group_barrier(group)


KERNELS = (below, not_above, from_there, above_a_sum, unsigned, sometimes, twice_used)


@pytest.mark.parametrize("lanes", [0, 4, 32])
@pytest.mark.parametrize("function", KERNELS)
def test_work_items_keep_to_their_side_of_a_bound(function, lanes):
    a, limits = np.random.default_rng(5).integers(-9, 99, LOCAL * GROUPS), np.array(LIMITS)
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=lanes)).kapi):
        results.append(np.zeros_like(a))
        tile = kapi.LocalAccessor(LOCAL, np.int64)
        with np.errstate(over="ignore"):
            world.call_kernel(kapi.kernel(function), kapi.NdRange(LOCAL * GROUPS, LOCAL), a, results[-1], tile, limits)
    np.testing.assert_array_equal(results[1], results[0])


def scan(item: kapi.NdItem, x, sums, tile):
    k, n, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    now, distance = 0, 1
    tile[0, k] = x[item.get_global_id(0)]
    kapi.group_barrier(group)
    while distance < n:
        total = tile[now, k]
        if k >= distance:
            total += tile[now, k - distance]
        now = 1 - now
        tile[now, k] = total
        kapi.group_barrier(group)
        distance *= 2
    if k == n - 1:
        sums[group.get_group_id(0)] = tile[now, k]


def test_masks_and_values_of_no_use_are_not_kept_at_barriers():
    arguments = (np.zeros(64, np.float32), np.zeros(2, np.float32), kapi.LocalAccessor((2, 32), np.float32))
    module = compile_kernel(scan, signature_of(1, arguments, has_groups=True), target=replace(host_target(), lanes=32))
    assert module.context_bytes == ALIGNMENT


def inside(item: kapi.Item, a, out, low, high):
    i, k = item.get_id(0), item.get_id(1)
    if low <= k and k < high and i != 3 and k != high - 4:
        out[i, k] = a[i, k] * 2 + a[i, 69 - k]


def outside(item: kapi.Item, a, out, low, high):
    i, k = item.get_id(0), item.get_id(1)
    if k < low or high <= k or i == 2:
        out[i, k] = -a[i, k]
    else:
        out[i, k] = a[i, k] + 1
        if i > 0 and (k == low or k > high - 3):
            out[i, k] += a[i - 1, k]


def with_varying_conditions(item: kapi.Item, a, out, low, high):
    i, k = item.get_id(0), item.get_id(1)
    if low < k and a[i, k] > 20 and k < high:
        out[i, k] = a[i, k]
    if k + 7 < high or (i == 1 and k > low):
        out[i, k] += 3


@pytest.mark.parametrize("lanes", [0, 4, 32])
@pytest.mark.parametrize("function", [inside, outside, with_varying_conditions])
def test_several_bounds_hold_for_the_same_work_items(function, lanes):
    a, cpu = np.random.default_rng(5).integers(-9, 99, (5, LOCAL)), Cpu(replace(host_target(), lanes=lanes)).kapi
    for low in (-(2**63), -1, 0, 1, 5, 16, 31, 32, 69, 70, 2**63 - 1):
        for high in (-(2**62), 0, 1, 4, 17, 32, 64, 69, 70, 71, 2**63 - 1):
            results = []
            for world in (kapi, cpu):
                results.append(np.zeros_like(a))
                with np.errstate(over="ignore"):
                    world.call_kernel(kapi.kernel(function), kapi.Range(5, LOCAL), a, results[-1], low, high)
            np.testing.assert_array_equal(results[1], results[0], f"{low} {high}")
