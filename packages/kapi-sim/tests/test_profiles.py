"""Pretended devices: those that ship, those of one's own, and what is reported against them."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.checks.check_names import ALL_CHECKS
from kapi_sim.testing.reports import raises


@kapi.kernel
def halve(item: kapi.Item, counts, out):
    i = item.get_id(0)
    out[i] = counts[i] * 0.5  # double


@kapi.kernel
def halve_narrow(item: kapi.Item, counts, out):
    i = item.get_id(0)
    out[i] = np.float32(counts[i]) * 0.5


def test_computed_float64_is_reported_without_fp64(line_with):
    counts, out = np.arange(4, dtype=np.int32), np.zeros(4, np.float32)
    with kapi.simulation(profile="no-fp64"):
        with raises(kapi.DtypeError, "needs-fp64", line="out[i] = counts[i] * 0.5") as caught:
            kapi.call_kernel(halve, kapi.Range(4), counts, out)
        kapi.call_kernel(halve_narrow, kapi.Range(4), counts, out)
    assert f"test_profiles.py:{line_with('# double')}" in str(caught.value)
    kapi.call_kernel(halve, kapi.Range(4), counts, out)
    np.testing.assert_array_equal(out, [0, 0.5, 1, 1.5])
    with kapi.simulation(profile="no-fp64", checks=set(ALL_CHECKS) - {"limits"}):
        kapi.call_kernel(halve, kapi.Range(4), counts, out)


@kapi.kernel
def touch(nd_item: kapi.NdItem, a):
    a[nd_item.get_global_id(0)] = 1


@pytest.mark.parametrize("name", sorted(kapi.PROFILES))
def test_shipped_profile_limits_the_group(name):
    most = kapi.PROFILES[name].max_work_group_size
    with kapi.simulation(profile=name):
        kapi.call_kernel(touch, kapi.NdRange(most, most), np.zeros(most, np.float32))
        with raises(kapi.LimitError, "work-group-too-large"):
            kapi.call_kernel(touch, kapi.NdRange(most + 1, most + 1), np.zeros(most + 1, np.float32))


def test_each_shipped_profile_differs():
    assert len(set(kapi.PROFILES.values())) == len(kapi.PROFILES)
    assert kapi.Profile() not in kapi.PROFILES.values()


DEVICE = {
    "name": "a device",
    "has_aspect_fp64": False,
    "has_aspect_fp16": True,
    "has_aspect_atomic64": False,
    "max_work_group_size": 256,
    "local_mem_size": 32768,
    "sub_group_sizes": [8, 16],
}


def test_profile_of_device_properties():
    assert kapi.Profile.from_device_properties(DEVICE) == kapi.Profile(
        has_fp64=False,
        has_atomic64=False,
        max_work_group_size=256,
        local_mem_size=32768,
        sub_group_sizes=(8, 16),
    )
    incomplete = {name: value for name, value in DEVICE.items() if name not in ("has_aspect_fp64", "local_mem_size")}
    with raises(kapi.KernelLaunchError, "profile-incomplete"):
        kapi.Profile.from_device_properties(incomplete)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"max_work_group_size": 0}, "profile-number"),
        ({"local_mem_size": 1.5}, "profile-number"),
        ({"sub_group_sizes": ()}, "profile-sub-groups"),
        ({"sub_group_sizes": (8, -1)}, "profile-number"),
    ],
)
def test_profile_is_validated(limits, code):
    with raises(kapi.KernelLaunchError, code):
        kapi.Profile(**limits)


def test_unknown_profile_names_those_that_ship():
    with raises(kapi.KernelLaunchError, "profile-unknown"), kapi.simulation(profile="gpu"):
        pass
