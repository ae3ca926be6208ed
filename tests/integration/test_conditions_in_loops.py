"""Each kind of loop, growing value, condition and consequence: the device against plain Python.

Intel's compiler for CPUs takes conditions out of loops, wrongly: `kapi_spirv.emission.workarounds.unswitching`.
"""

from __future__ import annotations

import itertools

import dpnp
import numpy as np
import pytest
from loop_kernels import WorkItem, compiled

import kapi_runtime as kapi

LOOPS = {
    "range": "for k in range(x):",
    "by two": "for k in range(0, x * 2, 2):",
    "down": "for k in range(x, 0, -1):",
    "by an argument": "for k in range(0, x * n, n):",
    "while": "k = 0\n    while k < x:\n        k += 1",
    "while by an argument": "k = 0\n    while k < x * n:\n        k += n",
    "doubling": "k = 1\n    while k < 64:\n        k *= 2",
}
GROWING = ["w -= 2.0", "w = w * 0.5 + 1.0", "u = u * 3 + 1", "u = u ^ (u << 3)", "u += 1", "pass"]
CONDITIONS = [
    "i % 3 == 1",
    "a[i] > 0",
    "a[0] > 0",
    "i < n // 2",
    "(i % 3 == 1) and (k > 1)",
    "(k > 1) or (i % 3 == 1)",
    "not (i % 2 == 0 and a[i] > 0)",
    "(i % 2 == 0) != (k > 1)",
    "i % 5 == k",
]
CONSEQUENCES = ["v += 4.0", "v += w", "v += u", "v = w", "continue", "break", "out[2, i] += 1.0"]
OTHERWISE = [
    "",
    "        else:\n            v -= 1.0\n",
    "        elif i % 3 == 2:\n            v += 16.0\n        elif i % 3 == 0:\n            v -= 32.0\n",
]
SPACES = [kapi.Range(96), kapi.NdRange(96, 32)]
ALL = list(itertools.product(LOOPS, GROWING, CONDITIONS, CONSEQUENCES, OTHERWISE, SPACES))
BLOCKS = 720


def written(number):
    """The kernel of a number, its source, and its index space."""
    loop, growing, condition, consequence, otherwise, space = ALL[number]
    query = "get_id" if isinstance(space, kapi.Range) else "get_global_id"
    source = (
        "def kernel(item, n, x, a, out):\n"
        f"    i = item.{query}(0)\n"
        "    v = 0.0\n    w = 1.0\n    u = 1\n"
        f"    {LOOPS[loop]}\n"
        f"        {growing}\n"
        f"        if {condition}:\n            {consequence}\n{otherwise}"
        "        v += 0.25\n"
        "    out[0, i] = v\n    out[1, i] = w + u\n"
    )
    return compiled(source, f"conditions_in_loops_{number}.py"), source, space


def check(number):
    function, source, space = written(number)
    a = np.arange(96) % 4
    expected = np.zeros((3, 96))
    for each in range(96):
        function(WorkItem(each), 4, 5, a, expected)
    out = dpnp.zeros((3, 96))
    kapi.call_kernel(kapi.kernel(function), space, 4, 5, dpnp.asarray(a), out)
    np.testing.assert_array_equal(out.asnumpy(), expected, err_msg=source)


@pytest.mark.nightly(one_in=BLOCKS, at_night=30)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_conditions_in_loops_are_each_work_items_own(block):
    for number in range(block, len(ALL), BLOCKS):
        check(number)
