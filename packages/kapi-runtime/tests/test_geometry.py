from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kapi_runtime.sycl.programs.geometry import MAX_WORK_ITEMS, rounded_range
from kapi_sim import Range

extents = st.lists(st.integers(1, 5000), min_size=1, max_size=3).filter(lambda e: math.prod(e) <= MAX_WORK_ITEMS)


@given(extents, st.integers(1, 200), st.sampled_from([64, 256, 8192]))
@example([1000003], 2, 8192)
@example([1000003, 1], 2, 8192)
@example([MAX_WORK_ITEMS], 2, 8192)
@example([3, 7, 11], 2, 8192)
def test_rounded_range_holds_the_range_and_whole_groups(space, units, largest):
    whole, local = rounded_range(Range(*space), units, largest)
    assert len(whole) == len(space)
    assert all(rounded >= asked for rounded, asked in zip(whole, space, strict=True))
    assert math.prod(whole) <= MAX_WORK_ITEMS
    if local is not None:
        assert all(extent % step == 0 for extent, step in zip(whole, local, strict=True))
        assert math.prod(local) <= largest


@pytest.mark.parametrize(
    ("space", "whole", "local"),
    [
        ((1000003,), [1000448], [1024]),
        ((1797, 1797), [1798, 1856], [2, 1856]),
        ((1, 1000003), [1, 1000064], None),
        ((96, 96, 96), [96, 96, 128], [1, 32, 128]),
        ((2048, 2048), [2048, 2048], [2, 2048]),
        ((500, 500), [504, 512], [8, 512]),
        ((8192,), [8192], [512]),
        ((3000,), [3008], None),
        ((64,), [64], None),
        ((5, 64), [5, 64], None),
        ((1000003, 1), [1000192, 1], [256, 1]),
        ((300007, 3), [300032, 3], [64, 3]),
        ((17,), [17], None),
        ((1000003, 1, 1), [1000192, 1, 1], [256, 1, 1]),
        ((4, 3), [4, 3], None),
    ],
)
def test_rounded_range_of_awkward_shapes(space, whole, local):
    assert rounded_range(Range(*space), 2, 8192) == (whole, local)


@pytest.mark.parametrize("space", [(2048, 2048), (96, 96, 96), (1000000,)])
def test_rounded_range_leaves_groups_to_devices_that_have_small_ones(space):
    assert rounded_range(Range(*space), 2, 1024)[1] is None


@pytest.mark.parametrize("space", [(2048, 2048), (96, 96, 96), (1000000,), (100, 64)])
def test_rounded_range_keeps_all_units_busy(space):
    whole, local = rounded_range(Range(*space), 16, 8192)
    assert local is None or math.prod(whole) // math.prod(local) >= 8 * 16


def test_rounded_range_stays_below_the_limit_of_sycl():
    assert rounded_range(Range(MAX_WORK_ITEMS), 2, 8192) == ([MAX_WORK_ITEMS], None)
