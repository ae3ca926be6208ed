"""Random loops in loops in branches: the device against plain Python.

Intel's compiler for CPUs gives values of other iterations, or of other work-items:
`kapi_spirv.emission.workarounds.live_outs`, and `unswitching`.
"""

from __future__ import annotations

import itertools
import os
from math import prod

import dpnp
import numpy as np
import pytest
from loop_kernels import GROUP, Nested, WorkItem, compiled, in_plain_python

import kapi_runtime as kapi

BLOCKS, BLOCK = 200, 10


def results(source, space, name="nested_loops.py"):
    """Results of plain Python, and of the device."""
    extents = tuple(space.global_range if isinstance(space, kapi.NdRange) else space)
    size = max(96, prod(extents))
    a = np.arange(size) % 4
    expected = np.zeros((6, size))
    function = compiled(source, name, in_plain_python)
    has_groups = isinstance(space, kapi.NdRange)
    with np.errstate(all="ignore"):
        for ids in itertools.product(*map(range, extents)):
            local = (np.zeros(1, np.int64),) if has_groups else ()
            function(WorkItem(*ids), 64, 3, a, expected, *local)
    out = dpnp.zeros((6, size))
    local = (kapi.LocalAccessor(GROUP, np.int64),) if has_groups else ()
    function = kapi.kernel(compiled(source, name, kapi))
    kapi.call_kernel(function, space, 64, 3, dpnp.asarray(a), out, *local)
    return out.asnumpy(), expected


def check(seed):
    written = Nested(seed)
    got, expected = results(written.source, written.space, f"nested_loops_{seed}.py")
    np.testing.assert_array_equal(got, expected, err_msg=f"{written.space}\n{written.source}")


@pytest.mark.parametrize("seed", range(15))
def test_random_nested_loops_agree(seed):
    check(seed)


@pytest.mark.nightly(one_in=BLOCKS, at_night=5)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_nested_loops_agree_at_length(block):
    """Others each night."""
    first = (int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + block) * BLOCK
    for seed in range(first, first + BLOCK):
        check(seed)


START = "def kernel(item, n, x, a, out):\n    i = item.get_id(0)\n    v = 0.0\n    w = 1.0\n    t = 2.0\n"
BEHIND = {
    "a loop of each work-item's length": """
    for k in range(x):
        t = w
        w -= 1.0
    for k in range(a[i]):
        v += 1.0
    out[0, i] = v
    out[1, i] = w + t
""",
    "loops in a loop that some come to": """
    for j in range(x):
        k = i % 2
        while k < 3 and a[i] > 0:
            k += 1
            for m in range(x):
                t = v
                v += 1.0
    out[1, i] = w + t
""",
    "an exit in the midst": """
    k = 0
    while True:
        t = v
        k += n
        if k > 200:
            break
        v += w
    if i % 3 == 1:
        while k < 600:
            k += n
            w = t
    out[0, i] = t
    out[1, i] = w
    out[2, i] = k
""",
    "a view of the turn before": """
    row = out[1]
    before = out[2]
    for k in range(x):
        before = row
        row = out[k]
    for k in range(a[i]):
        v += 1.0
    before[i] = v
    row[i] = w
""",
    "values that change places": """
    u = 1
    m = 2
    k = i % 2
    while k < x and i == 63:
        k += 1
        u, m = m, u
        if x <= 1:
            u += a[i]
            out[3, i] += 1.0
    out[2, i] = u + m
""",
}


@pytest.mark.parametrize("body", BEHIND.values(), ids=BEHIND)
def test_value_of_the_iteration_before_is_the_same_behind_its_loop(body):
    got, expected = results(START + body, kapi.Range(64))
    np.testing.assert_array_equal(got, expected)
