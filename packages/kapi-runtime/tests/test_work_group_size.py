from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kapi_runtime.sycl.programs.work_group_size import MAX_WORK_ITEMS, rounded_range
from kapi_sim import Range

extents = st.lists(st.integers(1, 5000), min_size=1, max_size=3).filter(lambda e: math.prod(e) <= MAX_WORK_ITEMS)


@given(extents, st.integers(1, 200), st.sampled_from([64, 256, 8192]), st.booleans())
@example([1000003], 2, 8192, True)
@example([1000003, 1], 2, 8192, True)
@example([MAX_WORK_ITEMS], 2, 8192, False)
@example([3, 7, 11], 2, 8192, True)
def test_rounded_range_holds_the_range_and_full_groups(space, units, largest, has_loops):
    global_range, local = rounded_range(Range(*space), units, largest, has_loops)
    assert len(global_range) == len(space)
    assert all(rounded >= asked for rounded, asked in zip(global_range, space, strict=True))
    assert math.prod(global_range) <= MAX_WORK_ITEMS
    if local is not None:
        assert all(extent % step == 0 for extent, step in zip(global_range, local, strict=True))
        assert math.prod(local) <= largest


@pytest.mark.parametrize(
    ("space", "global_range", "local"),
    [
        ((1000003,), [1003520], [4096]),
        ((1797, 1797), [1798, 1856], [2, 1856]),
        ((1, 1000003), [1, 1000064], None),
        ((96, 96, 96), [96, 96, 128], [1, 32, 128]),
        ((2048, 2048), [2048, 2048], [2, 2048]),
        ((500, 500), [504, 512], [8, 512]),
        ((8192,), [8192], [512]),
        ((3000,), [3024], [336]),
        ((1009,), [1024], [128]),
        ((32, 64), [32, 64], [4, 64]),
        ((64,), [64], [16]),
        ((5, 64), [5, 64], None),
        ((1000003, 1), [1000192, 1], [256, 1]),
        ((300007, 3), [300032, 3], [64, 3]),
        ((17,), [17], None),
        ((1000003, 1, 1), [1000192, 1, 1], [256, 1, 1]),
        ((4, 3), [4, 3], None),
    ],
)
def test_rounded_range_of_awkward_shapes(space, global_range, local):
    assert rounded_range(Range(*space), 2, 8192, True) == (global_range, local)


@pytest.mark.parametrize(
    ("space", "global_range", "local"),
    [
        ((1009,), [1024], [256]),
        ((4096,), [4096], [1024]),
        ((1000003,), [1003520], [4096]),
        ((64, 64), [64, 64], [16, 64]),
        ((64,), [64], [64]),
        ((100,), [128], [64]),
    ],
)
def test_equal_work_items_are_in_few_groups(space, global_range, local):
    assert rounded_range(Range(*space), 2, 8192, False) == (global_range, local)


@pytest.mark.parametrize("space", [(2048, 2048), (96, 96, 96), (1000000,)])
def test_rounded_range_leaves_groups_to_devices_that_have_small_ones(space):
    assert rounded_range(Range(*space), 2, 1024, True)[1] is None


@pytest.mark.parametrize(
    ("space", "groups_per_unit"),
    [((2048, 2048), 8), ((96, 96, 96), 8), ((1000000,), 8), ((65536,), 8), ((100, 64), 4), ((5000,), 3), ((64, 64), 3)],
)
def test_rounded_range_keeps_all_units_busy(space, groups_per_unit):
    global_range, local = rounded_range(Range(*space), 16, 8192, True)
    assert local is None or math.prod(global_range) // math.prod(local) >= groups_per_unit * 16


def test_rounded_range_stays_below_the_limit_of_sycl():
    assert rounded_range(Range(MAX_WORK_ITEMS), 2, 8192, True) == ([MAX_WORK_ITEMS], None)
