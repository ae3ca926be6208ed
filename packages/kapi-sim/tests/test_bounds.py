"""Indices outside their axes, each with a twin that is guarded."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def copy(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i]


@kapi.kernel
def guarded_copy(item: kapi.Item, a, b):
    i = item.get_id(0)
    if i < b.shape[0]:
        b[i] = a[i]


@kapi.kernel
def left_neighbour(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i - 1]


@kapi.kernel
def left_neighbour_guarded(item: kapi.Item, a, b):
    i = item.get_id(0)
    b[i] = a[i - 1] if i > 0 else 0.0


@kapi.kernel
def element(item: kapi.Item, a, i, j):
    a[i, j] = 1


@kapi.kernel
def beyond_tile(nd_item: kapi.NdItem, tile, n):
    tile[nd_item.get_local_id(0) + n] = 0


def test_index_beyond_the_end():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="b[i] = a[i]") as caught:
        kapi.call_kernel(copy, kapi.Range(5), np.zeros(5), np.zeros(4))
    text = str(caught.value)
    assert "work-item global (4,)" in text
    assert "guard the access with `if index < b.shape[0]`" in text
    kapi.call_kernel(guarded_copy, kapi.Range(5), np.zeros(5), np.zeros(4))


def test_negative_index_does_not_wrap_around():
    with raises(kapi.OutOfBoundsError, "negative-index", line="b[i] = a[i - 1]"):
        kapi.call_kernel(left_neighbour, kapi.Range(4), np.zeros(4), np.zeros(4))
    kapi.call_kernel(left_neighbour_guarded, kapi.Range(4), np.zeros(4), np.zeros(4))


@pytest.mark.parametrize(
    "index",
    [
        "-1 + n",
        "last if n == 0 else 0",
        "twice",
        "kapi.MemoryOrder.RELAXED - 1",
        "NUMPY",
        "-7",
        "(n + 1) * -1",
        "(lambda LAST: LAST)(-1)",
    ],
)
def test_computed_negative_index_is_an_error(index, defined):
    body = f"    last = -1\n    twice = 0\n    twice = -1\n    n = a.shape[0] // 6\n    n -= 1\n    a[{index}] = 1\n"
    kernel = kapi.kernel(defined(f"def kernel(item, a):\n{body}", kapi=kapi, NUMPY=np.int64(-1))["kernel"])
    with raises(kapi.OutOfBoundsError, "negative-index", words=False):
        kapi.call_kernel(kernel, kapi.Range(1), np.zeros(6))


def test_constant_index_is_the_one_that_its_global_holds_now(defined):
    names = defined("def kernel(item, a):\n    a[LAST] = 1\n", LAST=-1)
    kernel, a = kapi.kernel(names["kernel"]), np.zeros(6)
    for last in (-1, -3, 0, -2):
        names["kernel"].__globals__["LAST"] = last
        kapi.call_kernel(kernel, kapi.Range(1), a)
    assert a.tolist() == [1, 0, 0, 1, 1, 1]


def test_constant_indices_race_by_the_element_that_they_name():
    @kapi.kernel
    def kernel(item: kapi.Item, a):
        a[-1] = item.get_id(0)

    with raises(kapi.DataRaceError, "data-race", words=False) as caught:
        kapi.call_kernel(kernel, kapi.Range(2), np.zeros(6))
    assert "a[5]" in str(caught.value)


@pytest.mark.parametrize(("i", "j", "axis"), [(2, 0, 0), (0, 3, 1), (-1, 0, 0), (1, -3, 1)])
def test_each_axis_is_checked(i, j, axis):
    code = "negative-index" if (i, j)[axis] < 0 else "index-out-of-bounds"
    with raises(kapi.OutOfBoundsError, code, line="a[i, j] = 1") as caught:
        kapi.call_kernel(element, kapi.Range(1), np.zeros((2, 3)), i, j)
    assert f"axis {axis} of `a` has length {2 + axis}" in caught.value.message
    assert f"a[{i}, {j}]" in caught.value.message
    assert isinstance(caught.value, IndexError)


@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 2), (np.int32(1), np.uint8(2))])
def test_valid_indices_pass(i, j):
    kapi.call_kernel(element, kapi.Range(1), np.zeros((2, 3)), i, j)


def test_numpy_index_is_checked():
    with raises(kapi.OutOfBoundsError, "negative-index", line="a[i, j] = 1"):
        kapi.call_kernel(element, kapi.Range(1), np.zeros((2, 3)), np.int32(-1), 0)


def test_local_memory_is_checked():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="tile[nd_item.get_local_id(0) + n] = 0"):
        kapi.call_kernel(beyond_tile, kapi.NdRange(4, 4), kapi.LocalAccessor(4, float), 1)
    kapi.call_kernel(beyond_tile, kapi.NdRange(4, 4), kapi.LocalAccessor(4, float), 0)


def test_too_many_components():
    with raises(kapi.OutOfBoundsError, "too-many-indices", line="a[i, j] = 1"):
        kapi.call_kernel(element, kapi.Range(1), np.zeros(3), 0, 0)


def test_empty_array_has_no_valid_index():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="b[i] = a[i]"):
        kapi.call_kernel(copy, kapi.Range(1), np.zeros(0), np.zeros(1))


@pytest.mark.parametrize("index", [1.0, np.float32(0), True, "x"])
def test_index_of_another_type(index):
    with raises(kapi.DtypeError, "index-type"):
        kapi.call_kernel(element, kapi.Range(1), np.zeros((2, 3)), index, 0) if index != "x" else kapi.call_kernel(
            string_index, kapi.Range(1), np.zeros((2, 3))
        )


@kapi.kernel
def string_index(item: kapi.Item, a):
    a["x"] = 1


@kapi.kernel
def row_sums(item: kapi.Item, a, out):
    i = item.get_id(0)
    row = a[i]
    total = 0.0
    for k in range(len(row) + out.shape[1]):
        total += row[k]
    out[i, 0] = total


def test_row_of_an_array_is_checked():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="total += row[k]"):
        kapi.call_kernel(row_sums, kapi.Range(2), np.ones((2, 3)), np.zeros((2, 1)))


@kapi.kernel
def dimension(item: kapi.Item, out, dim):
    out[0] = item.get_id(dim)


@pytest.mark.parametrize("dim", [-1, 1, 3])
def test_dimension_outside_the_index_space(dim):
    with raises(kapi.OutOfBoundsError, "dim-out-of-range", line="out[0] = item.get_id(dim)"):
        kapi.call_kernel(dimension, kapi.Range(1), np.zeros(1), dim)


@kapi.kernel
def array_as_value(item: kapi.Item, a):
    a[:] = 0


@kapi.kernel
def fill(item: kapi.Item, a):
    a[item.get_id(0)] = 1


@kapi.kernel
def array_as_operand(item: kapi.Item, a):
    np.add(a, 1)


@kapi.kernel
def other_form(item: kapi.Item, a):
    a.reshape(3, 1)[0, 0] = 1


def test_other_forms_of_arrays_are_made_outside():
    """As the compiler says it, too."""
    with raises(kapi.DtypeError, "array-attribute", line="a.reshape(3, 1)[0, 0] = 1"):
        kapi.call_kernel(other_form, kapi.Range(1), np.zeros(3))


def test_one_dimension_may_be_given_as_a_shape():
    """`kernel[array.shape]` covers an array of one axis; a Range takes its extents one by one, and says so."""
    values = np.zeros(4)
    fill[values.shape](values)
    assert values.all()
    with raises(kapi.LimitError, "range-extent"):
        kapi.Range((4,))


class Colour(enum.Enum):
    RED = 1


def test_members_of_enumerations_are_passed_by_value():
    with raises(kapi.DtypeError, "argument-type"):
        kapi.call_kernel(fill, kapi.Range(1), Colour.RED)


def test_full_array_is_no_value():
    with raises(kapi.DtypeError, "whole-array", line="a[:] = 0"):
        kapi.call_kernel(array_as_value, kapi.Range(1), np.zeros(3))
    with raises(kapi.DtypeError, "whole-array", line="np.add(a, 1)"):
        kapi.call_kernel(array_as_operand, kapi.Range(1), np.zeros(3))


@kapi.kernel
def off_by_one(item: kapi.Item, a, n):
    i = item.get_id(0)
    if i < n:  # guard
        a[i + 1] = 1


@kapi.kernel
def leaves_too_late(item: kapi.Item, grid):
    i = item.get_id(0)
    if i > grid.shape[1]:  # leaves
        return
    grid[0, i] = 1


@kapi.kernel
def guards_another(item: kapi.Item, a, n):
    i = item.get_id(0)
    if n > 0:
        a[i + 1] = 1


def test_guard_that_lets_the_index_through_is_named(line_with):
    with pytest.raises(kapi.OutOfBoundsError) as caught:
        off_by_one[4](np.zeros(4), 4)
    assert caught.value.message.splitlines()[-1] == (
        f"  the guard at line {line_with('# guard')}, `i < n`, lets this index through: compare the index itself, "
        "`i + 1 < a.shape[0]`"
    )
    with pytest.raises(kapi.OutOfBoundsError) as caught:
        leaves_too_late[4](np.zeros((2, 3)))
    assert caught.value.message.splitlines()[-1] == (
        f"  the guard at line {line_with('# leaves')}, `i > grid.shape[1]`, lets this index through: compare the "
        "index itself, `i < grid.shape[1]`"
    )


def test_condition_of_something_else_is_no_guard():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
        guards_another[4](np.zeros(4), 4)


def test_number_of_groups_instead_of_work_items_is_understood():
    with raises(kapi.LimitError, "local-range-divides") as raised:
        off_by_one[4, 64](np.zeros(4), 4)
    assert "NdRange(256, 64) or NdRange.from_groups(4, 64)" in raised.value.message
    with raises(kapi.LimitError, "local-range-divides"):
        kapi.NdRange((4, 4), (8, 2))
    with raises(kapi.LimitError, "local-range-divides"):
        kapi.NdRange(2**62, 2**63 - 1)
    with raises(kapi.KernelLaunchError, "launch-configuration"):
        off_by_one[4, 64, 0](np.zeros(4), 4)


def test_index_spaces_are_made_of_numbers_of_groups():
    assert kapi.NdRange.from_groups(4, 64) == kapi.NdRange(256, 64)
    assert kapi.NdRange.from_groups(kapi.Range(2, 3), (4, 5)) == kapi.NdRange((8, 15), (4, 5))
    assert kapi.NdRange.from_groups((2, 3, 4), (1, 2, 3)) == kapi.NdRange((2, 6, 12), (1, 2, 3))
    assert kapi.NdRange.from_groups(0, 4).global_range.size == 0
    with raises(kapi.LimitError, "local-range-dimensions"):
        kapi.NdRange.from_groups((2, 3), 4)
    with raises(kapi.LimitError, "range-extent"):
        kapi.NdRange.from_groups(-1, 4)
    with raises(kapi.LimitError, "local-range-extent"):
        kapi.NdRange.from_groups(4, 0)
    with raises(kapi.LimitError, "range-type"):
        kapi.NdRange.from_groups(None, 4)
