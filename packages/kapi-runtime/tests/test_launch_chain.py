"""Launches that follow each other are ordered by themselves, and dpctl is told of the last one when somebody asks."""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from contextvars import copy_context

import dpctl
import dpnp
import pytest
from dpctl.utils import SequentialOrderManager

import kapi_runtime as kapi
from kapi_runtime.sycl.native.structures import HANDED_OVER, KEEPER, KEPT, LAST
from kapi_runtime.sycl.queues import launch_chain as chain_module

SIZE = 1000

pytestmark = pytest.mark.usefixtures("native")


@kapi.kernel
def increment(item: kapi.Item, target):
    target[item.get_id(0)] += 1


@kapi.kernel
def double(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[i] * 2


@pytest.fixture
def queue():
    """A queue that nobody has used."""
    return dpctl.SyclQueue(kapi.default_device())


@contextmanager
def gate():
    """Give an event that is pending until this thread lets go of the GIL, as every wait does."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        yield dpctl.SyclQueue(kapi.default_device())._submit_keep_args_alive((object(),), [])
    finally:
        sys.setswitchinterval(interval)


def launch_twice(target):
    """Launch by a plan; the first launch makes it."""
    for _ in range(2):
        kapi.call_kernel_async(increment, kapi.Range(SIZE), [], target)


def zeros(queue):
    return dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)


def test_dpctl_is_notified_on_request(queue):
    target = zeros(queue)
    launch_twice(target)
    manager, chain = SequentialOrderManager[queue], chain_module.chain_of(queue)
    launch = increment.bind(kapi.Range(SIZE), target)
    for ask in (
        lambda: manager.submitted_events,
        lambda: manager.host_task_events,
        lambda: manager.num_submitted_events,
        lambda: manager.num_host_task_events,
        lambda: manager.add_event_pair(dpctl.SyclEvent(), dpctl.SyclEvent()),
        lambda: manager.add_event_pair([dpctl.SyclEvent()], [dpctl.SyclEvent()]),
        lambda: manager.__copy__(),
        lambda: manager.wait(),
    ):
        _, event = launch()
        assert chain[LAST] is event
        assert chain[HANDED_OVER] is not event
        ask()
        assert chain[HANDED_OVER] is event


def test_dpctl_holds_one_event_for_many_launches(queue):
    target = zeros(queue)
    launch_twice(target)
    launch = increment.bind(kapi.Range(SIZE), target)
    queue.wait()
    manager, keeper = SequentialOrderManager[queue], chain_module.chain_of(queue)[KEEPER]
    manager.wait()
    for _ in range(100):
        with gate() as event:
            launch([event])
            for _ in range(9):
                launch()
            counts = keeper.get_num_submitted_events(), manager.num_submitted_events
        queue.wait()
        if counts == (0, 1):  # otherwise the gate has opened too early to show anything
            return
    raise AssertionError(counts)


@pytest.mark.parametrize("is_kernel_first", [True, False], ids=["kernel then dpnp", "dpnp then kernel"])
def test_order_with_dpnp_is_by_handing_over(queue, is_kernel_first):
    """A manager of its old class neither hands over nor notices: then, and only then, the gate shows a wrong order."""
    source, target, result = (zeros(queue) for _ in range(3))
    launch = double.bind(kapi.Range(SIZE), source, target)
    launch()
    manager = SequentialOrderManager[queue]
    ones = dpnp.ones(SIZE, dtype="int64", sycl_queue=queue)

    def run():
        source.fill(1)
        target.fill(0)
        launch()
        target.fill(0)
        manager.wait()
        launch()  # which dpctl does not know of
        queue.wait()
        target.fill(0)
        queue.wait()
        with gate() as event:
            if is_kernel_first:
                launch([event])
                dpnp.add(target, ones, out=result)
            else:
                manager.add_event_pair(event, event)
                source.fill(7)
                launch()
        queue.wait()
        time.sleep(0.01)
        return set((result if is_kernel_first else target).asnumpy())

    ordered, unordered = ({3}, {1}) if is_kernel_first else ({14}, {2})
    assert all(run() == ordered for _ in range(5))
    chained, manager = manager, type(manager).__bases__[0]()
    manager._state, manager.kapi_chain = chained.kapi_links[KEEPER], chained.kapi_links
    chain_module.managers()[queue] = manager
    try:
        assert any(run() == unordered for _ in range(300))
    finally:
        chain_module.managers()[queue] = chained
        queue.wait()


def test_manager_is_still_one_of_dpctl_s(queue):
    class_before = type(SequentialOrderManager[queue])
    target = zeros(queue)
    launch_twice(target)
    manager = SequentialOrderManager[queue]
    assert type(manager) is not class_before
    assert isinstance(manager, class_before)
    launch_twice(target)
    assert SequentialOrderManager[queue] is manager


def test_cleared_managers_are_replaced(queue):
    target = zeros(queue)
    launch_twice(target)
    chain = chain_module.chain_of(queue)
    SequentialOrderManager.clear()
    launch_twice(target)
    assert chain_module.chain_of(queue) is not chain
    assert set(target.asnumpy()) == {4}


def test_context_with_managers_of_its_own_has_a_chain_of_its_own(queue):
    target = zeros(queue)
    launch_twice(target)
    queue.wait()
    manager_class = type(SequentialOrderManager[queue]).__bases__[0]

    def elsewhere():
        SequentialOrderManager._map.set(defaultdict(manager_class))
        launch_twice(target)
        queue.wait()
        return chain_module.chain_of(queue)

    assert copy_context().run(elsewhere) is not chain_module.chain_of(queue)
    assert set(target.asnumpy()) == {4}


def test_chain_begins_when_nobody_has_the_old_manager(queue, slow_path):
    target = zeros(queue)
    old = SequentialOrderManager[queue]
    launch_twice(target)
    assert len(slow_path) == 2
    assert chain_module.chain_of(queue) is None
    new = SequentialOrderManager[queue]
    assert new is not old
    queue.wait()
    new.wait()
    with gate() as event:
        old.add_event_pair(event, event)
        assert new.num_submitted_events == 1
    queue.wait()
    del old
    launch_twice(target)
    assert len(slow_path) == 2
    assert chain_module.chain_of(queue) is SequentialOrderManager[queue].kapi_chain
    assert set(target.asnumpy()) == {4}


@pytest.mark.parametrize("is_held_by", ["a frame", "a thread that waits"])
def test_old_manager_may_be_held_anywhere(queue, is_held_by):
    if is_held_by == "a frame":

        def holding():
            manager = SequentialOrderManager[queue]
            yield
            del manager

        holder = holding()
        next(holder)
        let_go = holder.close
    else:
        has_it, is_over = threading.Event(), threading.Event()

        def hold():
            manager = SequentialOrderManager[queue]
            has_it.set()
            is_over.wait()
            return manager

        thread = threading.Thread(target=hold)
        thread.start()
        has_it.wait()

        def let_go():
            is_over.set()
            thread.join()

    assert chain_module.chain_of(queue) is None
    let_go()
    assert chain_module.chain_of(queue) is not None


def test_held_manager_of_one_queue_leaves_launches_on_others_alone(queue, slow_path):
    launch_twice(zeros(queue))
    SequentialOrderManager.clear()
    held = SequentialOrderManager[queue]
    target = zeros(dpctl.SyclQueue(kapi.default_device()))
    launch_twice(target)
    assert len(slow_path) == 2
    launch_twice(zeros(queue))
    assert len(slow_path) == 4
    assert held is not SequentialOrderManager[queue]


def test_without_chains_launches_take_the_slow_path(queue, monkeypatch):
    monkeypatch.setattr(chain_module, "_classes", {})
    monkeypatch.setattr(chain_module, "_hands_over", lambda base, made: False)
    target = zeros(queue)
    launch = increment.bind(kapi.Range(SIZE), target)
    launch()
    launch_twice(target)
    target += 1
    launch()
    assert set(target.asnumpy()) == {5}
    assert not hasattr(SequentialOrderManager[queue], "kapi_chain")


def test_class_that_does_not_hand_over_is_found_out():
    class Base:
        def __init__(self):
            self._state = None

        submitted_events = host_task_events = property(lambda self: self._state.get_submitted_events())

        def add_event_pair(self, *events):
            self._state.add_to_both_events(*events)

        def wait(self):
            self._state.wait()

    class Forgetful(Base):
        submitted_events = property(lambda self: vars(self)["_state"])

    assert chain_module._hands_over(Base, chain_module._make_class(Base))
    assert not chain_module._hands_over(Forgetful, chain_module._make_class(Forgetful))


def test_launches_let_go_of_what_they_used(queue):
    target = zeros(queue)
    launch = increment.bind(kapi.Range(SIZE), target)
    launch()
    kept = chain_module.chain_of(queue)[KEPT]
    for _ in range(100):
        launch()
        queue.wait()
        assert len(kept) <= 32
    launch()[0].wait()
    assert kept == []


def test_threads_that_launch_and_ask_keep_one_order(queue):
    target = zeros(queue)
    launch = increment.bind(kapi.Range(SIZE), target)
    launch()
    manager, done = SequentialOrderManager[queue], dpctl.SyclEvent()

    def ask():
        manager.add_event_pair(done, done)
        assert len(manager.submitted_events) >= 0

    def work(act):
        for _ in range(200):
            act()

    threads = [threading.Thread(target=work, args=(act,)) for act in (launch, ask, launch, ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set((target + 0).asnumpy()) == {401}
