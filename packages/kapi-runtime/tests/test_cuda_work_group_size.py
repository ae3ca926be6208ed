"""Work-groups and grids within the limits of CUDA devices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi_runtime.cuda.programs.work_group_size import submitted_range
from kapi_sim.errors import LimitError
from kapi_sim.testing.reports import raises

GRID = (65535, 65535, 2**31 - 1)


@dataclass
class Limits:
    name: str = "kernel"
    group_size: int = 1024
    max_work_group_size: int = 1024
    max_work_item_sizes: tuple[int, ...] = (64, 1024, 1024)
    max_group_counts: tuple[int, ...] = GRID


@given(st.lists(st.integers(1, 1_000_000), min_size=1, max_size=3), st.sampled_from([32, 96, 256, 1024]))
def test_chosen_groups_keep_all_limits_and_cover_the_range(extents, size):
    submitted, group = submitted_range(Limits(group_size=size), extents, None, True)
    assert all(a >= b and a % g == 0 for a, b, g in zip(submitted, extents, group, strict=True))
    assert all(a - b < g for a, b, g in zip(submitted, extents, group, strict=True))
    assert prod(group) <= 1024
    assert all(g <= most for g, most in zip(group, (64, 1024, 1024)[-len(group) :], strict=True))
    counts = [a // g for a, g in zip(submitted, group, strict=True)]
    assert all(count <= most for count, most in zip(counts, GRID[-len(group) :], strict=True))


@pytest.mark.parametrize(
    ("extents", "group"),
    [
        ([1_000_003], [256]),
        ([5], [32]),
        ([1000, 1000], [8, 32]),
        ([100, 3], [64, 4]),
        ([600_000, 40], [16, 32]),
        ([1, 1_000_003], [1, 256]),
        ([10, 10, 10], [1, 16, 16]),
        ([300_000, 3, 5], [8, 4, 8]),
    ],
)
def test_chosen_group(extents, group):
    assert submitted_range(Limits(), extents, None, True)[1] == group


def test_range_that_no_group_serves_is_refused_with_the_remedy():
    with raises(LimitError, "range-too-large") as refused:
        submitted_range(Limits(), [100_000_000, 4], None, True)
    assert refused.value.code == "range-too-large"


@pytest.mark.parametrize("extents", [[65536, 1], [65536, 1, 1], [1, 65536, 1]])
def test_nd_range_of_too_many_groups_is_refused(extents):
    with raises(LimitError, "range-too-large"):
        submitted_range(Limits(), extents, [1] * len(extents), False)


def test_nd_range_may_have_as_many_groups_along_its_last_dimension():
    assert submitted_range(Limits(), [1, 65536], [1, 1], False) == ([1, 65536], [1, 1])


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=3))
def test_range_that_must_not_be_rounded_is_divided(extents):
    submitted, group = submitted_range(Limits(), extents, None, False)
    assert submitted == extents
    assert prod(group) <= 256
