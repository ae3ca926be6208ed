"""Launches by plans call the driver's own function, without Python in between, as by its Python interface."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cuda.native import submission
from kapi_sim.testing.reports import raises

SIZE = 1000


@kapi.kernel
def scale(item: kapi.Item, target, source, factor):
    i = item.get_id(0)
    target[i] = source[i] * factor


@pytest.fixture
def arrays(lib):
    return [lib.array(np.ones(SIZE, np.float32)) for _ in range(2)]


@pytest.fixture
def spied(monkeypatch):
    """The addresses that native code was told to launch."""
    addresses, send = [], submission.sender(at_once=True)
    assert send is not None, submission.why_not()

    def spy(address):
        addresses.append(address)
        return send(address)

    monkeypatch.setattr(submission, "_made", [spy])
    return addresses


def fresh():
    return kapi.kernel(scale.py_func)


def test_native_launch_is_what_the_driver_s_interface_is_given(gpu, arrays, monkeypatch, spied):
    gpu.packed_size = 40  # two arrays of one axis, and how many elements the local memory has
    space = kapi.NdRange(SIZE, 100)

    @kapi.kernel
    def local(item: kapi.NdItem, target, source, scratch):
        i = item.get_global_id(0)
        scratch[item.get_local_id(0)] = source[i]
        target[i] = scratch[item.get_local_id(0)]

    launch = local.bind(space, *arrays, kapi.LocalAccessor(100, np.float32))
    launch()
    launch()
    assert len(spied) == 2
    monkeypatch.setattr(submission, "_made", [None])
    local.bind(space, *arrays, kapi.LocalAccessor(100, np.float32))()
    assert len(spied) == 2
    first, second, plain = gpu.launches
    assert first == second
    for name in ("entry", "grid", "block", "shared", "stream", "packed"):
        assert getattr(first, name) == getattr(plain, name)


def test_native_launch_that_is_refused_is_told_by_the_long_way(gpu, arrays, spied):
    launch = fresh().bind(kapi.Range(SIZE), *arrays, 2.0)
    launch()
    gpu.fail["cuLaunchKernel"] = 701
    with raises(kapi.KernelLaunchError, "launch-refused"):
        launch()
    assert len(spied) == 2


def test_native_launch_in_a_thread_without_a_context_enters_it(gpu, arrays, spied):
    launch = fresh().bind(kapi.Range(SIZE), *arrays, 2.0)
    gpu.fail["cuLaunchKernel"] = [201]
    launch()
    assert len(spied) == 2
    assert len(gpu.launches) == 1


def test_plan_turns_to_native_code_once_it_is_worth_it(gpu, arrays, monkeypatch):
    monkeypatch.setattr(submission, "_made", [])
    monkeypatch.setattr(submission._worth, "is_worth_it", lambda: False)
    kernel = fresh()
    for _ in range(3):
        kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *arrays, 2.0)
    assert submission._made == []
    monkeypatch.setattr(submission._worth, "is_worth_it", lambda: True)
    kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *arrays, 2.0)
    assert submission._made != [None]
    before = len(gpu.launches)
    kapi.call_kernel_async(kernel, kapi.Range(SIZE), (), *arrays, 3.0)
    (plan,) = kernel._plans[kapi.Range(SIZE)]
    assert plan._native.func is submission._made[0]
    assert len(gpu.launches) == before + 1


def test_driver_without_addresses_is_called_by_its_interface(gpu, arrays):
    gpu.gives_addresses = False
    assert submission.cu_launch_kernel() == 0
    fresh().bind(kapi.Range(SIZE), *arrays, 2.0)()
    assert len(gpu.launches) == 1


def test_doctor_says_which_way_launches_go(gpu, monkeypatch):
    from kapi_runtime.platform.installed import platforms

    (platform,) = [each for each in platforms() if each.name == "cuda"]
    assert platform.findings().launches == "native"
    monkeypatch.setattr(submission, "_made", [])
    gpu.gives_addresses = False
    assert platform.findings().launches == (
        "plain, the slow way: the driver must give the address of cuLaunchKernel, got none"
    )
