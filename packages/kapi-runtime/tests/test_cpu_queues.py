"""Queues, events, threads and forks of the CPU's platform."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.cpu.execution import launch as launches
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues.events import CpuEvent
from kapi_sim.testing.reports import raises

LONG = 3_000_000


@kapi.kernel
def double(item: kapi.Item, values):
    values[item.get_id(0)] *= 2


@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    """Work that takes long: some nanoseconds for each round."""
    i = item.get_id(0)
    x = values[i]
    for _ in range(rounds):
        x = x * 1.0000001 + 0.5
    values[i] = x


@pytest.fixture(autouse=True)
def compiled():
    spin[4](np.ones(4), 1)
    double[4](np.ones(4))


def test_asynchronous_launch_runs_in_order():
    values, others = np.ones(4), np.ones(4)
    _, slow = kapi.call_kernel_async(spin, kapi.Range(4), [], values, LONG)
    after, event = kapi.call_kernel_async(double, kapi.Range(4), [], others)
    assert others.tolist() == [1] * 4 or slow.is_done
    after.wait()
    assert slow.is_done
    assert event.is_done
    assert others.tolist() == [2] * 4


def test_launch_that_is_waited_for_comes_after_those_before():
    values = np.ones(4)
    kapi.call_kernel_async(spin, kapi.Range(4), [], values, LONG)
    double[4](values)
    expected = np.ones(4)
    spin[4](expected, LONG)
    np.testing.assert_array_equal(values, expected * 2)


def test_launch_waits_for_events_of_another_queue():
    one, other = kapi.queue("cpu"), kapi.queue("cpu")
    values = np.ones(4)
    with kapi.device_context(one):
        _, slow = kapi.call_kernel_async(spin, kapi.Range(4), [], values, LONG)
    with kapi.device_context(other):
        _, event = kapi.call_kernel_async(double, kapi.Range(4), [slow], values)
    event.wait()
    assert slow.is_done
    expected = np.ones(4)
    spin[4](expected, LONG)
    np.testing.assert_array_equal(values, expected * 2)


def test_status_and_times():
    values = np.ones(4)
    host, event = kapi.call_kernel_async(spin, kapi.Range(4), [], values, LONG)
    assert host.status in kapi.EventStatus
    host.wait()
    assert host.status is kapi.EventStatus.complete
    assert event.submitted <= event.started < event.ended


def test_marks_measure_the_work_between_them():
    queue, start, end = kapi.default_queue("cpu"), kapi.Event(), kapi.Event()
    start.record(queue)
    kapi.call_kernel_async(spin, kapi.Range(1), [], np.ones(1), LONG)
    end.record(queue)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) > 1


def test_mark_of_one_queue_holds_another():
    one, other = kapi.queue("cpu"), kapi.queue("cpu")
    mark, values = kapi.Event(), np.ones(4)
    with kapi.device_context(one):
        kapi.call_kernel_async(spin, kapi.Range(4), [], values, LONG)
    mark.record(one)
    mark.wait(other)
    with kapi.device_context(other):
        double[4](values)
    assert mark.query()


def test_events_of_other_platforms_are_refused():
    class Theirs:
        def wait(self):
            """Wait for nothing."""

    with raises(kapi.KernelLaunchError, "no-event"):
        kapi.call_kernel_async(double, kapi.Range(4), [Theirs()], np.ones(4))


def test_arguments_live_until_the_launch_is_done():
    class Held(np.ndarray):
        pass

    gone = []
    values = np.ones(4).view(Held)
    import weakref

    weakref.finalize(values, gone.append, 1)
    may_begin = threading.Event()
    kapi.default_queue("cpu").enqueue(may_begin.wait)
    host, _ = kapi.call_kernel_async(spin, kapi.Range(4), [], values, 1)
    del values
    gc.collect()
    assert not gone
    may_begin.set()
    host.wait()
    kapi.default_queue("cpu").synchronize()
    gc.collect()
    assert gone
    assert not keep_alive.in_flight()


def test_callbacks_are_called_in_order():
    queue, called = kapi.queue("cpu"), []
    with kapi.device_context(queue):
        kapi.call_kernel_async(spin, kapi.Range(4), [], np.ones(4), LONG)
    for each in range(3):
        queue.add_callback(lambda queue, status, arg: called.append((status.name, arg)), each)
    queue.synchronize()
    assert called == [("complete", 0), ("complete", 1), ("complete", 2)]


def test_destructor_that_launches_in_the_queue_s_thread_does_not_wait_for_itself():
    values = np.ones(4)

    def work():
        double[4](values)

    kapi.default_queue("cpu").enqueue(work).wait()
    assert values.tolist() == [2] * 4


def test_bound_launch():
    values = np.ones(1000)
    launch = double.bind(kapi.Range(1000), values)
    events = [launch()[0] for _ in range(3)]
    launch.replace(values=(others := np.ones(1000)))
    events.append(launch()[0])
    for event in events:
        event.wait()
    assert (values == 8).all()
    assert (others == 2).all()


def test_large_launch_is_split_over_threads(monkeypatch):
    helped = []
    own = launches.Execution.help

    def help_(self, *patience):
        helped.append(threading.current_thread().name)
        own(self, *patience)

    monkeypatch.setattr(launches.Execution, "help", help_)
    monkeypatch.setattr(launches, "thread_count", lambda: 4)
    values = np.arange(200_000.0)
    spin[200_000](values, 100)
    assert len(helped) >= 1
    alone = np.arange(200_000.0)
    monkeypatch.setattr(launches, "thread_count", lambda: 1)
    spin[200_000](alone, 100)
    np.testing.assert_array_equal(values, alone)


def test_memory_of_groups_is_each_thread_s_own():
    @kapi.kernel
    def reverse(item: kapi.NdItem, values, cells):
        i = item.get_local_id(0)
        cells[i] = values[item.get_global_id(0)]
        kapi.group_barrier(item.get_group())
        for _ in range(200):
            cells[i] += 0
        values[item.get_global_id(0)] = cells[item.get_local_range(0) - 1 - i]

    size, group = 1 << 16, 64
    values = np.arange(size)
    for _ in range(4):
        expected = values.reshape(-1, group)[:, ::-1].ravel()
        kapi.call_kernel(reverse, kapi.NdRange((size,), (group,)), values, kapi.LocalAccessor((group,), np.int64))
        np.testing.assert_array_equal(values, expected)


def test_launches_by_many_threads():
    wrong = []

    def work(number):
        values = np.full(500, float(number))
        for _ in range(50):
            double[500](values)
            values /= 2
        if not (values == number).all():
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_queue_in_order_serializes_launches_of_threads():
    queue = kapi.queue("cpu", in_order=True)
    assert queue.is_in_order
    values = np.zeros(1)

    @kapi.kernel
    def more(item: kapi.Item, cell):
        cell[0] += 1

    more[1](np.zeros(1))

    def work():
        with kapi.device_context(queue):
            for _ in range(200):
                more[1](values)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert values[0] == 800


def test_queue_s_thread_ends_and_begins_again(monkeypatch):
    monkeypatch.setattr("kapi_runtime.cpu.queues.queue._LINGER", 0.01)
    queue = kapi.queue("cpu")
    queue._serve.__func__.__defaults__ = (0.01,)
    try:
        queue.submit_barrier().wait()
        deadline = time.monotonic() + 300
        while queue._worker is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert queue._worker is None
        queue.submit_barrier().wait()
    finally:
        queue._serve.__func__.__defaults__ = (5.0,)


FORK = """
import os, sys
import numpy as np
import kapi_runtime as kapi

@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    x = values[i]
    for _ in range(rounds):
        x = x * 1.0000001 + 0.5
    values[i] = x

values = np.ones(100_000)
spin[100_000](values, 1000)  # the pool has begun
host, _ = kapi.call_kernel_async(spin, kapi.Range(4), [], np.ones(4), 3_000_000)
child = os.fork()
if not child:
    try:
        host.wait()
        code = 0 if host.device_event.is_done else 3
    except kapi.ForkError:
        code = 0
    others = np.ones(100_000)
    spin[100_000](others, 1000)
    kapi.call_kernel_async(spin, kapi.Range(100_000), [], others, 1)[0].wait()
    os._exit(code if np.isfinite(others).all() else 4)
_, status = os.waitpid(child, 0)
host.wait()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif("not hasattr(os, 'fork')", reason="the system has no forks")
def test_forked_process_launches(run_python):
    done = run_python(FORK)
    assert done.stdout.strip() == "0", done.stderr


FORKS_OF_A_FIRST_LAUNCH = """
import os, signal, threading, time
import llvmlite.binding as llvm
import numpy as np
import kapi_runtime as kapi

@kapi.kernel
def twice(item: kapi.Item, values):
    values[item.get_id(0)] *= 2

def launch():
    values = np.ones(10)
    twice[10](values)
    return set(values.tolist()) == {2.0}

pauses = threading.Semaphore(0)
initialize = llvm.initialize_native_asmprinter

def initialize_slowly():
    with llvm.ffi.lib._lock:  # as a longer call of LLVM's holds it
        pauses.release()
        time.sleep(0.3)
        initialize()

llvm.initialize_native_asmprinter = initialize_slowly
thread = threading.Thread(target=launch)
thread.start()
ends = []
while pauses.acquire(timeout=0.1) or thread.is_alive():
    child = os.fork()
    if not child:
        signal.alarm(60)  # ends one that hangs
        os._exit(0 if launch() else 1)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
assert len(ends) > 1
print(set(ends))
"""


@pytest.mark.skipif("not hasattr(os, 'fork')", reason="the system has no forks")
def test_processes_forked_during_the_first_launch_of_another_thread_launch(run_python):
    done = run_python(FORKS_OF_A_FIRST_LAUNCH)
    assert done.stdout.strip() == "{0}", done.stderr


def test_single_work_group_that_takes_long_lets_other_threads_run():
    spin[1](np.ones(1), 1)
    for _ in range(2):
        counted = 0
        done = threading.Event()

        def work(done=done):
            spin[1](np.ones(1), 20 * LONG)
            done.set()

        threading.Thread(target=work).start()
        while not done.is_set():
            time.sleep(0.001)
            counted += 1
        assert counted > 5


INTERRUPT = """
import os, signal, threading
import numpy as np
import kapi_runtime as kapi

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background does not have

@kapi.kernel
def spin(item: kapi.Item, begun, may_end, values, rounds):
    i = item.get_id(0)
    begun[i] = 1
    x = values[i]
    n = 0
    while n < rounds and kapi.AtomicRef(may_end, 0).load() == 0:
        x = x * 0.999 + 0.5
        n += 1
    values[i] = x + 1

begun, may_end, values = np.zeros(ITEMS, np.int8), np.zeros(1, np.int32), np.zeros(ITEMS)
spin[ITEMS](begun, may_end, values, FIRST)  # so long that the next launch is not begun by this thread
begun[...] = values[...] = 0

def interrupt():
    while not begun.any():
        pass
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    spin[ITEMS](begun, may_end, values, ROUNDS)  # ends when the host says so, after Ctrl-C was heard
    print("not interrupted")
except KeyboardInterrupt:
    print("early" if not values.all() else "late")
may_end[0] = 1
kapi.default_queue("cpu").synchronize()
print(bool((values >= 1).all()))
spin[ITEMS](begun, may_end, values, 10)
"""


@pytest.mark.parametrize(
    ("items", "first", "rounds"),
    # This thread runs some of many groups, and hears Ctrl-C after them; it leaves a single long one to another thread.
    [("1_048_576", "10", "20_000"), ("1", "30_000_000", "2**60")],
    ids=["many-groups", "one-group"],
)
def test_ctrl_c_ends_the_wait_and_the_work_goes_on(run_python, items, first, rounds):
    done = run_python(INTERRUPT.replace("ITEMS", items).replace("FIRST", first).replace("ROUNDS", rounds))
    assert done.stdout.split() == ["early", "True"], done.stdout + done.stderr


HELD = """
import os, signal, threading, weakref
import numpy as np
import kapi_runtime as kapi

signal.signal(signal.SIGINT, signal.default_int_handler)

@kapi.kernel
def spin(item: kapi.Item, begun, may_end, values):
    i = item.get_id(0)
    begun[i] = 1
    x = values[i]
    n = 0
    while n < 20_000 and kapi.AtomicRef(may_end, 0).load() == 0:
        x = x * 0.999 + 0.5
        n += 1
    values[i] = x + 1

begun, may_end = np.zeros(1_048_576, np.int8), np.zeros(1, np.int32)

def launch(values):
    spin[begun.size](begun, may_end, values)

def replay(values):
    with kapi.graph(kapi.queue("cpu")) as graph:
        launch(values)
    graph.run()

def interrupted(start):
    begun[...] = may_end[...] = 0
    values = np.zeros(begun.size)
    threading.Thread(target=interrupt).start()
    try:
        start(values)
        print("not interrupted")
    except KeyboardInterrupt:
        return weakref.ref(values)

def interrupt():
    while not begun.any():
        pass
    os.kill(os.getpid(), signal.SIGINT)

for start in (launch, launch, replay):  # the first launch, one by its plan, and a graph
    held = interrupted(start)
    print(held() is not None)
    may_end[0] = 1
    kapi.default_queue("cpu").synchronize()
    launch(np.zeros(begun.size))
"""


def test_arrays_that_only_the_launch_has_outlive_ctrl_c(run_python):
    done = run_python(HELD)
    assert (done.stdout.split(), done.returncode) == (["True"] * 3, 0), done.stdout + done.stderr


def test_lock_that_an_interrupted_wait_has_keeps_no_other_wait_from_its_end():
    event = CpuEvent()
    waiter = threading.Thread(target=event.wait, daemon=True)
    waiter.start()
    time.sleep(0.1)  # it waits
    event.is_done = True  # and the lock stays held, as Ctrl-C after `acquire` leaves it
    waiter.join(60)
    assert not waiter.is_alive()


LEAVES_NATIVE_CODE = """
import threading
import types
import numpy as np
import kapi_runtime as kapi
from kapi_runtime.cpu.execution import launch

@kapi.kernel
def spin(item: kapi.Item, values, rounds):
    i = item.get_id(0)
    n = 0
    while n < rounds:
        values[i] = values[i] * 0.999 + 0.5
        n += 1

values = np.ones(100_000)
spin[values.size](values, 1)
native, offer = launch.native_functions(), launch.thread_pool.offer
interrupts = [KeyboardInterrupt]

def share(code, packed, record, shared, patience):
    if threading.current_thread() is not threading.main_thread():
        native.share(code, packed, record, shared, patience)
        return
    native.share(code, packed, record, shared, PATIENCE)
    raise interrupts.pop()

def offer_later(work, count):
    if not interrupts:  # until Ctrl-C comes, the other threads are busy
        offer(work, count)

launch.native_functions = lambda: types.SimpleNamespace(advance=native.advance, share=share)
launch.thread_pool = types.SimpleNamespace(offer=offer_later)
launch._SLEEPS_AFTER = launch._FOREVER  # a slow machine's main thread works, too
values[...] = 1
try:
    spin[values.size](values, 1_000)
except KeyboardInterrupt:
    kapi.default_queue("cpu").synchronize()
expected = 1.0
for _ in range(1_000):
    expected = expected * 0.999 + 0.5
print(interrupts, np.allclose(values, expected))
"""


@pytest.mark.parametrize("patience", ["2**62", "-1"], ids=["all-done", "some-left"])
def test_work_goes_on_when_ctrl_c_is_raised_as_native_code_returns(run_python, patience):
    """Whoever waits for it hears of its end."""
    done = run_python(LEAVES_NATIVE_CODE.replace("PATIENCE", patience), NUMBA_NUM_THREADS="2")
    assert done.stdout.strip() == "[] True", done.stdout + done.stderr


@pytest.mark.parametrize("count", ["1", "3"])
def test_number_of_threads_is_numba_s(run_python, count):
    done = run_python(
        "import kapi_runtime as kapi\nprint(kapi.select_device('cpu').max_compute_units)", NUMBA_NUM_THREADS=count
    )
    assert done.stdout.strip() == count, done.stderr


def test_number_of_threads_that_is_none_is_refused(run_python):
    done = run_python(
        "import kapi_runtime as kapi\n"
        "try:\n    kapi.select_device('cpu').max_compute_units\n"
        "except kapi.LimitError as error:\n    print(error.code)",
        NUMBA_NUM_THREADS="many",
    )
    assert done.stdout.strip() == "thread-count", done.stderr
