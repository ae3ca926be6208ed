"""State of a forked child: its parent's work and locks."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from contextvars import copy_context

import numpy as np
import pytest

import kapi_sim
from kapi_sim import ForkError, forks
from kapi_sim.instrument import instrumented_kernel


def count(item, array):
    array[item.get_id(0)] += 1


def in_child(check):
    """Whether `check()` is true in a process that is forked now."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends one that hangs
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@contextmanager
def thread(work):
    """Run `work(began)` in a thread, from when it says that it began."""
    began = threading.Event()
    running = threading.Thread(target=work, args=(began,))
    running.start()
    assert began.wait(20)
    yield
    running.join(20)
    assert not running.is_alive()


def test_fork_waits_for_uninterrupted_work_of_another_thread():
    done = []

    def work(began):
        with forks.block_forks(), forks.block_forks():
            began.set()
            time.sleep(0.2)
            done.append(True)

    with thread(work):
        assert in_child(lambda: done == [True])


def test_fork_waits_for_work_that_another_thread_does_a_part_of():
    done = []

    def part():
        with forks.block_forks():
            done.append(True)

    def work(began):
        with forks.block_forks():
            began.set()
            assert wait_until(lambda: forks._forking)
            helper = threading.Thread(target=copy_context().run, args=(part,))
            helper.start()
            helper.join(20)

    start = time.monotonic()
    with thread(work):
        assert in_child(lambda: done == [True])
    assert time.monotonic() - start < forks.PATIENCE / 2


def test_fork_waits_for_an_import_of_another_thread(tmp_path, monkeypatch):
    """A module's lock that the other thread holds would never be free in the child."""
    lines = "import time", "import kapi_sim.forks", "time.sleep(0.3)", "with kapi_sim.forks.block_forks(): whole = True"
    (tmp_path / "kapi_slow_module.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)

    def work(began):
        began.set()
        importlib.import_module("kapi_slow_module")

    start = time.monotonic()
    with thread(work):
        assert wait_until(lambda: "kapi_slow_module" in sys.modules)
        assert in_child(lambda: importlib.import_module("kapi_slow_module").whole and not forks._is_torn)
    assert time.monotonic() - start < forks.PATIENCE / 2
    sys.modules.pop("kapi_slow_module")


LOGGING = """
import os, threading, time, warnings
from kapi_sim import forks
import logging

warnings.simplefilter("ignore")
began = threading.Event()

def work():
    with forks.block_forks():
        began.set()
        time.sleep(0.2)
        logging.getLogger("new").isEnabledFor(logging.DEBUG)

threading.Thread(target=work).start()
began.wait()
start = time.monotonic()
if os.fork() == 0:
    os._exit(0)
print(time.monotonic() - start)
"""


def test_fork_waits_without_the_lock_of_logging():
    """`logging` takes it before each fork, and a compilation asks for it."""
    done = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, text=True, check=True, timeout=100)
    assert float(done.stdout) < forks.PATIENCE / 2


def test_fork_in_uninterrupted_work_of_its_own_thread_goes_on_in_both():
    with forks.block_forks():
        assert in_child(lambda: True)
        with forks.block_forks():
            pass


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, threading.Condition])
def test_lock_that_another_thread_holds_is_free_in_the_child(make):
    lock, let_go = forks.reinit_after_fork(make()), threading.Event()

    def work(began):
        with lock:
            began.set()
            let_go.wait(20)

    with thread(work):
        is_free = in_child(lambda: lock.acquire())
        let_go.set()
    assert is_free


def test_foreign_lock_is_usable_in_the_child_in_whatever_order_threads_take_it(monkeypatch):
    foreign = threading.RLock()
    monkeypatch.setattr(forks, "_foreign", [])
    forks.hold_at_forks(foreign)
    steps = []

    def inside(began):
        with forks.block_forks():
            began.set()
            time.sleep(0.1)
            with foreign:
                steps.append("inside")

    def outside(began):
        with foreign:
            began.set()
            time.sleep(0.1)
            with forks.block_forks():
                steps.append("outside")

    def usable():
        with forks.block_forks():
            return foreign.acquire(timeout=5) and len(steps) == 2

    start = time.monotonic()
    with thread(inside), thread(outside):
        assert in_child(usable)
    assert time.monotonic() - start < forks.PATIENCE / 2


def test_child_is_warned_of_work_that_did_not_end_in_time(monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.1)
    let_go = threading.Event()

    def work(began):
        with forks.block_forks():
            began.set()
            let_go.wait(20)

    def is_warned():
        try:
            with forks.block_forks():
                return False
        except ForkError as error:
            return error.code == "forked-process" and "spawn" in str(error)

    with thread(work):
        told = in_child(is_warned)
        let_go.set()
    assert told
    with forks.block_forks():  # the parent goes on
        pass


def test_threads_that_work_all_the_time_let_forks_through():
    end = threading.Event()

    def work(began):
        while not end.is_set():
            with forks.block_forks():
                began.set()
                sum(range(1000))

    with thread(work), thread(work):
        assert all(in_child(lambda: not forks._others_work()) for _ in range(20))
        end.set()


def test_child_simulates_though_another_thread_was_reading_a_kernel():
    def read(began):
        with instrumented_kernel._PARSING:
            began.set()
            done.wait()

    def simulated():
        array = np.zeros(2)
        kapi_sim.kernel(count)[2](array)
        return array.tolist() == [1, 1]

    done = threading.Event()
    with thread(read):
        try:
            assert in_child(simulated)
        finally:
            done.set()


def test_names_are_imported_uninterrupted(monkeypatch):
    seen = []
    monkeypatch.delitem(vars(kapi_sim), "simulation", raising=False)
    found = kapi_sim.import_module
    monkeypatch.setattr(kapi_sim, "import_module", lambda name: (seen.append(dict(forks._working)), found(name))[1])
    assert kapi_sim.simulation
    assert [set(each) for each in seen] == [{threading.get_ident()}]
