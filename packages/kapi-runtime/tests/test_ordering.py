"""Order with dpnp's work on the same queue, in both directions.

The CPU's queues run their commands in the order of submission, mostly, so that a missing dependency does not show.  The
gate makes it show: an event that stays pending while this thread keeps the GIL.  Work that waits for the gate is then
overtaken by work that should wait for it and does not.
"""

from __future__ import annotations

import sys
import time
import types
from contextlib import contextmanager

import dpctl
import dpnp
import numpy as np
import pytest
from dpctl.utils import SequentialOrderManager

import kapi_runtime as kapi
from kapi_runtime.sycl import plan as plan_module
from kapi_runtime.sycl import platform as platform_module
from kapi_runtime.sycl.queues import keep_alive
from kapi_types.usm.structures import array_fields

SIZE = 1000


@kapi.kernel
def double(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[i] * 2


@contextmanager
def gate():
    """Give an event that is pending until this thread lets go of the GIL, as every wait does."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        yield dpctl.SyclQueue(kapi.default_device())._submit_keep_args_alive((object(),), [])
    finally:
        sys.setswitchinterval(interval)


def arrays(queue):
    """Two arrays, of ones and zeros, of which nothing is pending, and a kernel compiled for them."""
    source, target = (fill(SIZE, dtype="int64", sycl_queue=queue) for fill in (dpnp.ones, dpnp.zeros))
    kapi.call_kernel(double, kapi.Range(SIZE), target, target)
    queue.wait()
    return source, target


def host_view(array):
    """The array's memory as NumPy sees it, without a wait."""
    fields = array_fields(array)
    interface = {"data": (fields.pointer, False), "shape": fields.shape, "typestr": fields.dtype.str, "version": 3}
    return np.asarray(types.SimpleNamespace(__array_interface__=interface))


def kernel_then_dpnp(queue):
    """dpnp's result from a kernel's pending output: 3 if it waited for the kernel, 1 if not."""
    source, target = arrays(queue)
    # Made before, and of integers: an allocation lets go of the GIL, and dpnp adds floats by a call that waits.
    result = dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)
    ones = dpnp.ones(SIZE, dtype="int64", sycl_queue=queue)
    queue.wait()
    with gate() as event:
        kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
        dpnp.add(target, ones, out=result)
    queue.wait()
    return set(result.asnumpy())


def dpnp_then_kernel(queue):
    """A kernel's result from dpnp's pending output: 14 if it waited for dpnp, 2 if not."""
    source, target = arrays(queue)
    with gate() as event:
        SequentialOrderManager[queue].add_event_pair(event, event)
        source.fill(7)
        kapi.call_kernel_async(double, kapi.Range(SIZE), [], source, target)
    queue.wait()
    return set(target.asnumpy())


def kernel_then_kernel(queue):
    """A second kernel's result from the first one's pending output: 4 if it waited, 0 if not."""
    source, target = arrays(queue)
    result = dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)
    queue.wait()
    with gate() as event:
        kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
        kapi.call_kernel_async(double, kapi.Range(SIZE), [], target, result)
    queue.wait()
    return set(result.asnumpy())


@pytest.fixture(params=["default", "out-of-order", "in-order"])
def queue(request):
    if request.param == "default":
        return kapi.default_queue()
    properties = {"property": "in_order"} if request.param == "in-order" else {}
    return dpctl.SyclQueue(kapi.default_device(), **properties)


@pytest.fixture
def no_order(monkeypatch):
    """Launches that neither wait for other work nor tell of their own."""

    class Nothing:
        submitted_events: list[dpctl.SyclEvent] = []  # noqa: RUF012  # never changed

        def add_event_pair(self, *events):
            pass

        def get_submitted_events(self):
            return []

    class Manager:
        def __class_getitem__(cls, queue):
            return Nothing()

    class Unchained:
        """The plans' query: each launch finds a chain of its own."""

        def __getitem__(self, queue):
            return self

        @property
        def kapi_chain(self):
            done = dpctl.SyclEvent()
            return [done, done, Nothing(), []]

    monkeypatch.setattr(platform_module, "SequentialOrderManager", Manager)
    monkeypatch.setattr(plan_module, "managers", Unchained)


def test_dpnp_waits_for_a_kernel(queue):
    assert kernel_then_dpnp(queue) == {3}


def test_kernel_waits_for_dpnp(queue):
    assert dpnp_then_kernel(queue) == {14}


def test_kernel_waits_for_a_kernel(queue):
    assert kernel_then_kernel(queue) == {4}


@pytest.mark.parametrize(
    ("run", "unordered"),
    [(kernel_then_dpnp, {1}), (dpnp_then_kernel, {2}), (kernel_then_kernel, {0})],
    ids=["kernel then dpnp", "dpnp then kernel", "kernel then kernel"],
)
def test_order_is_what_the_gate_tests(no_order, run, unordered):
    # Now and then the GIL is let go of all the same, and the gate opens too early to show anything; on a busy machine
    # that can go on for a while.
    def is_listed():
        time.sleep(0.01)
        return run(kapi.default_queue()) == unordered

    assert any(is_listed() for _ in range(300))


def test_wait_is_for_what_a_host_task_holds_back(no_order):
    """A barrier is not enough: SYCL's runtime submits it at times before such a kernel."""
    queue = kapi.default_queue()
    for _ in range(300):
        source, target = arrays(queue)
        result = dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)
        seen = host_view(target)
        with gate() as event:
            kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
            dpnp.add(source, source, out=result)
        queue.wait()
        found = set(seen)
        dpctl.SyclQueue.wait(queue)  # the arrays may go
        assert found == {2}


def is_pending_after_another_launch():
    """Whether a launch that waits for the gate is still to be done when the next one has been submitted."""
    source, target = arrays(kapi.default_queue())
    with gate() as event:
        _, device_event = kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
        kapi.call_kernel_async(double, kapi.Range(SIZE), [], target, source)
        is_pending = device_event.execution_status != dpctl.event_status_type.complete
    source.sycl_queue.wait()
    return is_pending


def test_launch_does_not_wait_for_pending_work():
    # Did it wait, it never would; the gate opening too early shows nothing.
    assert any(is_pending_after_another_launch() for _ in range(100))


def test_alternating_launches_keep_their_order(queue):
    values = dpnp.zeros(SIZE, dtype="int64", sycl_queue=queue)
    expected = 0
    for step in range(60):
        kapi.call_kernel_async(double, kapi.Range(SIZE), [], values, values)
        values += step
        expected = expected * 2 + step
        if expected > 2**40:
            values //= 2**20
            expected //= 2**20
    assert set(values.asnumpy()) == {expected}


def freed_while_pending():
    """Whether memory that a pending kernel writes is given to the next allocation."""
    source, target = arrays(kapi.default_queue())
    nbytes, address = target.nbytes, target.get_array()._pointer
    with gate() as event:
        kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
        del source, target
        taken = [dpctl.memory.MemoryUSMDevice(nbytes, queue=kapi.default_queue()) for _ in range(20)]
        is_reused = address in [memory._pointer for memory in taken]
    kapi.default_queue().wait()
    return is_reused


def test_arguments_stay_alive_while_a_kernel_is_pending():
    assert not freed_while_pending()


WITHOUT_OWNERS = {
    "plain": """
native_functions._made[:] = [None]
keep_alive.keep = lambda queue, event, owners: None
""",
    "native": """
from dataclasses import replace
made = native_functions.native_functions()
launch = lambda plan, given, owners, chain, before: made.launch(plan, given, None, chain, before)
native_functions._made[:] = [replace(made, launch=launch)]
""",
}


@pytest.mark.parametrize("name", WITHOUT_OWNERS)
def test_keeping_alive_is_what_the_allocation_tests(run_python, name):
    # In a process of its own: it writes to memory that is somebody else's, and may end by it.
    done = run_python(
        "import runpy, kapi_runtime\n"
        "from kapi_runtime.sycl.native import native_functions\n"
        "from kapi_runtime.sycl.queues import keep_alive\n"
        f"{WITHOUT_OWNERS[name]}\n"
        f"pending = runpy.run_path({__file__!r})['freed_while_pending']\n"
        "print(any(pending() for _ in range(100)))"
    )
    assert done.returncode != 0 or done.stdout.strip() == "True"


def test_arguments_are_let_go_after_the_wait():
    source, target = arrays(kapi.default_queue())
    with gate() as event:
        host_event, _ = kapi.call_kernel_async(double, kapi.Range(SIZE), [event], source, target)
        before = sys.getrefcount(source), keep_alive.in_flight()
    host_event.wait()
    after = sys.getrefcount(source), keep_alive.in_flight()
    assert after == (before[0] - 1, before[1] - 1)


def test_pending_launch_at_exit_ends_well(run_python, tmp_path):
    program = tmp_path / "exits.py"
    program.write_text(
        "import kapi_runtime as kapi, dpnp\n"
        "@kapi.kernel\n"
        "def work(item: kapi.Item, a):\n"
        "    i = item.get_id(0)\n"
        "    for k in range(2000):\n"
        "        a[i] = a[i] + k\n"
        "kapi.call_kernel_async(work, kapi.Range(100000), [], dpnp.zeros(100000))\n"
    )
    done = run_python("", str(program))
    assert (done.returncode, done.stderr) == (0, "")
