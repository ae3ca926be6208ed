"""Locks: correct ones pass, and those without an acquire or a release are found in program order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.testing.reports import raises

# What a part of a lock is in each dialect; "scoped" are the parts that hold one group alone.
CUDA = {
    "take": "while cuda.atomic.cas(lock, 0, 0, 1) != 0:\n        pass",
    "exchange": "while cuda.atomic.exch(lock, 0, 1) != 0:\n        pass",
    "fence": "cuda.threadfence()",
    "scoped": "cuda.threadfence_block()",
    "give": "cuda.atomic.exch(lock, 0, 0)",
}
KAPI = {
    "take": "while kapi.AtomicRef(lock, 0).exchange(1) != 0:\n        pass",
    "exchange": "while kapi.AtomicRef(lock, 0).fetch_or(1) != 0:\n        pass",
    "fence": "kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.DEVICE)",
    "scoped": "kapi.atomic_fence(kapi.MemoryOrder.ACQ_REL, kapi.MemoryScope.WORK_GROUP)",
    "give": "kapi.AtomicRef(lock, 0).store(0)",
    "ordered": "while kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQUIRE).exchange(1) != 0:\n        pass",
    "released": "kapi.AtomicRef(lock, 0, kapi.MemoryOrder.RELEASE).store(0)",
    "narrow": "while kapi.AtomicRef(lock, 0, kapi.MemoryOrder.ACQUIRE, kapi.MemoryScope.WORK_GROUP).exchange(1) != 0:"
    "\n        pass",
}
RIGHT = "take fence + fence give"
SHARED = "take scoped + scoped give"
ORDERED = "ordered + released"
BROKEN = (
    "take + fence give",
    "exchange + fence give",
    "take fence + give",
    "take + give",
    "take scoped + fence give",
    "take fence + scoped give",
    "+ take fence fence give",
    "take fence fence give +",
)


def locked(steps, words, number):
    lines = "\n    ".join(words.get(step, f"data[0] = data[0] + {number}") for step in steps.split())
    return f"def part_{number}(lock, data):\n    {lines}\n"


def run(dialect, first, others, shape, defined):
    """Launch a kernel whose first work-item takes a lock as `first` says, and the others as `others` says."""
    groups, size = shape
    who = "cuda.grid(1)" if dialect is CUDA else "item.get_global_id(0)"
    head = "def kernel(lock, data):" if dialect is CUDA else "def kernel(item, lock, data):"
    source = f"{locked(first, dialect, 1)}\n{locked(others, dialect, 2)}\n{head}\n    if {who} == 0:\n"
    source += "        part_1(lock, data)\n    else:\n        part_2(lock, data)\n"
    names = defined(source, cuda=cuda, kapi=kapi)
    lock, data = np.zeros(1, np.int32), np.zeros(1, np.int32)
    if dialect is CUDA:
        for part in ("part_1", "part_2"):
            names["kernel"].__globals__[part] = cuda.jit(device=True)(names[part])
        cuda.jit(names["kernel"])[groups, size](lock, data)
    else:
        kapi.call_kernel(kapi.kernel(names["kernel"]), kapi.NdRange(groups * size, size), lock, data)
    return int(data[0])


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize(("dialect", "lock"), [(CUDA, RIGHT), (KAPI, RIGHT), (KAPI, ORDERED)])
def test_correct_locks_pass(dialect, lock, shape, defined):
    assert run(dialect, lock, lock, shape, defined) == 1 + 2 * (shape[0] * shape[1] - 1)


@pytest.mark.parametrize("dialect", [CUDA, KAPI])
def test_fences_of_a_group_suffice_within_it(dialect, defined):
    assert run(dialect, SHARED, RIGHT.replace("fence", "scoped"), (1, 3), defined) == 5


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (1, 2)])
@pytest.mark.parametrize(("dialect", "broken"), list(itertools.product([CUDA, KAPI], BROKEN)))
def test_one_lock_without_an_acquire_or_a_release_is_a_race(dialect, broken, shape, is_first, defined):
    if shape == (1, 2) and "scoped" in broken:
        assert run(dialect, broken, RIGHT, shape, defined) == 3
        return
    with raises(kapi.DataRaceError, "data-race", words=False):
        run(dialect, *((broken, RIGHT) if is_first else (RIGHT, broken)), shape, defined)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("broken", ["ordered + give", "take + released", "narrow + released"])
def test_one_lock_without_an_ordering_argument_is_a_race(broken, is_first, defined):
    with raises(kapi.DataRaceError, "data-race", words=False):
        run(KAPI, *((broken, ORDERED) if is_first else (ORDERED, broken)), (2, 1), defined)


@pytest.mark.parametrize(
    ("broken", "advice"),
    [
        ("take + fence give", "put a cuda.threadfence() before the one and after the other"),
        ("take scoped + fence give", "does not hold both threads: make it cuda.threadfence()"),
        ("take fence + give", "comes after it: move it before the fence"),
    ],
)
def test_report_of_a_lock_says_what_it_lacks(broken, advice, defined):
    with raises(kapi.DataRaceError, "data-race", words=False) as caught:
        run(CUDA, broken, RIGHT, (2, 1), defined)
    assert advice in str(caught.value)


def test_lock_around_what_nobody_else_uses_is_no_race():
    @cuda.jit
    def kernel(lock, data):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        data[cuda.grid(1)] = 1
        cuda.atomic.exch(lock, 0, 0)

    kernel[3, 1](np.zeros(1, np.int32), data := np.zeros(3))
    assert data.tolist() == [1, 1, 1]
