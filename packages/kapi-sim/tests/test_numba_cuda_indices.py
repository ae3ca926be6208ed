"""Indices and variables of numba.cuda's kernels: what counts from the end, and what threads never set."""

from __future__ import annotations

import numpy as np
import pytest

from kapi_sim import numba_cuda as cuda
from kapi_sim import simulation
from kapi_sim.errors import (
    KapiError,
    KernelCompilationError,
    KernelLaunchError,
    OutOfBoundsError,
    UninitializedReadError,
)
from kapi_sim.numba_cuda import random
from kapi_sim.testing.reports import raises

LAST = -1
SHAPE = (2, 3, 4)


# Constant negative indices


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("-1", 5.0),
        ("-6", 0.0),
        ("LAST", 5.0),
        ("-ONE", 5.0),
        ("-(1 + ONE)", 4.0),
        ("-1 if n > 0 else -2", 5.0),
        ("-1 if n < 0 else -2", 4.0),
        ("last", 5.0),
    ],
)
def test_a_constant_negative_index_counts_from_the_end(index, expected, defined):
    source = (
        f"def kernel(a, out, n):\n    last = -1\n    out[0] = a[{index}]\n    a[{index}] = 9\n    a[{index}] += 1\n"
    )
    kernel = cuda.jit(defined(source, LAST=-1, ONE=1)["kernel"])
    a, out = np.arange(6.0), np.zeros(1)
    kernel[1, 1](a, out, 1)
    assert out[0] == expected
    assert a[int(expected)] == 10


def test_all_axes_and_kinds_of_memory():
    table = np.arange(4.0)
    on_device = cuda.to_device(np.arange(4.0))

    @cuda.jit
    def kernel(a, out, records):
        own = cuda.local.array(3, np.float64)
        shared = cuda.shared.array((2, 2), np.float64)
        own[-1], shared[-1, -2] = 1, 2
        out[0] = own[2] + shared[1, 0]
        out[1] = a[-1, 0] + a[0, -1] + a[-2, -3]
        out[2] = a.shape[-1] + SHAPE[-3] + (7, 8)[-1]
        out[3] = table[-1] + on_device[-2] + cuda.const.array_like(table)[-3]
        out[4] = a[-1][-1] + a.T[-1, -1]
        records[-1].x = 5
        out[5] = records[-1].x + records["x"][-1]
        row = a[-1]
        row[-1] = 8
        out[6] = a[1, 2]
        out[7] = a[..., -1][0] + a[-1, ...][1] + a[None, -1, -2][0]

    a, out = np.arange(6.0).reshape(2, 3), np.zeros(8)
    records = np.zeros(2, [("x", np.float64)])
    kernel[1, 1](a, out, records)
    assert out.tolist() == [3, 3 + 2 + 0, 3 + 2 + 8, 3 + 2 + 1, 5 + 5, 10, 8, 2 + 4 + 4]
    assert records["x"].tolist() == [0, 5]


def test_slices_count_from_the_end():
    @cuda.jit
    def kernel(a, out):
        out[0] = a[1:-1][0] + a[-2:][1] + a[:-3][-1]
        a[-2:] = 7
        m = a[-4:].reshape(2, 2)
        out[1] = m[:, -1][0] + m[-1:, :-1][0, 0]

    a, out = np.arange(6.0), np.zeros(2)
    kernel[1, 1](a, out)
    assert out.tolist() == [1 + 5 + 2, 3 + 7]
    assert a.tolist() == [0, 1, 2, 3, 7, 7]


def test_atomics_count_from_the_end():
    @cuda.jit
    def kernel(a, m):
        cuda.atomic.add(a, -1, 1)
        cuda.atomic.max(m, (0, LAST), 7)
        cuda.atomic.cas(a, -2, 2, 9)

    a, m = np.arange(4), np.zeros((2, 3), np.int64)
    kernel[1, 4](a, m)
    assert a.tolist() == [0, 1, 9, 7]
    assert m.tolist() == [[0, 0, 7], [0, 0, 0]]


def test_neighbours_by_negative_indices_race():
    @cuda.jit
    def kernel(a):
        a[-1] = cuda.threadIdx.x

    with raises(KapiError, "data-race", line="a[-1] = cuda.threadIdx.x"):
        kernel[1, 2](np.zeros(3))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("out[0] = a[i - 1]", "a[i - 1]"),
        ("k = i - 1\n    out[0] = a[k]", "a[k]"),
        ("for k in range(-1, 1):\n        out[0] = a[k]", "out[0] = a[k]"),
        ("k = -1\n    k += 0\n    out[0] = a[k]", "a[k]"),
        ("out[0] = a[-i - 1]", "a[-i - 1]"),
        ("out[0] = a[n]", "a[n]"),
        ("a[i - 1] = 1", "a[i - 1]"),
        ("cuda.atomic.add(a, i - 1, 1)", "i - 1"),
        ("out[0] = a[0:2][i - 1]", "[i - 1]"),
    ],
)
def test_a_computed_index_that_becomes_negative_is_an_error(body, line, defined):
    source = f"def kernel(a, out, n):\n    i = cuda.grid(1)\n    {body}\n"
    kernel = cuda.jit(defined(source, cuda=cuda)["kernel"])
    with raises(OutOfBoundsError, "negative-index", line=line):
        kernel[1, 1](np.arange(3.0), np.zeros(1), -1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[0] = a[i - 1]", 5),
        ("out[0] = m[i - 1, n]", 4),
        ("out[0] = m[..., n][0]", 2),
        ("out[0] = m[n][0]", 3),
        ("out[0] = m.flat[n]", 4),
        ("a[n] = 7\n    out[0] = a[5]", 7),
        ("cuda.atomic.add(a, i - 1, 2)\n    out[0] = a[5]", 7),
        ("cuda.atomic.add(m, (n, i - 2), 2)\n    out[0] = m[1, 0]", 5),
        ("own = cuda.local.array(3, np.float64)\n    own[2] = 8\n    out[0] = own[n]", 8),
    ],
)
def test_a_computed_index_counts_from_the_end_on_demand(body, expected, defined):
    source = f"def kernel(a, m, out, n):\n    i = cuda.grid(1)\n    {body}\n"
    kernel = cuda.jit(defined(source, cuda=cuda, np=np)["kernel"])
    out = np.zeros(1)
    with simulation(wraparound=True):
        kernel[1, 1](np.arange(6.0), np.arange(1.0, 5.0).reshape(2, 2), out, -1)
    assert out[0] == expected


def test_counting_from_the_end_stops_at_the_first_element():
    @cuda.jit
    def kernel(a, n):
        a[n] = 1

    a = np.zeros(3)
    with simulation(wraparound=True):
        kernel[1, 1](a, -3)
        with raises(OutOfBoundsError, "negative-index", line="a[n] = 1"):
            kernel[1, 1](a, -4)
    assert a.tolist() == [1, 0, 0]
    with raises(KernelLaunchError, "simulation-wraparound"), simulation(wraparound=1):
        pass


@pytest.mark.parametrize("index", ["-4", "0, -4", "-1, -4"])
def test_beyond_the_first_element_is_out_of_bounds(index, defined):
    kernel = cuda.jit(defined(f"def kernel(a, out):\n    out[0] = a[{index}]\n")["kernel"])
    a = np.zeros(3) if "," not in index else np.zeros((3, 3))
    with raises(OutOfBoundsError, "index-out-of-bounds", line="out[0] = a["):
        kernel[1, 1](a, np.zeros(1))


def test_members_of_enumerations_and_bools_are_indices():
    import enum

    class Axis(enum.IntEnum):
        Y = 1

    @cuda.jit
    def kernel(a, m):
        a[Axis.Y] = 3
        m[Axis.Y, 0] = a[Axis.Y]

    a, m = np.zeros(2), np.zeros((2, 1))
    kernel[1, 1](a, m)
    assert (a[1], m[1, 0]) == (3, 3)


def test_random_states_of_a_device_are_indexed_as_before():
    states = random.create_xoroshiro128p_states(2, seed=1)

    @cuda.jit
    def kernel(states, out):
        out[-1] = random.xoroshiro128p_uniform_float64(states, 1)

    out = np.zeros(2)
    kernel[1, 1](states, out)
    assert 0 < out[1] < 1


# Variables that some threads never set


@cuda.jit(device=True)
def kept(value, is_wanted, out, i):
    if is_wanted:
        out[i] = value


def test_a_variable_that_is_not_set_is_passed_on():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            twice = 2 * a[i]
        more = twice + 1
        both = (more, -more, abs(more), int(more))
        kept(both[0], i < a.size, out, i)

    out = np.zeros(3)
    kernel[1, 5](np.ones(3), out)
    assert out.tolist() == [3, 3, 3]


def test_it_goes_through_barriers_warps_and_returns():
    @cuda.jit(device=True)
    def first(a, i):
        if i < a.size:
            found = a[i]
        cuda.syncthreads()
        return found

    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        mine = first(a, i)
        other = cuda.shfl_down_sync(0xFFFFFFFF, mine, 1)
        kept(other, i + 1 < a.size, out, i)

    out = np.zeros(4)
    kernel[1, 4](np.arange(3.0), out)
    assert out.tolist() == [1, 2, 0, 0]


USES = {
    "a store": "out[i] = x",
    "a condition": "if x > 1:\n        out[i] = 1",
    "a loop's condition": "while x > 1:\n        x -= 1",
    "an index": "out[i * x] = 1",
    "a count": "for k in range(x):\n        out[i] = k",
    "an atomic operation": "cuda.atomic.add(out, 0, x)",
    "a vote": "out[i] = cuda.any_sync(1 << i, x)",
    "a predicate": "out[i] = cuda.syncthreads_count(x)",
    "arithmetic": "out[i] = x * 2 + 1",
    "a power": "out[i] = x ** 2",
    "a division": "out[i] = 7 // x",
    "a function of math": "out[i] = math.sqrt(x)",
    "a conversion": "out[i] = int(x) + np.float32(x)",
    "a tuple": "t = (x, 1)\n    out[i] = t[0]",
    "a device function": "kept(x, True, out, i)",
    "a choice": "out[i] = 1 if x else 2",
    "an attribute": "out[i] = x.real",
    "a maximum": "out[i] = max(x, 1)",
}


@pytest.mark.parametrize("use", USES)
def test_a_use_of_it_names_the_thread_and_where_it_is_set(use, defined):
    import math

    source = f"def kernel(a, out):\n    i = cuda.threadIdx.x\n    if i != 2:\n        x = 1\n    {USES[use]}\n"
    kernel = cuda.jit(defined(source, cuda=cuda, np=np, math=math, kept=kept)["kernel"])
    with raises(UninitializedReadError, "variable-unset", line="x = 1") as info:
        kernel[1, 4](np.ones(4), np.zeros(4))
    assert "thread 2 of block 0 uses variable `x`" in str(info.value)


def test_an_array_that_is_not_set_is_not_used():
    @cuda.jit
    def kernel(a):
        i = cuda.threadIdx.x
        if i < 1:
            part = a[:2]
        part[i] = 1

    with raises(UninitializedReadError, "variable-unset", line="part = a[:2]"):
        kernel[1, 2](np.zeros(4))


def test_loops_that_do_not_run_leave_their_variables_unset():
    @cuda.jit
    def last(a, out, n):
        for k in range(n):
            found = a[k]
        out[0] = found + k

    out = np.zeros(1)
    last[1, 1](np.arange(3.0), out, 3)
    assert out[0] == 4
    with raises(UninitializedReadError, "variable-unset", line="found = a[k]"):
        last[1, 1](np.arange(3.0), out, 0)


def test_variables_are_set_by_loops_without_an_end():
    @cuda.jit
    def kernel(a, out):
        k = 0
        while True:
            found = a[k]
            if found > 1:
                break
            k += 1
        out[0] = found

    out = np.zeros(1)
    kernel[1, 1](np.arange(4.0), out)
    assert out[0] == 2


def test_a_variable_that_is_read_above_its_first_value_is_no_program():
    @cuda.jit
    def kernel(a):
        a[0] = later  # noqa: F821
        later = 1  # noqa: F841

    with raises(KernelCompilationError, "variable-unset", line="a[0] = later"):
        kernel[1, 1](np.zeros(1))


def test_ends_of_ranges_may_be_floats_which_are_truncated():
    @cuda.jit
    def kernel(a, x):
        for i in range(a.size / 2):
            a[i] += 1
        for i in range(x, a.size - 0.5, 1):
            a[i] += 10

    a = np.zeros(5)
    kernel[1, 1](a, np.float32(1.9))
    assert a.tolist() == [1, 11, 10, 10, 0]
