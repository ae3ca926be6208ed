"""Loops whose iterations nobody can count, in divergent branches: what drivers for CPUs get wrong."""

from __future__ import annotations

import os
import random

import dpnp
import numpy as np
import pytest
from loop_kernels import WorkItem, compiled

import kapi_runtime as kapi

WORK_ITEMS = 64
BLOCKS, BLOCK = 60, 10
CONDITIONS = ("i % 2 > 0", "i % 2 <= 0", "i % 3 == 1", "i > 7", "(i & 4) > 0", "out[0, i] > x", "n > 40", "v > w")
UPDATES = (
    "v += 1", "w += 1", "v += 2", "w -= 2", "v = v * 0.5 + 1", "v += i", "v, w = w, v", "w = w + v", "out[2, i] += 1",
)  # fmt: skip


class Writer:
    """Writes the body of a kernel at random: loops in branches, branches in loops."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.loops = 0

    def block(self, depth: int) -> list[str]:
        makers = [self.loop] if depth <= 0 else [self.loop, self.loop, self.branch, self.update]
        return [line for _ in range(self.choose.randint(1, 2)) for line in self.choose.choice(makers)(depth)]

    def update(self, _depth: int) -> list[str]:
        return [self.choose.choice(UPDATES)]

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.choose.choice(CONDITIONS)}:", *indented(self.block(depth - 1))]
        if self.choose.random() < 0.2:
            lines += [f"elif {self.choose.choice(CONDITIONS)}:", *indented(self.block(depth - 1))]
        if self.choose.random() < 0.7:
            lines += ["else:", *indented(self.block(depth - 1))]
        return lines

    def loop(self, depth: int) -> list[str]:
        self.loops += 1
        k, choice = f"k{self.loops}", self.choose.choice
        body = [choice([*UPDATES[:4], f"w += {k}", choice(UPDATES)]) for _ in range(self.choose.randint(1, 2))]
        if depth > 0 and self.choose.random() < 0.35:
            body += choice([self.branch, self.branch, self.loop])(depth - 1)
        steps = [f"{k} += {choice(['n', 'n', 'n + 1', 'n + x'])}", *body]
        limit = choice([64, 100, 256, 300])
        return choice(
            [
                [f"{k} = {choice([0, 0, 'n - 64', 'i % 2'])}", f"while {k} < {limit}:", *indented(steps)],
                [f"{k} = 0", f"while {k} < 100 + i:", *indented(steps)],
                [f"{k} = 0", "while True:", *indented([*steps, f"if {k} > {limit}:", "    break"])],
                [f"{k} = 1", f"while {k} < {limit}:", *indented([*body, f"{k} *= 2"])],
                [f"for {k} in range(0, {limit}, n):", *indented(body)],
                [f"for {k} in range({choice([2, 'x'])}):", *indented(body)],
            ]
        )

    def source(self) -> str:
        start = [f"v = {self.choose.choice(['np.float64(0)', 'np.float64(1)', 'np.float64(i)'])}", "w = np.float64(0)"]
        body = [*start, *self.branch(3), *(self.block(2) if self.choose.random() < 0.5 else [])]
        lines = ["i = item.get_id(0)", *body, "out[0, i] += v", "out[1, i] += w"]
        return "\n".join(["def kernel(item, n, x, out):", *indented(lines)]) + "\n"


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def check(function, message=""):
    """Compare with plain Python; every value is one that float64 holds or rounds alike."""
    expected = np.zeros((3, WORK_ITEMS))
    with np.errstate(all="ignore"):
        for number in range(WORK_ITEMS):
            function(WorkItem(number), 64, 3, expected)
    out = dpnp.zeros((3, WORK_ITEMS))
    kapi.call_kernel(kapi.kernel(function), kapi.Range(WORK_ITEMS), 64, 3, out)
    np.testing.assert_array_equal(out.asnumpy(), expected, err_msg=message)


def in_two_arms(item, n, x, out):
    i = item.get_id(0)
    v = 0.0
    k = 0
    if i % 2 > 0:
        while k < 256:
            k += n
            v += 1
    else:
        while k < 512:
            k += n + 1
            v += 2
    out[0, i] = v
    out[1, i] = k


def in_two_branches(item, n, x, out):
    i = item.get_id(0)
    v = 0.0
    if i % 2 > 0:
        k = 0
        while k < 256:
            k += n
            v += 1
    if i % 2 <= 0:
        k = 0
        while k < 256:
            k += n
            v += 2
    out[0, i] = v


def in_arms_in_a_loop(item, n, x, out):
    i = item.get_id(0)
    v = 0.0
    j = 0
    while j < x:
        j += n
        if i % 2 > 0:
            k = 0
            while k < 256:
                k += n
                v += 1
        else:
            k = 0
            while k < 256:
                k += n
                v += 2
    out[0, i] = v


def with_loops_of_their_own_length(item, n, x, out):
    i = item.get_id(0)
    v = 1.0
    w = 0.0
    if i % 4 > 1:
        k = 0
        while k < 100 + i:
            k += n
            w += k
        v += 2
    else:
        k = 0
        while k < 300:
            k += n
            w += k
        k = i % 2
        while k < 256:
            k += n + 1
            for step in range(0, 256, n):
                w += step
    out[0, i] = v
    out[1, i] = w


def of_chosen_views(item, n, x, out):
    i = item.get_id(0)
    row = out[2]
    if i % 2 > 0:
        k = 0
        while k < 256:
            k += n
        row = out[1]
    else:
        k = 0
        while k < 512:
            k += n + 1
        row = out[0]
    row[i] = k


def condition_in_a_counted_loop(item, n, x, out):
    i = item.get_id(0)
    v = 0.0
    w = 0.0
    for _ in range(x):
        w -= 2
        if i % 3 == 1:
            v += 4
            w -= 4
    out[0, i] = v
    out[1, i] = w


def condition_of_memory_in_a_counted_loop(item, n, x, out):
    i = item.get_id(0)
    out[2, i] = i % 3
    w = 1
    v = 0
    for _ in range(x):
        w = w ^ (w << 3)
        if out[2, i] > 0:
            v ^= 5
    out[0, i] = v
    out[1, i] = w


def choice_in_a_counted_loop(item, n, x, out):
    i = item.get_id(0)
    v = np.float32(0.0)
    w = np.float32(0.0)
    for _ in range(x):
        w += np.float32(1)
        v = w if i % 3 == 1 else v
    out[0, i] = v
    out[1, i] = w


def integers_in_a_counted_loop(item, n, x, out):
    i = item.get_id(0)
    w = 1
    v = 0
    for _ in range(x):
        w = w * 3
        if i % 3 == 1:
            v += w
    out[0, i] = v
    out[1, i] = w


def counted_loops_in_arms_in_a_loop(item, n, x, out):
    i = item.get_id(0)
    v = 0.0
    w = 0.0
    for _ in range(x):
        w += 1
        if i % 3 == 1:
            for _ in range(n):
                v += 2
        else:
            for _ in range(x):
                w -= 2
    out[0, i] = v
    out[1, i] = w


@pytest.mark.parametrize(
    "function",
    [
        condition_in_a_counted_loop,
        condition_of_memory_in_a_counted_loop,
        choice_in_a_counted_loop,
        integers_in_a_counted_loop,
        counted_loops_in_arms_in_a_loop,
    ],
    ids=lambda function: function.__name__,
)
def test_conditions_in_counted_loops_are_each_work_items_own(function):
    check(function)


@pytest.mark.parametrize(
    "function",
    [in_two_arms, in_two_branches, in_arms_in_a_loop, with_loops_of_their_own_length, of_chosen_views],
    ids=lambda function: function.__name__,
)
def test_loops_in_branches_give_each_work_item_its_own(function):
    check(function)


def drawn(seed):
    """A random kernel: its function and its source."""
    source = Writer(seed).source()
    return compiled(source, f"loops_in_branches_{seed}.py"), source


@pytest.mark.parametrize("seed", range(15))
def test_random_loops_in_branches_agree(seed):
    check(*drawn(seed))


@pytest.mark.nightly(one_in=BLOCKS, at_night=2)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_loops_in_branches_agree_at_length(block):
    """Others each night."""
    first = (int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + block) * BLOCK
    for seed in range(first, first + BLOCK):
        check(*drawn(seed))
