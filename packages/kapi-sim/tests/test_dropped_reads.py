"""Expressions whose value Python drops are no accesses of a kernel; reads are."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.testing.reports import raises

# Statements over `m`, of which elements 0 and 1 may be read and element 2 may not; `p` has two elements.
QUIET = {
    "zip, the shorter behind": "for x, y in zip(m, p): s += x * y",
    "zip, the shorter before": "for x, y in zip(p, m): s += x * y",
    "zip with a range": "for x, k in zip(m, range(2)): s += x * k",
    "zip with a tuple": "for x, y in zip(m, (3, 4)): s += x * y",
    "zip of three": "for x, y, z in zip(m, m, p): s += x * y * z",
    "zip of enumerate": "for (k, x), y in zip(enumerate(m), p): s += x * y + k",
    "zip of zip": "for (x, y), z in zip(zip(m, m), p): s += x * y * z",
    "zip of reversed": "for x, y in zip(m, reversed(p)): s += x * y",
    "enumerate of zip": "for k, (x, y) in enumerate(zip(m, p)): s += x * y + k",
    "reversed of a slice": "for x in reversed(m[:2]): s += x",
    "enumerate of a slice": "for k, x in enumerate(m[:2]): s += x * k",
    "a loop that is left": "for k, x in enumerate(m):\n        s += x\n        if k == 1: break",
    "a slice by a step": "for x in m[0:3:3]: s += x",
    "the length": "s += len(m) + m.size + m.shape[0]",
    "and": "s += 1 if i < 0 and m[2] > 0 else m[0]",
    "or": "s += 1 if i > -1 or m[2] > 0 else m[0]",
    "a choice": "s += m[0] if i > -1 else m[2]",
    "a chained comparison": "s += 1 if m[1] < i - 9 < m[2] else 0",
    "membership": "s += 1 if i in (m[0], m[1]) else 0",
    "any": "s += 1 if any(m[:2]) else 0",
    "all": "s += 1 if all(m[:2]) else 0",
    "sum": "s += sum(m[:2])",
    "an element of a view": "v = m[1:]\n    s += v[0]",
    "a tuple's member": "t = (m[0], m[1])\n    s += t[1]",
    "a loop without iterations": "for x in m[2:2]: s += x",
}
READING = {
    "zip of as many": "for x, y in zip(m, m): s += x * y",
    "zip with a longer range": "for x, k in zip(m, range(9)): s += x * k",
    "zip of enumerate": "for (k, x), y in zip(enumerate(m), m): s += x * y + k",
    "reversed": "for x in reversed(m): s += x",
    "enumerate": "for k, x in enumerate(m): s += x * k",
    "a loop": "for x in m: s += x",
    "a slice by a step": "for x in m[0:3:2]: s += x",
    "and": "s += 1 if i > -1 and m[2] > 0 else m[0]",
    "or": "s += 1 if i < 0 or m[2] > 0 else m[0]",
    "a choice": "s += m[0] if i < 0 else m[2]",
    "a chained comparison": "s += 1 if i - 9 < i < m[2] else 0",
    "membership": "s += 1 if i in (m[0], m[2]) else 0",
    "sum": "s += sum(m)",
    "all": "s += 1 if all(m) else 0",
    "an element of a view": "v = m[1:]\n    s += v[1]",
    "a tuple's member": "s += (m[0], m[2])[0]",
}
BOTH = [
    *(pytest.param(lines, False, id=f"quiet, {name}") for name, lines in QUIET.items()),
    *(pytest.param(lines, True, id=f"reading, {name}") for name, lines in READING.items()),
]

REFUSED_BY_CUDA = re.compile(r"\b(reversed|any|all)\(")


def function(source, **names):
    filename = f"dropped_{len(linecache.cache)}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names |= {"kapi": kapi, "cuda": cuda, "np": np}
    exec(compile(source, filename, "exec"), names)
    return names["kernel"]


def run(reads, error, code, launch):
    if reads:
        with raises(error, code, line="s +=", words=False):
            launch()
    else:
        launch()


@pytest.mark.parametrize(("lines", "reads"), BOTH)
def test_unwritten_private_memory_is_read_where_the_kernel_reads_it(lines, reads):
    kernel = function(
        "def kernel(item: kapi.Item, p, out):\n    i = item.get_id(0)\n    m = kapi.PrivateArray(3, np.int64)\n"
        f"    m[0] = m[1] = 1\n    s = 0\n    {lines}\n    out[i] = s\n"
    )
    args = np.ones(2, np.int64), np.zeros(1, np.int64)
    run(
        reads, kapi.UninitializedReadError, "read-before-write",
        lambda: kapi.call_kernel(kapi.kernel(kernel), kapi.Range(1), *args),
    )  # fmt: skip


@pytest.mark.parametrize(("lines", "reads"), BOTH)
def test_unwritten_local_memory_is_read_where_the_kernel_reads_it(lines, reads):
    kernel = function(
        "def kernel(item: kapi.NdItem, p, out, m):\n    i = item.get_global_id(0)\n"
        f"    m[0] = m[1] = 1\n    s = 0\n    {lines}\n    out[i] = s\n"
    )
    args = np.ones(2, np.int64), np.zeros(1, np.int64), kapi.LocalAccessor(3, np.int64)
    run(
        reads, kapi.UninitializedReadError, "read-before-write",
        lambda: kapi.call_kernel(kapi.kernel(kernel), kapi.NdRange(1, 1), *args),
    )  # fmt: skip


@pytest.mark.parametrize(("lines", "reads"), BOTH)
def test_races_are_of_elements_that_the_kernel_reads(lines, reads):
    indented = lines.replace("\n", "\n    ")
    kernel = function(
        "def kernel(item: kapi.Item, p, out, m):\n    i = item.get_id(0)\n    s = 0\n    if i == 1:\n"
        f"        m[2] = 5\n    else:\n        {indented}\n        out[i] = s\n"
    )
    args = np.ones(2, np.int64), np.zeros(2, np.int64), np.ones(3, np.int64)
    run(
        reads, kapi.DataRaceError, "data-race",
        lambda: kapi.call_kernel(kapi.kernel(kernel), kapi.Range(2), *args),
    )  # fmt: skip


@pytest.mark.parametrize(("lines", "reads"), [each for each in BOTH if not REFUSED_BY_CUDA.search(each.values[0])])
def test_threads_of_cuda_read_what_their_kernel_reads(lines, reads):
    kernel = function(
        "def kernel(p, out):\n    i = cuda.grid(1)\n    m = cuda.local.array(3, np.int64)\n"
        f"    m[0] = 1\n    m[1] = 1\n    s = 0\n    {lines}\n    out[i] = s\n"
    )
    args = np.ones(2, np.int64), np.zeros(1, np.int64)
    run(reads, kapi.UninitializedReadError, "read-before-write", lambda: cuda.jit(kernel)[1, 1](*args))


@pytest.mark.parametrize("lines", QUIET.values(), ids=QUIET)
def test_nothing_beyond_the_end_is_read(lines):
    """With elements 0 and 1 alone, nothing lies outside but what a branch that is not taken names."""
    kernel = function(
        f"def kernel(item: kapi.Item, p, out, m):\n    i = item.get_id(0)\n    s = 0\n    {lines}\n    out[i] = s\n"
    )
    args = np.ones(2, np.int64), np.zeros(1, np.int64), np.ones(2, np.int64)
    kapi.call_kernel(kapi.kernel(kernel), kapi.Range(1), *args)


@pytest.mark.parametrize("call", ["zip()", "zip(m, p, strict=True)"])
def test_zip_takes_sequences_only(call):
    kernel = function(f"def kernel(item: kapi.Item, m, p):\n    for x in {call}:\n        p[0] = 1\n")
    with raises(kapi.KernelCompilationError, "call-arguments", words=False):
        kapi.call_kernel(kapi.kernel(kernel), kapi.Range(1), np.ones(2), np.ones(2))
