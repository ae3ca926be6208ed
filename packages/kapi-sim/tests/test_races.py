"""Planted data races, each with its corrected twin: the defect is found, the twin is silent."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

SOURCE = Path(__file__).read_text().splitlines()


def line_of(marker):
    """The number of the line that ends in the comment `marker`."""
    return next(n for n, text in enumerate(SOURCE, 1) if text.endswith(f"# {marker}"))


def run(kernel, *args, n=8, local=4):
    kapi.call_kernel(kernel, kapi.NdRange(n, local), *args)


def tile(n=4, dtype=np.float64):
    return kapi.LocalAccessor(n, dtype)


@kapi.kernel
def reverse_wrong(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]  # reverse writes
    a[i] = tile[nd_item.get_local_range(0) - 1 - k]  # reverse reads


@kapi.kernel
def reverse_right(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(nd_item.get_group())
    a[i] = tile[nd_item.get_local_range(0) - 1 - k]


def test_local_read_write_race_names_both_sides():
    with raises(
        kapi.DataRaceError, "data-race", line=("a[i] = tile[nd_item.get_local_range(0) - 1 - k]", "tile[k] = a[i]")
    ) as caught:
        run(reverse_wrong, np.arange(8.0), tile())
    text = str(caught.value)
    low, high = line_of("reverse writes"), line_of("reverse reads")
    assert "data race on tile[" in text
    assert "local memory" in text
    assert len(re.findall(r"work-item global \(\d,\), local \(\d,\), group \(0,\)", text)) >= 2
    assert f"test_races.py:{low}: `{SOURCE[low - 1].strip()}`" in text
    assert f"test_races.py:{high}: `{SOURCE[high - 1].strip()}`" in text
    assert f"a `group_barrier` between line {low} and line {high} would order them" in text
    data = np.arange(8.0)
    run(reverse_right, data, tile())
    np.testing.assert_array_equal(data, [3, 2, 1, 0, 7, 6, 5, 4])


@pytest.mark.parametrize("seed", range(5))
def test_local_race_is_found_in_every_order(seed):
    with (
        kapi.simulation(seed=seed),
        raises(
            kapi.DataRaceError, "data-race", line=("a[i] = tile[nd_item.get_local_range(0) - 1 - k]", "tile[k] = a[i]")
        ),
    ):
        run(reverse_wrong, np.arange(8.0), tile())
    with kapi.simulation(seed=seed):
        run(reverse_right, np.arange(8.0), tile())


@kapi.kernel
def shift_in_place_wrong(item: kapi.Item, a):
    i = item.get_id(0)
    if i + 1 < a.shape[0]:
        a[i] = a[i + 1]


@kapi.kernel
def shift_right(item: kapi.Item, a, out):
    i = item.get_id(0)
    if i + 1 < a.shape[0]:
        out[i] = a[i + 1]


def test_global_race_in_a_range_launch():
    with raises(kapi.DataRaceError, "data-race", line="a[i] = a[i + 1]"):
        kapi.call_kernel(shift_in_place_wrong, kapi.Range(4), np.arange(4.0))
    out = np.zeros(4)
    kapi.call_kernel(shift_right, kapi.Range(4), np.arange(4.0), out)
    np.testing.assert_array_equal(out, [1, 2, 3, 0])


@kapi.kernel
def sum_wrong(item: kapi.Item, a, out):
    out[0] += a[item.get_id(0)]


@kapi.kernel
def sum_right(item: kapi.Item, a, out):
    if item.get_id(0) == 0:
        for k in range(a.shape[0]):
            out[0] += a[k]


def test_lost_update_is_a_race_even_of_equal_values():
    with raises(kapi.DataRaceError, "data-race", line="out[0] += a[item.get_id(0)]"):
        kapi.call_kernel(sum_wrong, kapi.Range(4), np.zeros(4), np.zeros(1))
    out = np.zeros(1)
    kapi.call_kernel(sum_right, kapi.Range(4), np.ones(4), out)
    assert out[0] == 4


@kapi.kernel
def two_writers_wrong(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i // 2] = a[i]


@kapi.kernel
def two_writers_right(item: kapi.Item, a, out):
    i = item.get_id(0)
    out[i] = a[i]


def test_writes_of_different_values_race():
    with raises(kapi.DataRaceError, "data-race", line="out[i // 2] = a[i]"):
        kapi.call_kernel(two_writers_wrong, kapi.Range(4), np.arange(4.0), np.zeros(2))
    kapi.call_kernel(two_writers_right, kapi.Range(4), np.arange(4.0), np.zeros(4))


@kapi.kernel
def found_flag(item: kapi.Item, a, flag):
    if a[item.get_id(0)] > 1:
        flag[0] = 1


@kapi.kernel
def found_flag_by_one(item: kapi.Item, a, flag):
    if item.get_id(0) == 3:
        flag[0] = 1


def test_writes_of_equal_values_are_a_note():
    with (
        kapi.simulation() as report,
        pytest.warns(kapi.BenignRaceWarning, match=r"benign race on flag\[0\]") as caught,
    ):
        kapi.call_kernel(found_flag, kapi.Range(5), np.arange(5.0), np.zeros(1))
    assert len(caught) == 1
    assert "benign" in report.text()
    kapi.call_kernel(found_flag_by_one, kapi.Range(5), np.arange(5.0), np.zeros(1))


@kapi.kernel
def flag_read_wrong(nd_item: kapi.NdItem, flag, out):
    flag[0] = 1
    out[nd_item.get_global_id(0)] = flag[0]


@pytest.mark.filterwarnings("ignore::kapi_sim.errors.BenignRaceWarning")
def test_reading_what_another_item_writes_equally_is_a_race():
    with raises(kapi.DataRaceError, "data-race", line=("out[nd_item.get_global_id(0)] = flag[0]", "flag[0] = 1")):
        run(flag_read_wrong, np.zeros(1), np.zeros(8))


@kapi.kernel
def neighbour_group_wrong(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    a[i] = i
    kapi.group_barrier(nd_item.get_group())
    out[i] = a[(i + 4) % 8]


@kapi.kernel
def neighbour_item_right(nd_item: kapi.NdItem, a, out):
    i = nd_item.get_global_id(0)
    a[i] = i
    kapi.group_barrier(nd_item.get_group())
    base = i - nd_item.get_local_id(0)
    out[i] = a[base + (i + 1) % 4]


def test_barrier_does_not_order_groups():
    with raises(kapi.DataRaceError, "data-race", line=("out[i] = a[(i + 4) % 8]", "a[i] = i")):
        run(neighbour_group_wrong, np.zeros(8), np.zeros(8))
    run(neighbour_item_right, np.zeros(8), np.zeros(8))


@kapi.kernel
def narrow_fence_wrong(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope.WORK_ITEM)  # narrow fence
    a[i] = tile[3 - k]


@kapi.kernel
def wide_fence_right(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(nd_item.get_group(), fence_scope=kapi.MemoryScope.DEVICE)
    a[i] = tile[3 - k]


def test_fence_scope_is_honoured():
    with raises(
        kapi.DataRaceError,
        "data-race",
        line=("tile[k] = a[i]", "a[i] = tile[3 - k]", "kapi.group_barrier(nd_item.get_group(), kapi.MemoryScope."),
    ) as caught:
        run(narrow_fence_wrong, np.arange(8.0), tile())
    assert f"test_races.py:{line_of('narrow fence')}" in str(caught.value)
    run(wide_fence_right, np.arange(8.0), tile())


@kapi.kernel
def two_names(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i]


def test_views_of_one_buffer_race_by_address():
    buffer = np.arange(9.0)
    with raises(kapi.DataRaceError, "data-race", line="b[i] = a[i]"):
        kapi.call_kernel(two_names, kapi.Range(8), buffer[:8], buffer[1:])
    with raises(kapi.DataRaceError, "data-race", line="b[i] = a[i]"):
        kapi.call_kernel(two_names, kapi.Range(8), buffer[:8][::-1], buffer[:8])
    kapi.call_kernel(two_names, kapi.Range(4), buffer[0:8:2], buffer[1:8:2])
    kapi.call_kernel(two_names, kapi.Range(4), buffer[:4], buffer[:4])


def test_views_of_different_item_sizes_race_by_address():
    buffer = np.zeros(8, np.int64)
    with raises(kapi.DataRaceError, "data-race", line="b[i] = a[i]"):
        kapi.call_kernel(two_names, kapi.Range(8), buffer, buffer.view(np.int32)[::1][:8])
    halves = np.zeros(16, np.int32)
    kapi.call_kernel(two_names, kapi.Range(4), halves[8:].view(np.int64), halves[:4])


def test_zero_stride_array_is_refused_where_it_is_written():
    shared = np.lib.stride_tricks.as_strided(np.zeros(1), (4,), (0,))
    with raises(kapi.KernelLaunchError, "argument-overlaps-itself", line="b[i] = a[i]"):
        kapi.call_kernel(two_names, kapi.Range(4), np.arange(4.0), shared)
    kapi.call_kernel(two_names, kapi.Range(4), np.broadcast_to(np.ones(1), (4,)), np.zeros(4))


@kapi.kernel
def tree_wrong(nd_item: kapi.NdItem, a, out, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    stride = nd_item.get_local_range(0) // 2
    while stride > 0:
        if k < stride:
            tile[k] += tile[k + stride]
        stride //= 2
    kapi.group_barrier(group)
    if k == 0:
        out[group.get_group_id(0)] = tile[0]


@kapi.kernel
def tree_right(nd_item: kapi.NdItem, a, out, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    tile[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    stride = nd_item.get_local_range(0) // 2
    while stride > 0:
        if k < stride:
            tile[k] += tile[k + stride]
        kapi.group_barrier(group)
        stride //= 2
    if k == 0:
        out[group.get_group_id(0)] = tile[0]


def test_barrier_missing_in_a_loop():
    with raises(kapi.DataRaceError, "data-race", line="tile[k] += tile[k + stride]"):
        run(tree_wrong, np.arange(8.0), np.zeros(1), tile(8), local=8)
    out = np.zeros(1)
    run(tree_right, np.arange(8.0), out, tile(8), local=8)
    assert out[0] == 28


@kapi.kernel
def reused_tile_wrong(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    for _ in range(2):
        tile[k] = a[i]
        kapi.group_barrier(nd_item.get_group())
        a[i] = tile[3 - k] + 1


@kapi.kernel
def reused_tile_right(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    for _ in range(2):
        tile[k] = a[i]
        kapi.group_barrier(nd_item.get_group())
        a[i] = tile[3 - k] + 1
        kapi.group_barrier(nd_item.get_group())


def test_tile_overwritten_in_the_next_round():
    with raises(kapi.DataRaceError, "data-race", line=("tile[k] = a[i]", "a[i] = tile[3 - k] + 1")):
        run(reused_tile_wrong, np.arange(8.0), tile())
    run(reused_tile_right, np.arange(8.0), tile())


@kapi.device_func
def store(target, index, value):
    target[index] = value  # device store


@kapi.kernel
def through_device_function_wrong(item: kapi.Item, out):
    store(out, 0, item.get_id(0))


@kapi.kernel
def through_device_function_right(item: kapi.Item, out):
    store(out, item.get_id(0), item.get_id(0))


def test_race_inside_a_device_function_names_its_line():
    with raises(kapi.DataRaceError, "data-race", line="target[index] = value"):
        kapi.call_kernel(through_device_function_wrong, kapi.Range(4), np.zeros(4))
    kapi.call_kernel(through_device_function_right, kapi.Range(4), np.zeros(4))


@kapi.kernel
def benign_then_read(nd_item: kapi.NdItem, flag, out):
    flag[0] = 1
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = flag[0]


@pytest.mark.filterwarnings("ignore::kapi_sim.errors.BenignRaceWarning")
def test_benign_writes_before_a_barrier_may_be_read_after_it():
    run(benign_then_read, np.zeros(1), np.zeros(4), n=4)


def test_race_between_a_write_and_a_read_of_an_earlier_group():
    @kapi.kernel
    def first_group_reads(nd_item: kapi.NdItem, a, out):
        i = nd_item.get_global_id(0)
        if nd_item.get_group().get_group_id(0) == 0:
            out[i] = a[0]
        elif i == 4:
            a[0] = 2.0

    with raises(kapi.DataRaceError, "data-race", line=("out[i] = a[0]", "a[0] = 2.0")):
        run(first_group_reads, np.zeros(1), np.zeros(8))


def test_races_are_not_looked_for_when_narrowed():
    with kapi.simulation(checks={"bounds"}):
        kapi.call_kernel(shift_in_place_wrong, kapi.Range(4), np.arange(4.0))


def test_memory_grows_with_what_is_touched():
    data = np.zeros(50_000_000, np.uint8)
    with kapi.simulation() as report:
        kapi.call_kernel(two_names, kapi.Range(10), data[:10], data[-10:])
        kapi.call_kernel(two_names, kapi.Range(10), data, np.zeros(10, np.uint8))
    assert report.launches[1].elements_tracked == 20
