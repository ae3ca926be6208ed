"""Random access patterns: the simulator finds a race exactly where the definition has one."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import kapi_sim as kapi

GROUPS, LOCAL, PHASES, STEPS, CELLS = 3, 2, 2, 3, 2
ITEMS = GROUPS * LOCAL
BLOCKS, PROGRAMS = 20, 1000
READ = 0
VALUES = (7, 8)


@kapi.kernel
def play(nd_item: kapi.NdItem, program, a):
    i = nd_item.get_global_id(0)
    seen = 0
    for phase in range(len(program[i])):
        for cell, value in program[i][phase]:
            if value == READ:
                seen += a[cell]
            else:
                a[cell] = value
        kapi.group_barrier(nd_item.get_group())


@kapi.kernel
def play_without_groups(item: kapi.Item, program, a):
    seen = 0
    for steps in program[item.get_id(0)]:
        for cell, value in steps:
            if value == READ:
                seen += a[cell]
            else:
                a[cell] = value


@kapi.kernel
def play_in_local_memory(nd_item: kapi.NdItem, program, a):
    i = nd_item.get_local_id(0)
    if i == 0:
        for cell in range(a.shape[0]):
            a[cell] = READ
    kapi.group_barrier(nd_item.get_group())
    seen = 0
    for phase in range(len(program[i])):
        for cell, value in program[i][phase]:
            if value == READ:
                seen += a[cell]
            else:
                a[cell] = value
        kapi.group_barrier(nd_item.get_group())


def race_of(program, local):
    """The definition: one cell, two work-items, a write, and no barrier of a common group between.

    Two writes of one value are a benign race: the answer is "race", "benign" or "".
    """
    accesses = [(i, p, *step) for i, phases in enumerate(program) for p, steps in enumerate(phases) for step in steps]
    found = ""
    for (i, p, c, v), (j, q, d, w) in combinations(accesses, 2):
        is_ordered = i == j or (i // local == j // local and p != q and local > 1)
        if c != d or is_ordered or v == w == READ:
            continue
        if v != w:
            return "race"
        found = "benign"
    return found


def program_of(rng, items):
    """Few accesses of few cells, most of which write one value."""
    made = [[[] for _ in range(PHASES)] for _ in range(items)]
    for _ in range(int(rng.integers(2, 8))):
        steps = made[int(rng.integers(items))][int(rng.integers(PHASES))]
        if len(steps) < STEPS:
            value = READ if rng.random() < 0.2 else VALUES[int(rng.random() < 0.15)]
            steps.append((int(rng.integers(CELLS)), value))
    return tuple(tuple(map(tuple, phases)) for phases in made)


def found_in(kernel, space, program, memory, seed):
    try:
        with kapi.simulation(seed=seed) as report, warnings.catch_warnings():
            warnings.simplefilter("ignore", kapi.BenignRaceWarning)
            kapi.call_kernel(kernel, space, program, memory)
    except kapi.DataRaceError:
        return "race"
    return "benign" if report.notes else ""


def compared(seed, programs):
    """Compare random programs with the definition, and count what it says of them."""
    rng = np.random.default_rng(seed)
    outcomes = Counter()
    for _ in range(programs):
        order = (None, 1, 2)[int(rng.integers(3))]
        which = int(rng.integers(3))
        if which == 0:
            program = program_of(rng, ITEMS)
            expected = race_of(program, LOCAL)
            got = found_in(play, kapi.NdRange(ITEMS, LOCAL), program, np.zeros(CELLS), order)
        elif which == 1:
            program = program_of(rng, ITEMS)
            expected = race_of(program, 1)
            got = found_in(play_without_groups, kapi.Range(ITEMS), program, np.zeros(CELLS), order)
        else:
            program = program_of(rng, ITEMS)
            expected = race_of(program, ITEMS)
            local = kapi.LocalAccessor(CELLS, np.float64)
            got = found_in(play_in_local_memory, kapi.NdRange(ITEMS, ITEMS), program, local, order)
        assert got == expected, (seed, which, order, program)
        outcomes[which, expected] += 1
    return outcomes


def test_races_found_are_those_of_the_definition():
    outcomes = compared(0, 600)
    assert len(outcomes) == 9
    assert min(outcomes.values()) >= 10, outcomes


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_races_found_are_those_of_the_definition_in_many_programs(block):
    assert compared((2026, block), PROGRAMS).total() == PROGRAMS
