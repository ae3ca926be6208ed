"""Group algorithms and sub-groups: types of results, what is not defined, sizes, and calls that cannot be followed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language.intrinsics.operators import OPERATORS, identity
from kapi_sim.testing.reports import raises

EIGHT = kapi.NdRange(8, 4)
SUB_GROUPS_OF_4 = kapi.Profile(sub_group_sizes=(4,))


@pytest.fixture
def kinds_of(capsys):
    """The types that a reduction gives each work-item, of values that work-item k has at index k."""

    def kinds(values):
        @kapi.kernel
        def reduce(nd_item: kapi.NdItem):
            found = kapi.reduce_over_group(nd_item.get_group(), values[nd_item.get_local_id(0)], kapi.maximum)
            print(type(found).__name__)

        kapi.call_kernel(reduce, kapi.NdRange(len(values), len(values)))
        return capsys.readouterr().out.split()

    return kinds


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2), int),
        ((1, 2.5), float),
        ((np.int32(1), 2), np.int32),
        ((np.float32(1), 2.5), np.float32),
        ((np.int32(1), np.int64(2)), np.int64),
        ((np.uint8(1), np.uint8(2)), np.uint8),
    ],
)
def test_result_has_the_type_of_the_values(kinds_of, values, kind):
    assert kinds_of(values) == [kind.__name__] * 2


def test_weak_sum_beyond_64_bits_is_an_error_or_wraps():
    @kapi.kernel
    def total(nd_item: kapi.NdItem, out):
        out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd_item.get_group(), 2**62, kapi.plus)

    out = np.zeros(4, np.int64)
    with raises(kapi.DtypeError, "integer-too-wide", line="out[nd_item.get_global_id(0)] = kapi.reduce_over_group(nd"):
        kapi.call_kernel(total, kapi.NdRange(4, 4), out)
    with kapi.simulation(checks="none"):
        kapi.call_kernel(total, kapi.NdRange(4, 4), out)
    assert out.tolist() == [0] * 4


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_identity_changes_nothing(row):
    samples = {"b": (False, True), "i": (-5, 0, 7), "u": (0, 1, 200), "f": (-1.5, 0.0, 2.0)}
    names = {"b": "bool", "i": "int16", "u": "uint8", "f": "float32"}
    for kind in row.kinds:
        dtype = np.dtype(names[kind])
        for sample in samples[kind]:
            value = dtype.type(sample)
            assert row.function(value, identity(row, dtype)) == row.function(identity(row, dtype), value) == value


def test_malformed_calls_are_listed_with_their_lines(line_with):
    @kapi.kernel
    def calls(nd_item: kapi.NdItem):
        group = nd_item.get_group()
        kapi.reduce_over_group(group, 1)  # too few
        kapi.any_of_group(group, True, 1)  # too many
        kapi.group_broadcast(group, 1, id=2)  # misnamed

    with raises(
        kapi.KernelCompilationError,
        "call-arguments",
        line=(
            "kapi.reduce_over_group(group, 1)",
            "kapi.any_of_group(group, True, 1)",
            "kapi.group_broadcast(group, 1, id=2)",
        ),
    ) as caught:
        kapi.call_kernel(calls, EIGHT)
    message = str(caught.value)
    assert f":{line_with('# too few')}: reduce_over_group must be called with group, x, op, got" in message
    assert f":{line_with('# too many')}: any_of_group must be called with group, pred, got" in message
    assert f":{line_with('# misnamed')}: group_broadcast must be called with group, x, linear_id (which may" in message


def test_algorithm_needs_groups():
    @kapi.kernel
    def total(item: kapi.Item):
        kapi.any_of_group(item, True)

    with raises(kapi.KernelLaunchError, "needs-nd-range"):
        kapi.call_kernel(total, kapi.Range(4))


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("op", [max, lambda x, y: x + y, None])
def test_operator_is_one_of_kapis(op, checks):
    @kapi.kernel
    def total(nd_item: kapi.NdItem):
        kapi.reduce_over_group(nd_item.get_group(), 1, op)

    with (
        kapi.simulation(checks=checks),
        raises(
            kapi.KernelCompilationError, "group-operator", line="kapi.reduce_over_group(nd_item.get_group(), 1, op)"
        ),
    ):
        kapi.call_kernel(total, EIGHT)


def test_value_is_a_scalar():
    @kapi.kernel
    def total(nd_item: kapi.NdItem, a):
        kapi.reduce_over_group(nd_item.get_group(), a, kapi.plus)

    with raises(kapi.DtypeError, "group-value", line="kapi.reduce_over_group(nd_item.get_group(), a, kapi.plus)"):
        kapi.call_kernel(total, EIGHT, np.zeros(2))


def test_undefined_value_may_be_computed_with():
    @kapi.kernel
    def tree(nd_item: kapi.NdItem, a, out):
        sub_group = nd_item.get_sub_group()
        x = a[nd_item.get_global_id(0)]
        y = -abs(np.float32(2) * x)
        for delta in (2, 1):
            x = min(x, kapi.shift_group_left(sub_group, x, delta))
            y = y + np.float32(kapi.shift_group_left(sub_group, y, delta)) * np.float32(1)
            z = math.sqrt(math.fabs(float(int(np.floor(x)))))
            z = 1 - z
        total = kapi.reduce_over_group(sub_group, kapi.shift_group_right(sub_group, x, 3), kapi.plus)
        total = total + 1
        if sub_group.leader:
            out[0, nd_item.get_global_id(0) // 4] = x
            out[1, nd_item.get_global_id(0) // 4] = y

    a = np.array([5, 3, 4, 9, 1, 2, 8, 7], np.float32)
    out = np.zeros((2, 2), np.float32)
    for checks in ("all", "none"):
        with kapi.simulation(checks=checks, profile=SUB_GROUPS_OF_4):
            kapi.call_kernel(tree, kapi.NdRange(8, 8), a, out)
        np.testing.assert_array_equal(out, [[3, 1], [-42, -36]])


def test_undefined_value_is_an_error_where_something_depends_on_it(line_with):
    uses = (lambda a, x: a[x], lambda a, x: a[0] if x else a[1], lambda a, x: float(x), lambda a, x: range(x))

    for use in uses:
        call = kapi.device_func(use)

        @kapi.kernel
        def depends(nd_item: kapi.NdItem, a):
            x = kapi.shift_group_left(nd_item.get_sub_group(), nd_item.get_local_id(0))  # had here
            call(a, x)  # noqa: B023

        with raises(
            kapi.CollectiveMismatchError,
            "undefined-value",
            line=(
                "uses = (lambda a, x: a[x], lambda a, x: a[0] if x else a[",
                "x = kapi.shift_group_left(nd_item.get_sub_group(), nd_ite",
            ),
        ) as caught:
            kapi.call_kernel(depends, kapi.NdRange(4, 4), np.zeros(4))
        assert f"test_collectives.py:{line_with('# had here')}" in str(caught.value)
        assert "no work-item with id 4 of 4" in str(caught.value)


def test_sub_group_size_is_the_devices_or_the_options():
    sizes = np.zeros(1, np.int64)

    def ask(nd_item: kapi.NdItem, out):
        if nd_item.get_global_id(0) == 0:
            out[0] = nd_item.get_sub_group().get_max_local_range()

    def size(local, profile=None, **options):
        with kapi.simulation(profile=profile):
            kapi.call_kernel(kapi.kernel(**options)(ask), kapi.NdRange(local, local), sizes)
        return int(sizes[0])

    assert size(64) == 32
    assert size(64, "wide-cpu") == 64
    assert size(24, "wide-cpu") == 16
    assert size(2, "wide-cpu") == 4
    assert size(24, "wide-cpu", sub_group_size=8) == 8


def test_sub_groups_go_on_by_themselves(capsys):
    @kapi.kernel
    def loops(nd_item: kapi.NdItem):
        sub_group = nd_item.get_sub_group()
        for _ in range(sub_group.get_group_id() + 1):
            kapi.group_barrier(sub_group)
            if sub_group.leader:
                print(sub_group.get_group_id())
        kapi.group_barrier(nd_item.get_group())

    for checks in ("all", "none"):
        with kapi.simulation(checks=checks, profile=SUB_GROUPS_OF_4):
            kapi.call_kernel(loops, kapi.NdRange(12, 12))
        assert sorted(capsys.readouterr().out.split()) == ["0", "1", "1", "2", "2", "2"]


def test_loop_may_wait_for_what_another_sub_group_does_after_its_own_barrier():
    @kapi.kernel
    def waits(nd_item: kapi.NdItem, flag):
        sub_group = nd_item.get_sub_group()
        if sub_group.get_group_id() == 0:
            while kapi.AtomicRef(flag, 0, kapi.MemoryOrder.ACQUIRE).load() == 0:
                pass
        else:
            kapi.group_barrier(sub_group)
            if sub_group.leader:
                kapi.AtomicRef(flag, 0, kapi.MemoryOrder.RELEASE).store(1)

    with kapi.simulation(profile=SUB_GROUPS_OF_4, spin_limit=20_000):
        kapi.call_kernel(waits, kapi.NdRange(8, 8), np.zeros(1, np.int32))


def test_divergence_of_one_sub_group_names_who_waits_where():
    @kapi.kernel
    def diverges(nd_item: kapi.NdItem):
        if nd_item.get_local_id(0) != 5:
            kapi.any_of_group(nd_item.get_sub_group(), True)

    with (
        kapi.simulation(profile=SUB_GROUPS_OF_4),
        raises(
            kapi.CollectiveMismatchError, "meeting-missed", line="kapi.any_of_group(nd_item.get_sub_group(), True)"
        ) as caught,
    ):
        kapi.call_kernel(diverges, kapi.NdRange(8, 8))
    message = str(caught.value)
    assert "must be reached by all 4 work-items of the sub-group, got 3" in message
    assert "work-item global (5,), local (5,), group (0,) left the kernel without it" in message
