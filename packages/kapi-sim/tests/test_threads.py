"""Barriers in functions whose source is not available: on threads, as exact as otherwise."""

from __future__ import annotations

import linecache
import threading

import numpy as np
import pytest

import kapi_sim as kapi
import kapi_sim.run.work_item_threads
from kapi_sim.testing.reports import raises

SOURCE = """
@kapi.device_func
def swap(group, tile, k, value):
    tile[k] = value
    kapi.group_barrier(group)
    return tile[1 - k]

@kapi.kernel
def exchange(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    a[i] = swap(nd_item.get_group(), tile, nd_item.get_local_id(0), a[i])

@kapi.kernel
def forgets(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    kapi.group_barrier(nd_item.get_group())
    tile[k] = 1
    a[k] = tile[1 - k]

@kapi.kernel
def diverges(nd_item: kapi.NdItem):
    if nd_item.get_local_id(0) == 0:
        kapi.group_barrier(nd_item.get_group())

@kapi.kernel
def calls_twice(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    if k:
        swap(nd_item.get_group(), tile, k, 1)
    else:
        swap(nd_item.get_group(), tile, k, 1)

@kapi.kernel
def fails(nd_item: kapi.NdItem, a):
    kapi.group_barrier(nd_item.get_group())
    if nd_item.get_global_id(0) == 3:
        raise ValueError("item three")

@kapi.kernel
def shows(nd_item: kapi.NdItem):
    print(nd_item.get_global_id(0), "a")
    kapi.group_barrier(nd_item.get_group())
    print(nd_item.get_global_id(0), "b")

@kapi.kernel
def speaks(nd_item: kapi.NdItem, a, count, out):
    group = nd_item.get_group()
    sub_group = nd_item.get_sub_group()
    i = nd_item.get_global_id(0)
    kept = kapi.PrivateArray(2, np.float64)
    kept[1] = kapi.reduce_over_group(group, a[i], kapi.plus)
    after = kapi.shift_group_left(sub_group, a[i])
    kapi.group_barrier(sub_group)
    kapi.AtomicRef(count, 0, kapi.MemoryOrder.ACQ_REL).fetch_add(1)
    kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)
    out[i] = kept[1] + kapi.group_broadcast(group, i, linear_id=1)
    if sub_group.get_local_id() + 1 < sub_group.get_local_range():
        out[i] = after

@kapi.kernel
def counts(item: kapi.Item, count):
    kapi.AtomicRef(count, 0).fetch_add(1)

@kapi.kernel
def collects_in_part(nd_item: kapi.NdItem):
    if nd_item.get_local_id(0) == 0:
        kapi.all_of_group(nd_item.get_group(), True)

@kapi.kernel
def wrong_group(nd_item: kapi.NdItem):
    kapi.group_barrier(nd_item)
"""


@pytest.fixture
def prompt():
    """Names defined as at a prompt: no file holds their source."""
    names = {"kapi": kapi, "np": np, "__name__": "prompt"}
    exec(compile(SOURCE, "<prompt>", "exec"), names)
    assert linecache.getline("<prompt>", 3) == ""
    return names


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert kapi_sim.run.work_item_threads.CARRIED_OUT == {}
    assert threading.active_count() == before


def tile():
    return kapi.LocalAccessor(2, np.float64)


@pytest.mark.parametrize("checks", ["all", "none"])
def test_barrier_without_source(prompt, checks):
    a = np.arange(8.0)
    with kapi.simulation(checks=checks):
        kapi.call_kernel(prompt["exchange"], kapi.NdRange(8, 2), a, tile())
    np.testing.assert_array_equal(a, [1, 0, 3, 2, 5, 4, 7, 6])


@pytest.mark.parametrize("checks", ["all", "none"])
def test_language_without_source(prompt, checks):
    a = np.arange(8.0)
    count = np.zeros(1, np.int32)
    out = np.zeros(8)
    with kapi.simulation(checks=checks, profile=kapi.Profile(sub_group_sizes=(2,))):
        kapi.call_kernel(prompt["speaks"], kapi.NdRange(8, 4), a, count, out)
        kapi.call_kernel(prompt["counts"], kapi.Range(5), count)
    np.testing.assert_array_equal(out, [1, 7, 3, 7, 5, 27, 7, 27])
    assert count[0] == 13


def test_lambda_with_a_barrier(prompt):
    barrier = eval("kapi.device_func(lambda group: kapi.group_barrier(group))", prompt)

    @kapi.kernel
    def with_lambda(nd_item: kapi.NdItem, a):
        a[nd_item.get_local_id(0)] = 1
        barrier(nd_item.get_group())
        a[1 - nd_item.get_local_id(0)] += 1

    a = np.zeros(2)
    kapi.call_kernel(with_lambda, kapi.NdRange(2, 2), a)
    np.testing.assert_array_equal(a, 2)


def test_checks_see_what_threads_do(prompt):
    with raises(kapi.DataRaceError, "data-race"):
        kapi.call_kernel(prompt["forgets"], kapi.NdRange(2, 2), np.zeros(2), tile())
    with raises(kapi.BarrierDivergenceError, "meeting-missed"):
        kapi.call_kernel(prompt["diverges"], kapi.NdRange(2, 2))
    with raises(kapi.CollectiveMismatchError, "meeting-missed"):
        kapi.call_kernel(prompt["collects_in_part"], kapi.NdRange(2, 2))
    with raises(kapi.BarrierDivergenceError, "meetings-in-calls-differ", line=(31, 29)):
        kapi.call_kernel(prompt["calls_twice"], kapi.NdRange(2, 2), np.zeros(2), tile())
    with raises(kapi.KernelLaunchError, "foreign-group"):
        kapi.call_kernel(prompt["wrong_group"], kapi.NdRange(2, 2))


@pytest.mark.parametrize("checks", ["all", "none"])
def test_exception_names_its_item(prompt, checks):
    with kapi.simulation(checks=checks), pytest.raises(ValueError, match="item three") as caught:
        kapi.call_kernel(prompt["fails"], kapi.NdRange(4, 2), np.zeros(1))
    assert any("work-item global (3,)" in note for note in caught.value.__notes__)


def test_order_is_that_of_the_seed(prompt, capsys):
    kapi.call_kernel(prompt["shows"], kapi.NdRange(4, 2))
    assert capsys.readouterr().out.split() == "0 a 1 a 0 b 1 b 2 a 3 a 2 b 3 b".split()
    outputs = []
    for _ in range(2):
        with kapi.simulation(seed=5):
            kapi.call_kernel(prompt["shows"], kapi.NdRange(12, 4))
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0].split() != sorted(outputs[0].split())


def test_machine_without_threads_names_the_hint(prompt, monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(kapi_sim.run.work_item_threads, "start_new_thread", refuse)
    with raises(kapi.KernelCompilationError, "source-missing"):
        kapi.call_kernel(prompt["shows"], kapi.NdRange(2, 2))
