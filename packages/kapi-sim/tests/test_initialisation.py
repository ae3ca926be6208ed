"""Reads of local memory that nobody wrote, and what fresh local memory holds."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def accumulate_wrong(nd_item: kapi.NdItem, a, out, tile):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    tile[k] += a[i]
    out[i] = tile[k]


@kapi.kernel
def accumulate_right(nd_item: kapi.NdItem, a, out, tile):
    k = nd_item.get_local_id(0)
    i = nd_item.get_global_id(0)
    tile[k] = 0
    tile[k] += a[i]
    out[i] = tile[k]


def launch(kernel, *args, n=8, local=4):
    kapi.call_kernel(kernel, kapi.NdRange(n, local), *args)


def test_unwritten_local_memory():
    with raises(kapi.UninitializedReadError, "read-before-write", line="tile[k] += a[i]") as caught:
        launch(accumulate_wrong, np.ones(8), np.zeros(8), kapi.LocalAccessor(4, float))
    assert "work-item global (0,), local (0,), group (0,)" in str(caught.value)
    launch(accumulate_right, np.ones(8), np.zeros(8), kapi.LocalAccessor(4, float))


@kapi.kernel
def half_filled_wrong(nd_item: kapi.NdItem, out, tile):
    k = nd_item.get_local_id(0)
    if k < 2:
        tile[k] = k
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = tile[3 - k]


@kapi.kernel
def filled_right(nd_item: kapi.NdItem, out, tile):
    k = nd_item.get_local_id(0)
    tile[k] = k
    kapi.group_barrier(nd_item.get_group())
    out[nd_item.get_global_id(0)] = tile[3 - k]


def test_partly_written_local_memory():
    with raises(kapi.UninitializedReadError, "read-before-write", line="out[nd_item.get_global_id(0)] = tile[3 - k]"):
        launch(half_filled_wrong, np.zeros(8), kapi.LocalAccessor(4, float))
    launch(filled_right, np.zeros(8), kapi.LocalAccessor(4, float))


@kapi.kernel
def read_before_other_writes(nd_item: kapi.NdItem, out, tile):
    k = nd_item.get_local_id(0)
    if k == 0:
        out[nd_item.get_group().get_group_id(0)] = tile[0]
    if k == 1:
        tile[0] = 5


def test_cell_written_by_another_in_the_same_phase_is_a_race():
    with raises(
        kapi.DataRaceError, "data-race", line=("out[nd_item.get_group().get_group_id(0)] = tile[0]", "tile[0] = 5")
    ):
        launch(read_before_other_writes, np.zeros(2), kapi.LocalAccessor(4, float))


@kapi.kernel
def left_by_the_group_before(nd_item: kapi.NdItem, out, tile):
    group = nd_item.get_group().get_group_id(0)
    if group == 0:
        tile[0] = 1
    else:
        out[0] = tile[0]


def test_local_memory_is_fresh_for_each_group():
    with raises(kapi.UninitializedReadError, "read-before-write", line="out[0] = tile[0]"):
        launch(left_by_the_group_before, np.zeros(1), kapi.LocalAccessor(1, float), n=2, local=1)


@kapi.kernel
def show(nd_item: kapi.NdItem, out, tile):
    out[0] = tile[0]


@pytest.mark.parametrize(
    ("dtype", "poison"), [("float32", np.nan), ("float64", np.nan), ("int32", -842150451), ("uint8", 0xCD)]
)
def test_unchecked_local_memory_is_poisoned(dtype, poison):
    out = np.zeros(1, dtype)
    with kapi.simulation(checks="none"):
        launch(show, out, kapi.LocalAccessor(1, dtype), n=1, local=1)
    np.testing.assert_array_equal(out[0], poison)


@kapi.kernel
def garbage_index(nd_item: kapi.NdItem, out, tile):
    out[tile[0]] = 1


def test_garbage_used_as_an_index_is_reported_as_garbage():
    with raises(kapi.UninitializedReadError, "read-before-write", line="out[tile[0]] = 1"):
        launch(garbage_index, np.zeros(4), kapi.LocalAccessor(1, np.int32), n=1, local=1)


@pytest.mark.parametrize("kernel", [half_filled_wrong, accumulate_wrong])
def test_traceback_ends_at_the_read(kernel):
    import traceback

    arguments = (np.ones(8),) * (kernel is accumulate_wrong) + (np.zeros(8), kapi.LocalAccessor(4, float))
    with raises(kapi.UninitializedReadError, "read-before-write") as caught:
        launch(kernel, *arguments)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename == __file__
    assert frame.name == kernel.__name__
    assert frame.line in ("out[nd_item.get_global_id(0)] = tile[3 - k]", "tile[k] += a[i]")


@kapi.kernel
def double(item: kapi.Item, v):
    v[item.get_id(0)] *= 2


@pytest.mark.parametrize(
    ("marked", "wanted"),
    [
        pytest.param(slice(16, None), "v[16]", id="end"),
        pytest.param(slice(None, 16), "v[0]", id="start"),
        pytest.param(slice(5, None, 3), "v[5]", id="every third"),
        pytest.param(slice(40, 10, -2), "v[12]", id="backwards"),
        pytest.param(slice(8, 8), None, id="nothing"),
    ],
)
def test_part_that_is_marked_holds_nothing_and_the_rest_does(marked, wanted):
    v = np.zeros(64, np.int32)
    unmarked = np.ones(64, bool)
    unmarked[marked] = False
    with kapi.simulation(uninitialised=[v[marked]]):
        for i in np.nonzero(unmarked)[0]:
            kapi.call_kernel(double, kapi.Range(1), v[i:])
        if wanted is not None:
            with raises(kapi.UninitializedReadError, "read-before-write", line="v[item.get_id(0)] *= 2") as caught:
                kapi.call_kernel(double, kapi.Range(64), v)
            assert str(caught.value).startswith(f"{wanted} (global memory) is read, and no work-item has written it")


def test_part_of_rows_that_is_marked_holds_nothing():
    @kapi.kernel
    def add_rows(item: kapi.Item, m, out):
        for j in range(m.shape[1]):
            out[item.get_id(0)] += m[item.get_id(0), j]

    m = np.zeros((4, 6))
    with kapi.simulation(uninitialised=[m[1:3, 2:4]]):
        kapi.call_kernel(add_rows, kapi.Range(4), m[:, :2], np.zeros(4))
        kapi.call_kernel(add_rows, kapi.Range(1), m[3:], np.zeros(1))
        with raises(
            kapi.UninitializedReadError, "read-before-write", line="out[item.get_id(0)] += m[item.get_id(0), j]"
        ):
            kapi.call_kernel(add_rows, kapi.Range(4), m, np.zeros(4))


def test_marked_part_is_reported_byte_by_byte_where_arrays_overlap():
    @kapi.kernel
    def halves(item: kapi.Item, wide, narrow, out):
        out[item.get_id(0)] = narrow[item.get_id(0)]

    wide = np.zeros(2, np.int64)
    narrow = wide.view(np.int32)
    with kapi.simulation(uninitialised=[narrow[3:]]):
        kapi.call_kernel(halves, kapi.Range(3), wide, narrow, np.zeros(4))
        with raises(
            kapi.UninitializedReadError, "read-before-write", line="out[item.get_id(0)] = narrow[item.get_id(0)]"
        ):
            kapi.call_kernel(halves, kapi.Range(4), wide, narrow, np.zeros(4))
