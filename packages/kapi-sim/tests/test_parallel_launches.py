"""Launches on several threads at once: each has its own limits, checks, trace and words."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import kapi_sim as kapi


@kapi.device_func
def count_up(k, n):
    while k < n:
        k += 1
    return k


@kapi.kernel
def iterating(nd_item: kapi.NdItem, n, out):
    kept = kapi.PrivateArray(1, np.int64)
    kept[0] = count_up(0, n)
    kapi.group_barrier(nd_item.get_group())
    kapi.AtomicRef(out, 0).fetch_add(kept[0])


@pytest.fixture
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_each_launch_has_its_own_limits_and_trace(frequent_switches):
    together = Barrier(4)

    def launch(limit, is_traced):
        out = np.zeros(1, np.int64)
        together.wait()
        with kapi.simulation(checks="none", spin_limit=limit):
            try:
                if not is_traced:
                    kapi.call_kernel(iterating, kapi.NdRange(8, 4), 400, out)
                    return int(out[0])
                with kapi.trace() as trace:
                    kapi.call_kernel(iterating, kapi.NdRange(8, 4), 400, out)
                return {event.kind for event in trace.launches[0].events}, len(trace.launches), int(out[0])
            except kapi.DeadlockError:
                return "given up"

    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            jobs = [(1_000_000, False), (100, False), (1_000_000, True), (100, False)]
            found = [job.result() for job in [pool.submit(launch, *each) for each in jobs]]
            assert found == [3200, "given up", ({"line", "read", "write", "barrier", "atomic"}, 1, 3200), "given up"]


def test_launch_within_a_launch_leaves_the_outer_one_as_it_was():
    inner = np.zeros(1, np.int64)

    class Prompt:
        """An object that launches in its `repr`, as somebody at a debugger's prompt might do."""

        def __str__(self):
            kapi.call_kernel(iterating, kapi.NdRange(2, 2), 3, inner)
            return "launched"

    prompt = Prompt()

    @kapi.kernel
    def outer(nd_item: kapi.NdItem, out):
        words = kapi
        if nd_item.get_local_id(0) == 0:
            print(prompt)
        words.AtomicRef(out, 0).fetch_add(1)

    out = np.zeros(1, np.int64)
    with kapi.simulation(checks="none"):
        kapi.call_kernel(outer, kapi.NdRange(4, 2), out)
    assert (out[0], inner[0]) == (4, 12)
