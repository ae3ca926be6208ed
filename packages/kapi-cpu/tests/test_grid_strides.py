"""Loops over a grid's stride: all work-items go through an iteration, then through the next one."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes, signature_of

import kapi_sim as kapi
from kapi_cpu import compile_kernel, explain, host_target

LAUNCHES = [(64, 64), (256, 64), (320, 64), (700, 50), (1000, 100), (1024, 1024), (30, 10)]


def scaled(item: kapi.NdItem, x, y, first, step):
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        y[i] = 2 * x[i] + y[i]


def chosen(item: kapi.NdItem, x, y, first, step):
    i = first + item.get_global_id(0)
    while i < x.shape[0]:
        if x[i] > 0:
            y[i] = x[i]
        i += item.get_global_range(0)


def by_hand(item: kapi.NdItem, x, y, first, step):
    group = item.get_group()
    start = group.get_group_id(0) * item.get_local_range(0) + item.get_local_id(0)
    for i in range(start, x.shape[0], group.get_group_range(0) * item.get_local_range(0)):
        y[i] = x[i] + group.get_group_id(0)


def in_rows(item: kapi.NdItem, x, y, first, step):
    row = item.get_group().get_group_id(0)
    for i in range(item.get_local_id(0), 100, item.get_local_range(0)):
        if row * 100 + i < x.shape[0]:
            y[row * 100 + i] = x[row * 100 + i] - row


def ahead(item: kapi.NdItem, x, y, first, step):
    for i in range(item.get_global_id(0) - 3, x.shape[0], item.get_global_range(0)):
        if i >= 0:
            y[i] = x[i] * 3


def running(item: kapi.NdItem, x, y, first, step):
    width = item.get_global_range(0)
    for i in range(item.get_global_id(0), x.shape[0], width):
        if i >= width:
            y[i] = y[i - width] + x[i]
        else:
            y[i] = x[i]


def folded(item: kapi.NdItem, x, y, first, step):
    k = item.get_global_id(0)
    for i in range(k, x.shape[0], item.get_global_range(0)):
        same = k + (first - 5) * i  # which the compiler cannot know
        y[same] = 3 * y[same] + x[i]


def kept(item: kapi.NdItem, x, y, first, step):
    total = x.dtype.type(0)
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        total += x[i]
        y[i] = total


def by_number(item: kapi.NdItem, x, y, first, step):
    for i in range(first + item.get_global_id(0), x.shape[0], step):
        y[i] = x[i] + 1


def in_local_memory(item: kapi.NdItem, x, y, tile):
    k = item.get_local_id(0)
    tile[k] = x.dtype.type(0)
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        tile[k] += x[i]
        y[i] = tile[k]


def sums(x, width):
    """Those of each element and all that are so many before it, and before that."""
    found = x.copy()
    for i in range(width, len(x), width):
        part = found[i : i + width]
        part += found[i - width : i - width + len(part)]
    return found


def folds(x, y, width):
    """Sums of elements so far apart, in each of which those before count three times as much as the next one."""
    found = y.copy()
    for i in range(0, len(x), width):
        part = x[i : i + width]
        found[: len(part)] = 3 * found[: len(part)] + part
    return found


def wanted(function, x, y, items, width):
    positions = np.arange(len(x))
    groups = items // width
    rows = np.minimum(positions // 100, groups)
    return {
        scaled: 2 * x + y,
        chosen: np.where((x > 0) & (positions >= 5), x, y),
        by_hand: (x + (positions % items) // width).astype(x.dtype),
        in_rows: np.where(rows < groups, x - rows, y).astype(x.dtype),
        ahead: x * 3,
        running: sums(x, items),
        folded: folds(x, y, items),
        kept: sums(x, items),
        in_local_memory: sums(x, items),
    }[function]


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("size", [1, 63, 700, 5001])
@pytest.mark.parametrize("function", [scaled, chosen, by_hand, in_rows, ahead, running, folded, kept, in_local_memory])
def test_elements_are_those_of_numpy(function, size, shape):
    random = np.random.default_rng(size)
    cpu = Cpu(replace(host_target(), **SHAPES[shape]))
    for items, width in LAUNCHES:
        x, y = (random.integers(-9, 9, size).astype(np.int32) for _ in range(2))
        given = (kapi.LocalAccessor(width, np.int32),) if function is in_local_memory else (5, 128)
        expected = wanted(function, x, y, items, width)
        cpu.call(kapi.kernel(function), kapi.NdRange(items, width), x, y, *given)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("first", "step"), [(0, 256), (7, 300), (2**62 + 1, 256), (0, 2**62 + 5), (0, 2**63 - 1), (0, 5000)]
)
def test_numbers_that_would_wrap_are_left_to_the_plain_loop(first, step):
    x, y = np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32)
    expected = y.copy()
    for k in range(256):
        expected[first + k :: step] = x[first + k :: step] + 1
    Cpu().call(kapi.kernel(by_number), kapi.NdRange(256, 64), x, y, first, step)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("ndim", [1, 2])
def test_cut_off_groups_of_a_range_end_where_it_ends(ndim):
    def add(item: kapi.Item, x, y):
        for i in range(item.get_id(0), x.shape[0], item.get_range(0)):
            y[i] += x[i]

    def add_columns(item: kapi.Item, x, y):
        j = item.get_id(1)
        for i in range(item.get_id(0), x.shape[0], item.get_range(0)):
            y[i, j] += x[i, j]

    cpu = Cpu(longest_group=48)
    shape = (4000,) if ndim == 1 else (50, 130)
    x, y = np.arange(np.prod(shape), dtype=np.int64).reshape(shape), np.ones(shape, np.int64)
    space = kapi.Range(333) if ndim == 1 else kapi.Range(7, 130)
    cpu.call(kapi.kernel(add if ndim == 1 else add_columns), space, x, y)
    np.testing.assert_array_equal(y, x + 1)


def test_loops_that_keep_nothing_have_their_iterations_outside():
    x = np.zeros(10, np.int32)
    signature, target = signature_of(1, [x, x, 5, 128], True), replace(host_target(), lanes=8)
    found = {
        function.__name__
        for function in (scaled, chosen, by_hand, in_rows, ahead, folded, kept, by_number)
        for each in explain(compile_kernel(function, signature, target=target)).decisions
        if each.why.startswith("where there are many work-items")
    }
    assert found == {"scaled", "chosen", "by_hand", "in_rows", "ahead", "folded", "by_number"}
