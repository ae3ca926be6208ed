"""Loops that work-items share in steps of their number: they are written anew, and must do what they did."""

from __future__ import annotations

import itertools
import os

import dpnp
import numpy as np
import pytest
from loop_kernels import GROUP, GroupedItem, Shared, compiled, in_plain_python

import kapi_runtime as kapi

BLOCKS, BLOCK = 120, 10
WIDTH = 16


@kapi.kernel
def add_up(item: kapi.NdItem, x, first, end, sums, steps, last):
    i = item.get_global_id(0)
    total = 0.0
    count = 0
    kept = -1
    for k in range(first + i, end, item.get_global_range(0)):
        total = total * 0.5 + x[k % x.shape[0]]
        kept = k
        count += 1
    sums[i] = total
    steps[i] = count
    last[i] = kept


@kapi.kernel
def add_up_in_groups(item: kapi.NdItem, x, first, end, sums, steps, last):
    i, lane = item.get_global_id(0), item.get_local_id(0)
    start = first + item.get_group().get_group_id(0) * 5
    total = 0.0
    count = 0
    kept = -1
    for k in range(start + lane, end, item.get_local_range(0)):
        if k % 3 == 1:
            total = total * 0.5 + x[k % x.shape[0]]
        else:
            total -= 1.0
        kept = k
        count += 1
    sums[i] = total
    steps[i] = count
    last[i] = kept


def expected(kernel, x, first, end, items):
    sums, steps, last = np.zeros(items), np.zeros(items, np.int64), np.full(items, -1)
    for i in range(items):
        grouped = kernel is add_up_in_groups
        start = first + (i // WIDTH * 5 + i % WIDTH if grouped else i)
        for k in range(start, end, WIDTH if grouped else items):
            if not grouped or k % 3 == 1:
                sums[i] = sums[i] * 0.5 + x[k % x.size]
            else:
                sums[i] -= 1.0
            last[i] = k
            steps[i] += 1
    return sums, steps, last


def launched(kernel, x, first, end, items):
    got = [dpnp.zeros(items), dpnp.zeros(items, dtype="int64"), dpnp.zeros(items, dtype="int64")]
    kapi.call_kernel(kernel, kapi.NdRange(items, WIDTH), dpnp.asarray(x), first, end, *got)
    return got


@pytest.mark.parametrize("kernel", [add_up, add_up_in_groups])
def test_each_work_item_has_its_own_iterations(kernel):
    """Ends around each multiple of the step, none, negative ones, and the end of what 64 bits hold."""
    x, items = np.random.default_rng(0).random(100), 3 * WIDTH
    ends = [-(2**63), -1, 0, 1, 5, 15, 16, 17, 31, 32, 33, 47, 48, 49, 95, 96, 97, 100, 1000]
    cases = [(0, end) for end in ends] + [(7, 50), (-20, 30), (-(2**63), -(2**63) + 70), (2**63 - 200, 2**63 - 1)]
    for first, end in cases:
        got = launched(kernel, x, first, end, items)
        for one, right in zip(got, expected(kernel, x, first, end, items), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), right, err_msg=f"range({first}, {end})")


def test_shared_loop_has_one_iteration_behind_a_condition():
    for kernel in (add_up, add_up_in_groups):
        launched(kernel, np.ones(4), 0, 4, WIDTH)
        (code,) = kernel.inspect_llvm().values()
        assert ".goes.on = icmp uge" in code
        assert ".is.lane = icmp ult" in code


def check(seed):
    written = Shared(seed)
    size = 96
    a, right = np.arange(size) % 4, np.zeros((6, size))
    function = compiled(written.source, f"shared_loops_{seed}.py", in_plain_python)
    with np.errstate(all="ignore"):
        for ids in itertools.product(*map(range, written.space.global_range)):
            function(GroupedItem(written.space, *ids), 64, 3, a, right, np.zeros(1, np.int64))
    out = dpnp.zeros((6, size))
    kernel = kapi.kernel(compiled(written.source, f"shared_loops_{seed}.py", kapi))
    kapi.call_kernel(kernel, written.space, 64, 3, dpnp.asarray(a), out, kapi.LocalAccessor(GROUP, np.int64))
    np.testing.assert_array_equal(out.asnumpy(), right, err_msg=f"{written.space}\n{written.source}")


@pytest.mark.parametrize("seed", range(15))
def test_random_shared_loops_agree(seed):
    check(seed)


@pytest.mark.nightly(one_in=BLOCKS, at_night=4)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_shared_loops_agree_at_length(block):
    """Others each night."""
    first = (int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + block) * BLOCK
    for seed in range(first, first + BLOCK):
        check(seed)
