"""Options of `@kernel`: validated in one place, kept to by the simulator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language import FAST_MATH_FLAGS, KernelOptions
from kapi_sim.testing.reports import raises


def test_options_are_a_value():
    """Equal options are one cache key, in every spelling, and survive a process."""
    assert KernelOptions(fastmath=["nsz", "arcp"]) == KernelOptions(fastmath={"arcp", "nsz"})
    assert KernelOptions(work_group_size=[8, 4]).work_group_size == (8, 4)
    assert len({KernelOptions(), KernelOptions(debug=True), KernelOptions(debug=False)}) == 2
    options = KernelOptions(fastmath=True, work_group_size=64)
    assert pickle.loads(pickle.dumps(options)) == options
    assert options.fast_math_flags == tuple(sorted(FAST_MATH_FLAGS))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"debug": 1}, "option-bool"),
        ({"boundscheck": None}, "option-bool"),
        ({"lineinfo": "yes"}, "option-bool"),
        ({"fastmath": "nnan"}, "option-fastmath"),
        ({"fastmath": 3}, "option-fastmath"),
        ({"fastmath": {"fast"}}, "option-fastmath"),
        ({"fastmath": [["nnan"]]}, "option-fastmath"),
        ({"inline": True}, "option-inline"),
        ({"work_group_size": 0}, "option-work-group-size"),
        ({"work_group_size": (1, 1, 1, 1)}, "option-work-group-size"),
        ({"work_group_size": 2.0}, "option-work-group-size"),
        ({"max_work_group_size": -1}, "option-number"),
        ({"sub_group_size": True}, "option-number"),
        (
            {"work_group_size": (16, 16), "max_work_group_size": 128},
            "option-work-group-sizes",
        ),
        ({"optimize": 3, "cache": True}, "option-unknown"),
    ],
)
def test_options_refuse_what_they_cannot_be(given, code):
    """The decorator itself raises, before any launch."""
    with raises(kapi.KernelCompilationError, code):
        kapi.kernel(**given)


def test_options_come_with_or_without_parentheses():
    """`@kernel`, `@kernel()` and `@kernel(option=...)` all make kernels."""

    def fill(item, a):
        a[item.get_id(0)] = 1

    for made, options in (
        (kapi.kernel(fill), KernelOptions()),
        (kapi.kernel()(fill), KernelOptions()),
        (kapi.kernel(debug=True)(fill), KernelOptions(debug=True)),
    ):
        data = np.zeros(3, dtype=np.int32)
        made[kapi.Range(3)](data)
        assert made.options == options
        assert data.tolist() == [1, 1, 1]
    with raises(kapi.KernelCompilationError, "kernel-form"):
        kapi.kernel(debug=True)(3)


def test_options_hold_launches_to_the_work_group_size():
    """The simulator demands what the compiler relies on."""

    @kapi.kernel(work_group_size=(2, 4))
    def fill(nd_item: kapi.NdItem, a):
        a[nd_item.get_global_id(0), nd_item.get_global_id(1)] = 1

    data = np.zeros((4, 8))
    kapi.call_kernel(fill, kapi.NdRange((4, 8), (2, 4)), data)
    assert data.all()
    with raises(kapi.LimitError, "work-group-size-other"):
        kapi.call_kernel(fill, kapi.NdRange((4, 8), (4, 2)), data)

    @kapi.kernel(work_group_size=4)
    def single(item, a):
        a[item.get_id(0)] = 1

    with raises(kapi.LimitError, "work-group-size-in-range"):
        kapi.call_kernel(single, kapi.Range(4), data)


def test_options_hold_launches_to_the_largest_work_group():
    """Smaller groups are fine."""

    @kapi.kernel(max_work_group_size=4)
    def fill(nd_item: kapi.NdItem, a):
        a[nd_item.get_global_id(0)] = 1

    data = np.zeros(8)
    kapi.call_kernel(fill, kapi.NdRange(8, 4), data)
    kapi.call_kernel(fill, kapi.NdRange(8, 2), data)
    with raises(kapi.LimitError, "work-group-above-option"):
        kapi.call_kernel(fill, kapi.NdRange(8, 8), data)


def test_options_check_the_sub_group_size_against_the_profile():
    """Without a profile every size is one that a device may have."""

    @kapi.kernel(sub_group_size=16)
    def fill(item: kapi.Item, a):
        a[item.get_id(0)] = 1

    data = np.zeros(4)
    kapi.call_kernel(fill, kapi.Range(4), data)
    with (
        kapi.simulation(profile="sub-groups-of-32"),
        raises(kapi.LimitError, "sub-group-size-unknown"),
    ):
        kapi.call_kernel(fill, kapi.Range(4), data)


@pytest.mark.parametrize("option", ["debug", "boundscheck"])
def test_options_check_bounds_where_the_settings_do_not(option):
    """An option of the kernel holds under `checks="none"`, too."""

    @kapi.kernel(**{option: True})
    def over(item: kapi.Item, a):
        a[item.get_id(0) - 1] = 1

    with (
        kapi.simulation(checks="none"),
        raises(kapi.OutOfBoundsError, "negative-index", line="a[item.get_id(0) - 1] = 1"),
    ):
        kapi.call_kernel(over, kapi.Range(4), np.zeros(4))
