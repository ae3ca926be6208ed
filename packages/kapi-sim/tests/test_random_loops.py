"""Random loops: one that ends by itself is never called a deadlock, one that waits for another group always is."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import kapi_sim as kapi

BLOCKS, LOOPS = 20, 60
HEAD = """
import numpy as np
import kapi_sim as kapi

MO = kapi.MemoryOrder

@kapi.device_func
def peek(flags, c):
    return kapi.AtomicRef(flags, c, MO.ACQUIRE).load()

@kapi.device_func
def bump(e):
    e[0] += 1

@kapi.device_func
def look_for_a_while(flags, c, n):
    k = 0
    while kapi.AtomicRef(flags, c, MO.ACQUIRE).load() == 0 and k < n:
        k += 1
    return k
"""
VARIABLES = """
e = kapi.PrivateArray(1, np.int32, fill_zeros=True)
one = kapi.PrivateArray(1, np.int32, fill_zeros=True)
turns = a = b = x = y = k = seen = 0
done = False
"""
COUNTERS = {
    "a variable": ("turns += 1", "turns"),
    "private memory": ("e[0] += 1", "e[0]"),
    "private memory, by a function": ("bump(e)", "e[0]"),
    "two variables": ("b = a + 1\na = b", "a"),
    "shared memory": ("kapi.AtomicRef(own, i, MO.ACQ_REL).fetch_add(1)", "kapi.AtomicRef(own, i).load()"),
}
QUIET = (
    "pass",
    "x += 1",
    "x = peek(flags, 1)",
    "if x > 3:\n    x = 0",
    "y = x\nx = y + 1",
    "for _ in range(3):\n    pass",
    "k = 0\nwhile k < 4:\n    k += 1",
    "kapi.atomic_fence(MO.ACQ_REL, kapi.MemoryScope.DEVICE)",
    "turns += 1",
    "x = look_for_a_while(flags, 1, 2)",
)
BUSY = (
    *QUIET,
    "kapi.AtomicRef(flags, 2, MO.RELEASE).store(1)",
    "kapi.AtomicRef(flags, 1, MO.RELEASE).store(turns // 2)",
    "if turns == 2:\n    kapi.AtomicRef(flags, 0, MO.ACQ_REL).fetch_add(1)",
    "if peek(flags, 0) == 1:\n    done = True",
    "if peek(flags, 1) == 2:\n    break",
    "seen = kapi.AtomicRef(flags, 2, MO.ACQUIRE).load()\nif seen == 0:\n    continue",
)
CONDITIONS = (
    "peek(flags, 0) != 1",
    "kapi.AtomicRef(flags, 1, MO.ACQUIRE).load() == 0",
    "kapi.AtomicRef(flags, 2, MO.ACQ_REL).fetch_add(0) < 2",
    "kapi.AtomicRef(flags, 1, MO.ACQ_REL).exchange(1) == 1",
    "x < 5",
    "not done",
    "True",
)
WAITS = (
    ("while peek(flags, 0) == 0:", ""),
    ("while kapi.AtomicRef(flags, 0, MO.ACQUIRE).load() != 1:", ""),
    ("while kapi.AtomicRef(flags, 0, MO.ACQ_REL).fetch_add(0) == 0:", ""),
    ("while kapi.AtomicRef(flags, 0, MO.ACQ_REL).exchange(0) == 0:", ""),
    ("while not kapi.AtomicRef(flags, 0, MO.ACQ_REL).compare_exchange(one, 2):", "one[0] = 1"),
    ("while (seen := kapi.AtomicRef(flags, 0, MO.ACQUIRE).load()) == 0:", ""),
    ("while not done:", "if peek(flags, 0) == 1:\n    done = True"),
    ("while True:", "if kapi.AtomicRef(flags, 0, MO.ACQUIRE).load() > 0:\n    break"),
    ("for turn in range(1 << 50):", "if peek(flags, 0) == 1:\n    break"),
    ("seen = peek(flags, 0)\nwhile seen == 0:", "seen = peek(flags, 0)"),
)


def indented(text, by=1):
    return "".join(f"{'    ' * by}{line}\n" for line in text.splitlines() if line)


def some(rng, statements, most):
    return "\n".join(statements[int(rng.integers(len(statements)))] for _ in range(int(rng.integers(most + 1))))


def loop_that_ends(rng):
    """A loop with a counter of some kind, besides whatever else may end it."""
    count, value = list(COUNTERS.values())[int(rng.integers(len(COUNTERS)))]
    condition = CONDITIONS[int(rng.integers(len(CONDITIONS)))]
    limit = int(rng.choice((2, 7, 40)))
    head, last = f"while {condition} and {value} < {limit}:", ""
    if rng.random() < 0.4:
        head, last = f"while {condition}:", f"if {value} >= {limit}:\n    break"
    return f"{head}\n{indented(count)}{indented(last)}{indented(some(rng, BUSY, 4))}"


def loop_that_waits(rng):
    """A loop that only a write to the first flag ends, with anything that does not do so."""
    head, body = WAITS[int(rng.integers(len(WAITS)))]
    first, second = some(rng, QUIET, 2), some(rng, QUIET, 2)
    return f"one[0] = 1\n{head}\n{indented(first)}{indented(body or 'pass')}{indented(second)}"


def kernel_of(folder, first, second, is_range):
    """The kernel in which one half of the work-items, or the first one, does this and the others do that."""
    item, query = ("Item", "get_id") if is_range else ("NdItem", "get_global_id")
    text = (
        f"{HEAD}\n@kapi.kernel\ndef play(item: kapi.{item}, flags, own, out):\n    i = item.{query}(0)\n"
        f"{indented(VARIABLES)}    if i % 2 == 0:\n{indented(first, 2)}    else:\n{indented(second, 2)}"
        "    out[i] = turns\n"
    )
    file = folder / f"kernel_{len(list(folder.iterdir()))}.py"
    file.write_text(text)
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.play, text


def launch(kernel, space):
    kapi.call_kernel(kernel, space, np.zeros(3, np.int32), np.zeros(8, np.int32), np.zeros(8, np.int32))


def check(folder, seed, loops):
    rng = np.random.default_rng(seed)
    for _ in range(loops):
        is_range = rng.random() < 0.3
        kernel, text = kernel_of(folder, loop_that_ends(rng), loop_that_ends(rng), is_range)
        space = kapi.Range(4) if is_range else kapi.NdRange(4, int(rng.choice((1, 2, 4))))
        try:
            launch(kernel, space)
        except kapi.DeadlockError as error:
            raise AssertionError(f"{text}\nover {space} ends by itself") from error
        kernel, text = kernel_of(
            folder, "kapi.AtomicRef(flags, 0, MO.RELEASE).store(1)", loop_that_waits(rng), is_range
        )
        try:
            launch(kernel, kapi.Range(2) if is_range else kapi.NdRange(2, 1))
        except kapi.DeadlockError:
            continue
        raise AssertionError(f"{text}\nover two groups waits for another one")


def test_loops_that_end_are_distinguished_from_those_that_wait(tmp_path):
    check(tmp_path, 3, 20)


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_loops_that_end_are_distinguished_from_those_that_wait_in_many_kernels(block, tmp_path):
    check(tmp_path, (2026, block), LOOPS)
