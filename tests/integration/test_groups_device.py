"""Group algorithms on the device give what NumPy gives: every operator, dtype and kind of group, with every target."""

from __future__ import annotations

import itertools
import linecache
from zlib import crc32

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.kernels.kernel import Kernel
from kapi_sim.language.intrinsics.operators import OPERATORS, identity
from kapi_spirv import SpirvTarget

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
TARGETS = {
    "core": SpirvTarget(),
    "extended": SpirvTarget(version="1.3", extensions=("SPV_KHR_uniform_group_instructions",)),
}
KINDS = ("reduce", "inclusive_scan", "exclusive_scan")
UFUNCS = {
    "plus": np.add, "multiplies": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
}  # fmt: skip
QUERIES = ["sub.get_group_id()", "sub.get_local_id()", "sub.get_local_range()", "sub.get_group_range()"]
SPACES = {"line": ((48,), (24,)), "plane": ((8, 6), (4, 6)), "space": ((4, 3, 4), (2, 3, 4))}
ITEMS = 48


def build(parameters, lines, target):
    """A kernel over an NdRange whose body is `lines`, on the work-item `i` in linear order."""
    source = f"def kernel(item, {parameters}):\n    group = item.get_group()\n    sub = item.get_sub_group()\n"
    source += "    i = item.get_global_linear_id()\n" + "".join(f"    {line}\n" for line in lines)
    filename = f"<kernel {crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"kapi": kapi, "np": np}
    exec(compile(source, filename, "exec"), namespace)
    return Kernel(namespace["kernel"], target=target)


def values(dtype):
    """Numbers whose sums and products are exact in floats, and wrap in narrow integers."""
    rng = np.random.default_rng(5)
    if dtype == "?":
        return rng.random(ITEMS) < 0.8
    if np.dtype(dtype).kind in "fc":
        return rng.choice(np.array([-2, -1, -0.5, 0.5, 1, 2], dtype), ITEMS)
    low = -7 if np.dtype(dtype).kind == "i" else 1
    return rng.integers(low, 12, ITEMS).astype(dtype) * np.dtype(dtype).type(2) + np.dtype(dtype).type(1)


def launch(kernel, space, *arrays):
    """Launch, and return the arrays."""
    on_device = [dpnp.asarray(array) for array in arrays]
    kapi.call_kernel(kernel, kapi.NdRange(*SPACES[space]), *on_device)
    return [array.asnumpy() for array in on_device]


def groups_of(space, position):
    """For work-groups and sub-groups, the linear indices of each one's work-items, in order."""
    work_groups = {}
    global_range, local_range = SPACES[space]
    for linear, index in enumerate(np.ndindex(*global_range)):
        work_groups.setdefault(tuple(np.floor_divide(index, local_range)), []).append(linear)
    sub_groups = {}
    for name, members in work_groups.items():
        for linear in members:
            sub_groups.setdefault((name, position[0, linear]), []).append(linear)
    for members in sub_groups.values():
        members.sort(key=lambda linear: position[1, linear])
    return [list(work_groups.values()), list(sub_groups.values())]


CI = {("?", "core", "line"), ("i1", "core", "line"), ("u2", "core", "line"), ("i4", "core", "plane"),
      ("i4", "extended", "line"), ("u8", "core", "line"), ("f2", "core", "line"),
      ("f4", "core", "line")}  # fmt: skip
NIGHTLY = pytest.mark.nightly(one_in=40)
CASES = [
    pytest.param(*case, marks=() if case in CI else NIGHTLY) for case in itertools.product(DTYPES, TARGETS, SPACES)
]


def wanted(x, row, kind, groups):
    """NumPy's result for the values of each group."""
    result = np.empty_like(x)
    first = identity(row, x.dtype)
    for members in groups:
        scanned = UFUNCS[row.name].accumulate(x[members]).astype(x.dtype)
        result[members] = {
            "reduce": scanned[-1],
            "inclusive_scan": scanned,
            "exclusive_scan": np.concatenate([[first], scanned[:-1]]).astype(x.dtype),
        }[kind]
    return result


@pytest.mark.parametrize(("dtype", "target", "space"), CASES)
def test_combinations_match_numpy(dtype, target, space):
    """Every operator that takes the dtype, reduced and scanned over work-groups and sub-groups."""
    x = values(dtype)
    rows = [row for row in OPERATORS if x.dtype.kind in row.kinds]
    cases = list(itertools.product(rows, KINDS, ("group", "sub")))
    lines = [f"position[{n}, i] = {query}" for n, query in enumerate(QUERIES)]
    for number, (row, kind, group) in enumerate(cases):
        lines.append(f"out[{number}, i] = kapi.{kind}_over_group({group}, x[i], kapi.{row.name})")
    kernel = build("x, out, position", lines, TARGETS[target])
    _, out, position = launch(kernel, space, x, np.zeros((len(cases), ITEMS), dtype), np.zeros((4, ITEMS), np.int64))
    groups = groups_of(space, position)
    for (row, kind, group), result in zip(cases, out, strict=True):
        expected = wanted(x, row, kind, groups[group == "sub"])
        np.testing.assert_array_equal(result, expected, err_msg=f"{kind} of {row.name} over {group}")


MOVES = {
    "kapi.group_broadcast(group, x[i], 5)": ("group", lambda own, size: np.full(size, 5)),
    "kapi.group_broadcast(group, x[i], 23)": ("group", lambda own, size: np.full(size, 23)),
    "kapi.group_broadcast(sub, x[i], 1)": ("sub", lambda own, size: np.full(size, 1)),
    "kapi.shift_group_left(sub, x[i], 2)": ("sub", lambda own, size: own + 2),
    "kapi.shift_group_right(sub, x[i])": ("sub", lambda own, size: own - 1),
    "kapi.permute_group_by_xor(sub, x[i], 3)": ("sub", lambda own, size: own ^ 3),
    "kapi.select_from_group(sub, x[i], sub.get_local_range() - 1 - sub.get_local_id())": (
        "sub",
        lambda own, size: size - 1 - own,
    ),
}
"""The call, its group, and the work-item from which each then has the value."""
MOVED_IN_CI = {("?", "core", "line"), ("i1", "extended", "line"), ("f2", "core", "plane"), ("c16", "extended", "line"),
               ("i4", "core", "space"), ("f8", "extended", "plane")}  # fmt: skip
MOVED = [
    pytest.param(*case, marks=() if case in MOVED_IN_CI else NIGHTLY)
    for case in itertools.product([*DTYPES, "c8", "c16"], TARGETS, SPACES)
]


@pytest.mark.parametrize(("dtype", "target", "space"), MOVED)
def test_values_are_moved(dtype, target, space):
    """Broadcasts, shifts, permutations and selections; what comes from nobody is not looked at."""
    x = values(dtype)
    if x.dtype.kind == "c":
        x = x + x[::-1] * x.dtype.type(1j)
    lines = [f"position[{n}, i] = {query}" for n, query in enumerate(QUERIES)]
    lines += [f"out[{number}, i] = {call}" for number, call in enumerate(MOVES)]
    kernel = build("x, out, position", lines, TARGETS[target])
    _, out, position = launch(kernel, space, x, np.zeros((len(MOVES), ITEMS), dtype), np.zeros((4, ITEMS), np.int64))
    groups = groups_of(space, position)
    for (call, (group, origin)), result in zip(MOVES.items(), out, strict=True):
        for members in groups[group == "sub"]:
            members = np.array(members)
            source = origin(np.arange(len(members)), len(members))
            exists = (source >= 0) & (source < len(members))
            np.testing.assert_array_equal(result[members[exists]], x[members[source[exists]]], err_msg=call)


@pytest.mark.parametrize("space", SPACES)
def test_sub_groups_divide_their_work_group(space):
    """Every work-item is in one, at a position of its own; the queries agree with each other."""
    lines = [
        f"position[{n}, i] = {query}" for n, query in enumerate([*QUERIES, "sub.get_max_local_range()", "sub.leader"])
    ]
    kernel = build("position", lines, TARGETS["core"])
    (position,) = launch(kernel, space, np.zeros((6, ITEMS), np.int64))
    work_groups, sub_groups = groups_of(space, position)
    for members in work_groups:
        assert set(position[0, members]) == set(range(position[3, members[0]]))
    for members in sub_groups:
        assert list(position[1, members]) == list(range(len(members)))
        assert set(position[2, members]) == {len(members)}
        assert set(position[4, members]) == {position[4, 0]}
        assert list(position[5, members]) == [1] + [0] * (len(members) - 1)
    assert position[2].max() <= position[4, 0]
