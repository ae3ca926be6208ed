"""Threads, processes, interrupts and the end: nothing hangs, nothing leaks, nothing is computed twice."""

from __future__ import annotations

import gc
import pickle
import threading
from pathlib import Path

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.sycl.queues import keep_alive
from kapi_spirv.compiler import COMPILER

THREADS = 16

KERNEL = (
    "import os, sys, time\n"
    "import kapi_runtime as kapi, dpnp\n"
    "@kapi.kernel\n"
    "def increment(item: kapi.Item, a):\n"
    "    a[item.get_id(0)] += 1\n"
    "@kapi.kernel\n"
    "def spin(item: kapi.Item, a, n):\n"
    "    i = item.get_id(0)\n"
    "    for k in range(n):\n"
    "        a[i] = a[i] * 0.5 + k\n"
)


@kapi.kernel
def increment(item: kapi.Item, a):
    a[item.get_id(0)] += 1


def in_threads(function, count=THREADS):
    """Call a function of the thread's number in as many threads, and raise what one of them raised."""
    errors = []

    def run(number):
        try:
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def launch_from_threads(launches):
    """16 threads launch on arrays of their own, on one queue; what each array holds then."""
    arrays = [dpnp.zeros(64, dtype="int64") for _ in range(THREADS)]

    def work(number):
        for _ in range(launches):
            kapi.call_kernel_async(increment, kapi.Range(64), (), arrays[number])

    in_threads(work)
    kapi.default_queue().synchronize()
    return [set(array.asnumpy().tolist()) for array in arrays]


def test_threads_launch_one_kernel():
    assert launch_from_threads(100) == [{100}] * THREADS


@pytest.mark.nightly
def test_threads_launch_one_kernel_ten_thousand_times():
    assert launch_from_threads(10_000) == [{10_000}] * THREADS


def test_threads_launch_kernels_of_their_own_on_queues_of_their_own():
    kernels = [kapi.kernel(increment.py_func) for _ in range(4)]
    arrays = [dpnp.zeros(64, dtype="int64", sycl_queue=dpctl.SyclQueue()) for _ in range(4)]

    def work(number):
        for iteration in range(50):
            kapi.call_kernel(kernels[(number + iteration) % 4], kapi.Range(64), arrays[number])

    in_threads(work, 4)
    assert [set(array.asnumpy().tolist()) for array in arrays] == [{50}] * 4


def test_storm_of_first_launches_compiles_once(monkeypatch):
    compiled = []
    real = COMPILER.compile_kernel

    def counting(function, *args, **options):
        compiled.append(function.__name__)
        return real(function, *args, **options)

    monkeypatch.setattr(COMPILER, "compile_kernel", counting)

    @kapi.kernel
    def fresh(item: kapi.Item, a):
        a[item.get_id(0)] += 3

    arrays = [dpnp.zeros(8) for _ in range(THREADS)]
    barrier = threading.Barrier(THREADS)

    def work(number):
        barrier.wait()
        fresh[8](arrays[number])

    in_threads(work)
    assert compiled == ["fresh"]
    assert [set(array.asnumpy().tolist()) for array in arrays] == [{3}] * THREADS


def test_forked_process_is_reported(run_python):
    done = run_python(
        KERNEL + "a = dpnp.zeros(4)\n"
        "increment[4](a)\n"
        "launch = increment.bind(kapi.Range(4), a)\n"
        "events = kapi.call_kernel_async(increment, kapi.Range(4), (), a)\n"
        "tried = (lambda: increment[4](a), launch, lambda: events[0].wait(), kapi.devices, kapi.default_queue)\n"
        "process = os.fork()\n"
        "if process == 0:\n"
        "    for attempt in tried:\n"
        "        try:\n"
        "            attempt()\n"
        "        except kapi.ForkError as error:\n"
        "            print(error)\n"
        "    sys.exit(0)\n"
        "print('child', os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))\n"
        "increment[4](a)\n"
        "print('parent', set(a.asnumpy().tolist()))\n"
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 7, done.stdout + done.stderr
    assert all("devices must be used by the process that started their runtime" in line for line in lines[:5])
    assert "start processes by spawning" in lines[0]
    assert lines[5:] == ["child 0", "parent {3.0}"]


def test_process_that_is_forked_before_any_device_is_used_works(run_python):
    done = run_python(
        KERNEL + "process = os.fork()\n"
        "a = dpnp.zeros(4)\n"
        "increment[4](a)\n"
        "os.write(1, f'{set(a.asnumpy().tolist())}\\n'.encode())  # two processes share the line\n"
        "if process: assert os.waitpid(process, 0)[1] == 0\n"
    )
    assert done.stdout.split() == ["{1.0}"] * 2, done.stderr


def test_children_that_are_forked_while_threads_compile_launch(run_python):
    done = run_python(
        KERNEL + "import signal, threading, time\n"
        "import kapi_sim.forks\n"
        "from kapi_spirv import compile_kernel\n"
        "kapi_sim.forks.PATIENCE = 100\n"
        "at_work = True\n"
        "def compile_on():\n"
        "    while at_work: compile_kernel(increment.py_func, 'item1, float64[:]')\n"
        "thread = threading.Thread(target=compile_on)\n"
        "thread.start()\n"
        "ends = []\n"
        "for number in range(3):\n"
        "    time.sleep(0.05 * number)\n"
        "    process = os.fork()\n"
        "    if process == 0:\n"
        "        signal.alarm(100)\n"
        "        a = dpnp.zeros(4)\n"
        "        increment[4](a)\n"
        "        os._exit(0 if set(a.asnumpy().tolist()) == {1.0} else 1)\n"
        "    ends.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))\n"
        "at_work = False\n"
        "thread.join()\n"
        "print(set(ends))\n"
    )
    assert done.stdout.strip() == "{0}", done.stderr


def test_spawned_processes_work(run_python, tmp_path):
    program = tmp_path / "spawns.py"
    program.write_text(
        KERNEL + "import multiprocessing\n"
        "def work(number):\n"
        "    a = dpnp.full(4, number)\n"
        "    increment[4](a)\n"
        "    return int(a[0])\n"
        "if __name__ == '__main__':\n"
        "    work(0)\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [1, 2]))\n"
    )
    done = run_python("", str(program))
    assert done.stdout.strip() == "[2, 3]", done.stderr


def test_a_module_launches_while_it_is_imported(run_python, tmp_path):
    (tmp_path / "launches.py").write_text(KERNEL + "a = dpnp.zeros(4)\nincrement[4](a)\n")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import launches; print(int(launches.a.sum()))"
    done = run_python(program, KAPI_CACHE="0")
    assert done.stdout.strip() == "4", done.stderr


@pytest.mark.parametrize(
    "end",
    ["", "sys.exit(3)", "raise ValueError('the end')", "os._exit(3)"],
    ids=["falls off", "exit", "raises", "_exit"],
)
def test_end_with_work_in_flight_is_clean(run_python, end):
    done = run_python(
        KERNEL + "for _ in range(3):\n"
        "    kapi.call_kernel_async(spin, kapi.Range(4096), (), dpnp.zeros(4096), 20000)\n" + end
    )
    expected = {"": 0, "sys.exit(3)": 3, "os._exit(3)": 3}.get(end, 1)
    assert done.returncode == expected, done.stderr
    assert ("ValueError: the end" in done.stderr) if expected == 1 else (done.stderr == "")


def test_interrupt_ends_a_launch_at_once(run_python):
    """The work-item, one alone so that more cores are no faster, still works when the launch has ended."""
    done = run_python(
        KERNEL + "import signal, threading\n"
        "a = dpnp.zeros(1)\n"
        "spin[1](a, 1)\n"
        "def callers(frame):\n"
        "    while frame is not None:\n"
        "        yield frame.f_code.co_name\n"
        "        frame = frame.f_back\n"
        "def interrupt():\n"
        "    while 'wait_for' not in callers(sys._current_frames()[threading.main_thread().ident]):\n"
        "        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "try:\n"
        "    spin[1](a, 20_000_000_000)\n"
        "except KeyboardInterrupt:\n"
        "    from dpctl.utils import SequentialOrderManager as manager\n"
        "    pending = manager[a.sycl_queue].submitted_events\n"
        "    while pending[-1].execution_status.name == 'submitted':\n"
        "        time.sleep(0.01)\n"
        "    print('interrupted', pending[-1].execution_status.name, flush=True)\n"
        "    os._exit(0)\n"
    )
    assert done.stdout.split() == ["interrupted", "running"], done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time
import dpnp
import kapi_runtime as kapi

@kapi.kernel
def add(item: kapi.Item, a, n):
    a[item.get_id(0)] += n

a = dpnp.zeros(4)
heard = False
try:
    threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
    kapi.call_kernel(add, kapi.Range(4), a, 1)
    kapi.call_kernel(add, kapi.Range(4), dpnp.zeros(4, dtype="float32"), 1)
    time.sleep(30)
except KeyboardInterrupt:
    heard = True
a = dpnp.zeros(4)
for _ in range(3):
    kapi.call_kernel(add, kapi.Range(4), a, 1)
print(heard, a.asnumpy().tolist())
"""


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("delay", [0.05, 0.2, 0.5, 1, 2, 4])
def test_interrupt_of_the_first_compilation_leaves_a_process_that_works(delay, run_python):
    """It may come in the middle of Numba's import, of the compilation, or of the driver's build."""
    run = run_python(INTERRUPTED.format(delay=delay), KAPI_CACHE="0")
    assert run.stdout.splitlines()[-1] == "True [3.0, 3.0, 3.0, 3.0]", run.stderr


def resident_memory():
    """Bytes of this process in memory."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def grown(launches, batch=500):
    """Bytes by which this process grows over as many launches, in every form there is."""
    a = dpnp.zeros(64, dtype="int64")
    launch = increment.bind(kapi.Range(64), a)
    queue = kapi.default_queue()

    def run(count):
        for number in range(count):
            if number % batch == 0:
                queue.synchronize()
            kapi.call_kernel_async(increment, kapi.Range(64), (), a)
            launch()
        queue.synchronize()
        gc.collect()
        return resident_memory()

    before = run(2_000)
    return run(launches // 2) - before


def test_launches_leak_nothing():
    assert grown(10_000) < 4 * 2**20
    assert keep_alive.in_flight() == 0


@pytest.mark.nightly
def test_a_million_launches_leak_nothing():
    assert grown(1_000_000) < 16 * 2**20


def test_arguments_are_let_go():
    a = dpnp.zeros(1000)
    memory = a.get_array().usm_data
    import sys

    before = sys.getrefcount(memory)
    views = [a[:] for _ in range(10)]
    for view in views:
        kapi.call_kernel_async(increment, kapi.Range(1000), (), view)
    kapi.default_queue().synchronize()
    del views, view
    gc.collect()
    assert sys.getrefcount(memory) == before


def test_compiled_module_travels():
    target = dpnp.zeros(4)
    increment[4](target)
    module = increment.modules.values()[-1]
    again = pickle.loads(pickle.dumps(module))
    assert again.code == module.code
    assert again.layout == module.layout


def test_results_are_the_same_on_in_order_queues_from_threads():
    queue = kapi.queue(in_order=True)
    arrays = [dpnp.zeros(64, dtype="int64", sycl_queue=queue) for _ in range(4)]

    def work(number):
        for _ in range(50):
            kapi.call_kernel_async(increment, kapi.Range(64), (), arrays[number])

    in_threads(work, 4)
    queue.synchronize()
    np.testing.assert_array_equal(np.array([array.asnumpy() for array in arrays]), 50)
