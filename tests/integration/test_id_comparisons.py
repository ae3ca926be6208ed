"""Conditions of ids at the beginning of a kernel: the device against plain Python.

Intel's compiler for CPUs makes bounds of its loop over work-items from them:
`kapi_spirv.emission.workarounds.id_comparisons`.
"""

from __future__ import annotations

import itertools
import os
from zlib import crc32

import dpnp
import numpy as np
import pytest
from loop_kernels import compiled

import kapi_runtime as kapi

EXPRESSIONS = [
    *("{}", "n - {}", "{} - n", "{} + n", "5 - {}", "{} + 5", "{} - 5", "-{}", "~{}", "n - 2 * {}", "3 * {} - n"),
    *("{} >> 1", "{} // 2", "{} % 4", "{} & 7", "{} | 7", "{} ^ n", "n - {} - 2", "min({}, n)", "abs({} - n)"),
]
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")
OTHERS = ("n", "m", "-n", "0", "1", "3", "-1", "a.shape[0] - 70", "a[1]")
NUMBERS = [(10, 4), (40, 30), (-3, 2), (-3, -7), (100, 90), (0, 0), (2**40, -(2**40)), (2**62, 20)]
SPACES = {
    "range": (kapi.Range(20), "Item", {"i": "item.get_id(0)"}),
    "ragged": (kapi.Range(5, 33), "Item", {"i": "item.get_id(1)", "j": "item.get_id(0)"}),
    "cube": (kapi.Range(2, 3, 8), "Item", {"i": "item.get_id(0)", "j": "item.get_id(1)"}),
    "groups": (kapi.NdRange(64, 16), "NdItem", {"i": "item.get_local_id(0)", "j": "item.get_global_id(0)"}),
    "group": (kapi.NdRange(64, 16), "NdItem", {"i": "item.get_group().get_group_id(0)"}),
    "barrier": (kapi.NdRange(60, 12), "NdItem", {"i": "item.get_local_id(0)", "j": "item.get_global_id(0)"}),
    "line": (kapi.NdRange(64, 32), "NdItem", {"i": "item.get_local_id(0)"}),
    "tile": (kapi.NdRange((4, 24), (2, 12)), "NdItem", {"i": "item.get_local_id(1)", "j": "item.get_local_id(0)"}),
    "plane": (kapi.NdRange((4, 32), (2, 16)), "NdItem", {"i": "item.get_local_id(1)", "j": "item.get_global_id(0)"}),
}
BEFORE = 64  # elements before and after those of the work-items, which none may write
# Each work-item adds to its element: one that runs twice is seen.

SUMS = "    total = kapi.reduce_over_group(item.get_group(), a[{index}], kapi.plus)\n    a[{index}] += total - total"
SOURCE = """
def kernel(item: {kind}, n, m, a, seen):
{ids}
{first}
    index = {index}
    if {condition}:
        seen[index] += 7
"""


def values_of_ids(space, names):
    """The ids of each work-item, by name, and its index."""
    is_grouped = isinstance(space, kapi.NdRange)
    extents = tuple(space.global_range if is_grouped else space)
    for index, ids in enumerate(itertools.product(*map(range, extents))):
        found = {}
        for name, code in names.items():
            axis = int(code[-2])
            local = space.local_range[axis] if is_grouped else 1
            value = ids[axis]
            found[name] = value % local if "local" in code else value // local if "group_id" in code else value
        yield index, found


def check(space_name, condition):
    """Run one condition with each pair of numbers."""
    space, kind, names = SPACES[space_name]
    index = "item.get_global_linear_id()" if kind == "NdItem" else "item.get_linear_id()"
    ids = "\n".join(f"    {name} = {code}" for name, code in names.items())
    index = f"{BEFORE} + {index}"
    first = SUMS.format(index=index) if space_name in ("barrier", "line", "tile") else ""
    source = SOURCE.format(kind=f"kapi.{kind}", ids=ids, first=first, index=index, condition=condition)
    kernel = kapi.kernel(compiled(source, f"guarded_{crc32(f'{space_name} {condition}'.encode())}.py", kapi))
    of_items = list(values_of_ids(space, names))
    a = np.arange(len(of_items) + 2 * BEFORE) - 5
    on_device = dpnp.asarray(a)
    code = compile(condition, "condition", "eval")
    for n, m in NUMBERS:
        expected = np.zeros(a.size, np.int32)
        for index_, found in of_items:
            expected[BEFORE + index_] = 7 * bool(eval(code, {**found, "n": n, "m": m, "a": a}))
        seen = dpnp.zeros(a.size, dtype="int32")
        kapi.call_kernel(kernel, space, n, m, on_device, seen)
        np.testing.assert_array_equal(seen.asnumpy(), expected, err_msg=f"{space}, n = {n}, m = {m}\n{source}")


def conditions(expression, names):
    """The conditions of an expression of ids, alone and in twos."""
    written = [expression.format(name) for name in names]
    alone = [f"({each}) {word} {other}" for each in written for word in OPERATORS for other in OTHERS]
    both = [f"({written[0]}) {word} m and ({written[-1]}) {OPERATORS[-1 - k]} n" for k, word in enumerate(OPERATORS)]
    chained = [f"0 <= {each} < n" for each in written]
    return [*alone, *both, *(each.replace(" and ", " or ") for each in both), *chained]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "condition", ["i < n", "n - i > 3", "i + 5 < m", "i >= n", "i == -n", "i == 0", "m == i", "i - 1 < a.shape[0]"]
)
def test_condition_of_an_id_decides_for_its_work_item(space, condition):
    check(space, condition)


@pytest.mark.parametrize("bounds", ["range(i, n, 4)", "range(n, i)", "range(i + 3, m)"])
def test_loop_whose_first_iteration_an_id_decides(bounds):
    source = (
        f"def kernel(item: kapi.Item, n, m, sums):\n    i = item.get_id(0)\n    for k in {bounds}:\n"
        "        sums[i] += 1 + (k & 1)\n"
    )
    kernel = kapi.kernel(compiled(source, f"counted_{crc32(bounds.encode())}.py", kapi))
    for n, m in [(10, 4), (-3, 2), (-3, -7), (0, 0), (100, 50)]:
        sums = dpnp.zeros(40, dtype="int64")
        kapi.call_kernel(kernel, kapi.Range(40), n, m, sums)
        expected = [sum(1 + (k & 1) for k in eval(bounds, {"i": i, "n": n, "m": m})) for i in range(40)]
        assert sums.asnumpy().tolist() == expected


@pytest.mark.nightly(one_in=60, at_night=4)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_conditions_of_expressions_of_ids(expression, space):
    """A fifth of them, another each night."""
    seed = int(os.environ.get("KAPI_TEST_SEED", "0"))
    for condition in conditions(expression, SPACES[space][2])[seed % 5 :: 5]:
        check(space, condition)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32"])
def test_id_of_fewer_bits_is_compared_as_written(dtype):
    source = (
        "def kernel(item: kapi.Item, n, seen):\n    i = item.get_id(0)\n"
        "    if n.dtype.type(i) < n[0]:\n        seen[i] += 7\n"
    )
    kernel = kapi.kernel(compiled(source, f"narrow_{dtype}.py", kapi))
    for number in (0, 3, 100, *(() if dtype.startswith("u") else (-3, -100))):
        n, seen = np.full(1, number, dtype), dpnp.zeros(40, dtype="int32")
        kapi.call_kernel(kernel, kapi.Range(40), dpnp.asarray(n), seen)
        assert seen.asnumpy().tolist() == (7 * (np.arange(40) < number)).tolist()
