from __future__ import annotations

import threading

import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.kernels.kernel_information import suggested_local_range
from kapi_runtime.platform.interface import DeviceLimits
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, left, right):
    i = item.get_id(0)
    left[i] += right[i]


@kapi.kernel(sub_group_size=16)
def sixteen(item: kapi.NdItem, target):
    target[item.get_global_id(0)] = 1


@kapi.kernel(work_group_size=(4, 32))
def fixed(item: kapi.NdItem, target):
    target[item.get_global_id(0), item.get_global_id(1)] = 1


@kapi.kernel(max_work_group_size=32)
def small(item: kapi.NdItem, target):
    target[item.get_global_id(0)] = 1


def test_information_is_what_the_device_says_of_each_module():
    @kapi.kernel
    def fresh(item: kapi.Item, target):
        target[item.get_id(0)] = 1

    assert fresh.information() == {}
    fresh[4](dpnp.zeros(4))
    fresh[4](dpnp.zeros(4, dtype="int32"))
    information = fresh.information()
    assert list(information) == list(fresh.inspect_spirv())
    device = kapi.default_device()
    for each in information.values():
        assert 1 <= each.max_work_group_size <= device.max_work_group_size
        assert each.preferred_work_group_size_multiple >= 1
        assert each.private_mem_size >= 0
        assert each.sub_group_sizes == tuple(device.sub_group_sizes)
        assert each.max_sub_group_size in each.sub_group_sizes or each.max_sub_group_size > 0
        assert each.compile_sub_group_size is None
        assert each.local_mem_size == device.local_mem_size


def test_information_of_a_sub_device_is_its_own(sub_device):
    add[4](dpnp.zeros(4), dpnp.zeros(4))
    (information,) = add.information(sub_device).values()
    assert "a sub-device of" in information.device


def test_demanded_sub_group_size_is_reported():
    sixteen[32, 16](dpnp.zeros(32))
    (information,) = sixteen.information().values()
    assert information.compile_sub_group_size == 16
    assert "demanded: 16" in str(information)


def test_information_of_precompiled_kernels_is_reported():
    kernel = kapi.load_opencl("kernel void k(global int *x) { x[0] = 1; }", "k", {"x": "int32[:]"})
    assert list(kernel.information()) == ["k(x: int32[:])"]
    kernel[1](dpnp.zeros(1, dtype="int32"))
    assert (kernel.statistics.launches, kernel.statistics.modules) == (1, 1)


def test_suggested_local_range_divides_and_keeps_the_limits():
    device = kapi.default_device()
    for space in [(1_000_000,), (1797, 64), (12, 7, 640), (1,), (64, 64), (3, 1000003)]:
        local = add.suggest_local_range(space)
        assert isinstance(local, kapi.Range)
        assert all(extent % step == 0 for extent, step in zip(space, local, strict=True))
        assert local.size <= min(256, device.max_work_group_size)


def test_suggested_local_range_can_be_launched():
    target = dpnp.zeros(1536)
    sixteen[1536, sixteen.suggest_local_range(1536)](target)
    assert target.asnumpy().sum() == 1536


def test_suggested_local_range_prefers_the_last_dimension():
    assert add.suggest_local_range((4096, 4096)) == kapi.Range(1, 256)
    assert add.suggest_local_range((4096, 16)) == kapi.Range(16, 16)


def test_suggested_local_range_keeps_every_unit_busy():
    units = kapi.default_device().max_compute_units
    local = add.suggest_local_range(64 * units)
    assert 64 * units // local.size >= 4 * units


def test_suggested_local_range_keeps_the_kernel_s_options():
    assert fixed.suggest_local_range((64, 64)) == kapi.Range(4, 32)
    assert small.suggest_local_range(4096) == kapi.Range(32)


def test_suggested_local_range_is_a_preferred_multiple_where_one_divides():
    class Information:
        max_work_group_size = 100
        preferred_work_group_size_multiple = 16

    limits = DeviceLimits(compute_units=2, max_work_group_size=8192, max_work_item_sizes=(8192, 8192, 8192))
    # 100 would divide, too.
    assert suggested_local_range(48_000, limits, [Information()]) == kapi.Range(96)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("many", "range-type"),
        (-1, "range-extent"),
        ((1, 2, 3, 4), "range-dimensions"),
    ],
)
def test_suggested_local_range_of_no_range_is_an_error(given, code):
    with raises(kapi.LimitError, code):
        add.suggest_local_range(given)


def test_statistics_count_launches_of_all_paths_and_threads():
    @kapi.kernel
    def counted(item: kapi.Item, target):
        target[item.get_id(0)] = 1

    target = dpnp.zeros(8)
    assert (counted.statistics.launches, counted.statistics.modules) == (0, 0)
    counted[8](target)
    kapi.call_kernel(counted, kapi.Range(8), target)
    kapi.call_kernel_async(counted, kapi.Range(8), [], dpnp.zeros(8, dtype="int8"))[0].wait()
    launch = counted.bind(kapi.Range(8), target)
    launch()
    launch()
    threads = [threading.Thread(target=lambda: [counted[8](target) for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counted.statistics.launches, counted.statistics.modules) == (45, 2)


def test_reset_drops_plans_and_what_was_built(sub_device):
    @kapi.kernel
    def again(item: kapi.Item, target):
        target[item.get_id(0)] = 1

    here, there = dpnp.zeros(8), dpnp.zeros(8, sycl_queue=kapi.default_queue(sub_device))
    for target in (here, there, here, there):
        again[8](target)
    before = again.built_for(kapi.default_queue())
    kapi.current_context().reset()
    assert [plan.queue.sycl_device for plans in again._plans.values() for plan in plans] == [sub_device]
    again[8](here)
    after = again.built_for(kapi.default_queue())
    assert list(before) == list(after)
    assert all(after[name] is not before[name] for name in before)
