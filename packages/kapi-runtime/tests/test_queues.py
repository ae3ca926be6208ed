from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.sycl.queues.queue import profiling_queue
from kapi_sim.testing.reports import raises

SIZE = 1000
COMPLETE = dpctl.event_status_type.complete


@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value


@kapi.kernel
def add_one(item: kapi.Item, values):
    i = item.get_id(0)
    values[i] += 1


@contextmanager
def gate(queue):
    """Keep work on a queue pending as long as this thread keeps the GIL."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        queue.submit_barrier([queue._submit_keep_args_alive((object(),), [])])
        yield
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture
def queue():
    return kapi.queue()


def busy(queue, rounds=1_000_000):
    """Some 200 ms of work on the queue."""
    values = dpnp.zeros(SIZE, dtype="float32", sycl_queue=queue)
    _, event = kapi.call_kernel_async(spin, kapi.Range(SIZE), [], values, rounds)
    return event


def test_new_queue_has_the_properties_asked_for():
    plain, both = kapi.queue(), kapi.queue(in_order=True, profiling=True)
    assert (plain.is_in_order, plain.has_enable_profiling) == (False, False)
    assert (both.is_in_order, both.has_enable_profiling) == (True, True)
    assert plain != kapi.default_queue()
    assert plain.sycl_context == kapi.default_queue().sycl_context
    assert plain.device == kapi.default_device()


def test_new_queue_is_taken_by_dpnp_and_kernels(queue):
    values = dpnp.ones(SIZE, sycl_queue=queue)
    add_one[SIZE](values)
    values += 1
    assert values.sycl_queue == queue
    assert set(values.asnumpy()) == {3}


def test_new_queue_is_for_the_current_device(sub_device):
    with sub_device:
        assert kapi.queue().device == sub_device
        assert kapi.default_queue() is kapi.default_queue(sub_device)
    assert kapi.queue().device != sub_device


def test_queues_of_a_sub_device_share_memory(sub_device):
    assert kapi.queue(sub_device).sycl_context == kapi.default_queue(sub_device).sycl_context


def test_default_queue_is_one_object_for_all_threads():
    found = []
    thread = threading.Thread(target=lambda: found.append(kapi.default_queue()))
    thread.start()
    thread.join()
    assert found[0] is kapi.default_queue()


def test_default_queue_of_a_sub_device_is_one_object_for_threads_that_ask_at_once(sub_device):
    ready, found = threading.Barrier(8), []

    def ask():
        ready.wait()
        found.append(kapi.default_queue(sub_device))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


@pytest.mark.parametrize("form", ["queue", "capsule", "pointer", "object with a capsule"])
def test_external_queue_is_the_same_queue(form):
    theirs = dpctl.SyclQueue(kapi.default_device())

    class Other:
        def _get_capsule(self):
            return theirs._get_capsule()

    source = {
        "queue": theirs,
        "capsule": theirs._get_capsule(),
        "pointer": theirs.addressof_ref(),
        "object with a capsule": Other(),
    }[form]
    ours = kapi.external_queue(source)
    assert ours == theirs
    assert isinstance(ours, kapi.Queue)
    assert kapi.external_queue(ours) is ours
    values = dpnp.zeros(SIZE, sycl_queue=theirs)
    theirs = source = None
    add_one[SIZE](values)
    ours.synchronize()
    assert values.asnumpy().sum() == SIZE


@pytest.mark.parametrize("form", [np.uint64, ctypes.c_void_p])
def test_address_of_an_external_queue_is_any_integer(form):
    theirs = dpctl.SyclQueue(kapi.default_device())
    assert kapi.external_queue(form(theirs.addressof_ref())) == theirs


@pytest.mark.parametrize("source", [0, -8, 2**70, True, "opencl:cpu", None, 3.5, kapi.Queue, ctypes.c_void_p()])
def test_external_queue_of_something_else_is_an_error(source):
    with raises(kapi.KernelLaunchError, "no-queue"):
        kapi.external_queue(source)


def test_profiling_queue_is_one_for_each_queue(queue):
    clock = profiling_queue(queue)
    assert clock.has_enable_profiling
    assert clock.sycl_context == queue.sycl_context
    assert profiling_queue(queue) is clock
    timed = kapi.queue(profiling=True)
    assert profiling_queue(timed) is timed


def test_profiling_queue_of_a_device_without_times_is_an_error():
    device = SimpleNamespace(has_aspect_queue_profiling=False, name="Timeless", filter_string="opencl:gpu:7")
    with raises(kapi.LimitError, "device-without-times"):
        profiling_queue.__wrapped__(SimpleNamespace(has_enable_profiling=False, sycl_device=device))


def test_queue_reads_well(queue):
    assert repr(queue).startswith("<Queue: queue 0x")


# -------------------------------------------------------------------------------------------------- waiting


def test_synchronize_waits_for_the_work(queue):
    event = busy(queue)
    assert event.execution_status != COMPLETE
    queue.synchronize()
    assert event.execution_status == COMPLETE


def test_auto_synchronize_waits_at_the_end_also_of_an_exception(queue):
    events = []

    def fails():
        with queue.auto_synchronize() as entered:
            assert entered is queue
            events.append(busy(queue))
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert events[0].execution_status == COMPLETE


def test_synchronize_lets_other_threads_run(queue):
    """A host task that needs the GIL is pending: whoever waits while holding it waits for ever."""
    with gate(queue):
        queue.synchronize()


def test_synchronize_works_in_a_thread(queue):
    event = busy(queue)
    thread = threading.Thread(target=queue.synchronize)
    thread.start()
    thread.join(60)
    assert event.execution_status == COMPLETE


INTERRUPTED = """
import dpnp, kapi_runtime as kapi, os, signal, threading, time
@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    value = values[i]
    for _ in range(rounds):
        value = value * value + 0.25
    values[i] = value
values = dpnp.zeros(2, dtype="float32")
rounds, elapsed = 1_000_000, 0
for _ in range(3):
    spin[2](values, 1)  # the first ones compile
while elapsed < 0.2:
    rounds *= 2
    begin = time.process_time()  # what a clock says is the machine's load as well
    spin[2](values, rounds)
    elapsed = time.process_time() - begin
rounds *= 40
host_event, event = kapi.call_kernel_async(spin, kapi.Range(2), [], values, rounds)
def profiled():
    with kapi.profiling():
        kapi.call_kernel_async(spin, kapi.Range(2), [], values, 1)
        time.sleep(10)
def copied():
    kapi.memory.asnumpy(values)
while event.execution_status.name == "submitted":
    time.sleep(0.01)
for wait in host_event.wait, kapi.default_queue().synchronize, profiled, copied:
    try:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        wait()
    except KeyboardInterrupt:
        print(event.execution_status.name, flush=True)
os._exit(0)  # without waiting for the rest of the work
"""


def test_ctrl_c_is_handled_during_a_wait(run_python):
    """Of many seconds of work, which is still running when the wait has ended."""
    done = run_python(INTERRUPTED)
    assert (done.returncode, done.stdout.split()) == (0, ["running"] * 4), done.stderr


# ------------------------------------------------------------------------------------------------- callbacks


def test_callback_gets_queue_status_and_argument(queue):
    calls = []
    queue.add_callback(lambda *args: calls.append((*args, threading.current_thread().name)), {"any": "thing"})
    queue.synchronize()
    assert calls == [(queue, kapi.EventStatus.complete, {"any": "thing"}, "kapi-callbacks")]


def test_callback_comes_after_the_work_that_was_submitted_before_it(queue):
    event, seen = busy(queue), []
    queue.add_callback(lambda *_: seen.append(event.execution_status))
    assert seen == []
    queue.synchronize()
    assert seen == [COMPLETE]


def test_callbacks_of_a_queue_are_called_in_the_order_in_which_they_were_added(queue):
    order = []
    busy(queue, 1000)
    for number in range(50):
        queue.add_callback(lambda queue, status, number: order.append(number), number)
    queue.synchronize()
    assert order == list(range(50))


def test_callback_may_use_kapi_and_dpnp(queue):
    values, sums = dpnp.zeros(SIZE, sycl_queue=queue), []

    def callback(*_):
        add_one[SIZE](values)
        queue.synchronize()
        sums.append(float(values.sum()))
        queue.add_callback(lambda *_: sums.append("again"))

    queue.add_callback(callback)
    queue.synchronize()
    deadline = time.monotonic() + 300
    while len(sums) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sums == [SIZE, "again"]


def test_callbacks_that_wait_for_each_other_s_queues_do_not_lock_up():
    one, other = kapi.queue(), kapi.queue()
    both = threading.Barrier(2, timeout=300)
    done = []

    def callback(queue, status, another):
        both.wait()
        another.synchronize()
        done.append(queue)

    one.add_callback(callback, other)
    other.add_callback(callback, one)
    one.synchronize()
    other.synchronize()
    assert len(done) == 2


def test_callback_is_called_while_the_main_thread_waits_for_the_device(queue):
    """The callback takes the GIL; the wait must not hold it."""
    called = []
    with gate(queue):
        queue.add_callback(lambda *_: called.append(1))
        queue.synchronize()
    assert called == [1]


def test_exception_in_a_callback_is_reported_and_later_ones_are_called(queue, monkeypatch):
    reports, calls = [], []
    monkeypatch.setattr(threading, "excepthook", lambda args: reports.append(repr(args.exc_value)))

    def fails(*_):
        raise ValueError("no good")

    queue.add_callback(fails)
    queue.add_callback(lambda *_: calls.append(1))
    queue.synchronize()
    assert reports == ["ValueError('no good')"]
    assert calls == [1]


def test_hook_that_fails_loses_no_callback(queue, monkeypatch, capsys):
    def hook(args):
        raise RuntimeError("the hook, too")

    monkeypatch.setattr(threading, "excepthook", hook)
    calls = []
    queue.add_callback(lambda *_: 1 / 0)
    queue.add_callback(lambda *_: calls.append(1))
    queue.synchronize()
    assert calls == [1]
    assert "the hook, too" in capsys.readouterr().err


def test_callback_is_called_where_no_thread_can_be_started(queue, monkeypatch):
    """As at the interpreter's exit."""

    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    calls = []
    queue.add_callback(lambda *_: calls.append(1))
    queue.synchronize()
    assert calls == [1]


def test_callback_that_is_not_callable_is_an_error(queue):
    with raises(kapi.KernelLaunchError, "callback-form"):
        queue.add_callback(7)


@pytest.mark.parametrize("is_recorded", [False, True])
def test_threads_launch_call_back_and_wait_at_once(is_recorded):
    """On one queue that all share and on queues of their own; callbacks launch and wait themselves."""
    add_one[8](dpnp.zeros(8))  # dpnp's first use of all is not safe in threads
    found = {}

    def work(number):
        queue = kapi.queue() if number % 2 else kapi.default_queue()
        values, calls = dpnp.zeros(64, sycl_queue=queue), []

        def callback(queue, status, step):
            if step % 25 == 0:
                add_one[8](dpnp.ones(8, sycl_queue=queue))
                queue.synchronize()
            calls.append(step)

        for step in range(100):
            kapi.call_kernel_async(add_one, kapi.Range(64), [], values)
            queue.add_callback(callback, step)
        queue.synchronize()
        found[number] = (calls == list(range(100)), set(values.asnumpy()))

    with kapi.profiling() if is_recorded else nullcontext():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    assert found == dict.fromkeys(range(4), (True, {100}))


def test_callbacks_are_called_before_the_interpreter_ends(run_python):
    done = run_python(
        "import kapi_runtime as kapi, time\n"
        "def callback(queue, status, arg):\n"
        "    time.sleep(0.1)\n"
        "    print(arg, status.name)\n"
        "kapi.default_queue().add_callback(callback, 'called')\n"
    )
    assert (done.stdout.split(), done.stderr) == (["called", "complete"], "")


def test_no_thread_is_left_when_all_is_called(queue):
    queue.add_callback(lambda *_: None)
    queue.synchronize()
    deadline = time.monotonic() + 300
    while any(each.name == "kapi-callbacks" for each in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not any(each.name == "kapi-callbacks" for each in threading.enumerate())


# --------------------------------------------------------------------------------------------------- asyncio


def test_async_done_resumes_when_the_work_is_done(queue):
    async def main():
        event = busy(queue)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        other = asyncio.create_task(tick())
        result = await queue.async_done()
        other.cancel()
        return result, event.execution_status, ticks

    result, status, ticks = asyncio.run(main())
    assert result is queue
    assert status == COMPLETE
    assert ticks > 1


def test_async_done_can_be_awaited_many_at_a_time():
    queues = [kapi.queue() for _ in range(4)]

    async def main():
        for each in queues:
            busy(each, 1000)
        return await asyncio.gather(*(each.async_done() for each in queues))

    assert asyncio.run(main()) == queues


def test_async_done_can_be_cancelled(queue, monkeypatch):
    reports = []
    monkeypatch.setattr(threading, "excepthook", reports.append)

    async def main():
        errors = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
        event = busy(queue)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(queue.async_done(), 0.001)
        assert event.execution_status != COMPLETE
        await queue.async_done()
        await asyncio.sleep(0.01)
        return errors

    assert asyncio.run(main()) == []
    assert reports == []


def test_async_done_outlives_its_loop(queue, monkeypatch):
    reports = []
    monkeypatch.setattr(threading, "excepthook", reports.append)

    async def main():
        busy(queue)
        queue.async_done()

    asyncio.run(main())
    queue.synchronize()
    assert reports == []


def test_async_done_needs_a_running_loop(queue):
    with pytest.raises(RuntimeError, match="no running event loop"):
        queue.async_done()
