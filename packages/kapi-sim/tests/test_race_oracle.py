"""Random access patterns: the simulator finds a race exactly where the definition has one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kapi_sim as kapi

ITEMS, LOCAL, PHASES, STEPS, CELLS = 4, 2, 2, 2, 4


@kapi.kernel
def play(nd_item: kapi.NdItem, cell, writes, a, sink):
    i = nd_item.get_global_id(0)
    for phase in range(cell.shape[1]):
        for step in range(cell.shape[2]):
            c = cell[i, phase, step]
            if c >= 0:
                if writes[i, phase, step]:
                    a[c] = i + 1
                else:
                    sink[i] += a[c]
        kapi.group_barrier(nd_item.get_group())


def has_race(cell, writes):
    """The definition: one cell, two work-items, a write, and no barrier of a common group between."""
    accesses = [(i, phase, cell[i, phase, step], writes[i, phase, step]) for i, phase, step in np.ndindex(cell.shape)]
    for (i, p, c, w), (j, q, d, v) in combinations(accesses, 2):
        is_ordered = i == j or (i // LOCAL == j // LOCAL and p != q)
        if c >= 0 and c == d and (w or v) and not is_ordered:
            return True
    return False


SHAPE = (ITEMS, PHASES, STEPS)
COUNT = ITEMS * PHASES * STEPS


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(-4, CELLS - 1), min_size=COUNT, max_size=COUNT),
    st.lists(st.booleans(), min_size=COUNT, max_size=COUNT),
    st.sampled_from([None, 1, 2, 3]),
)
def test_races_found_are_those_of_the_definition(cells, writes, seed):
    cell = np.array(cells).reshape(SHAPE)
    write = np.array(writes).reshape(SHAPE)
    found = False
    try:
        with kapi.simulation(seed=seed):
            kapi.call_kernel(play, kapi.NdRange(ITEMS, LOCAL), cell, write, np.zeros(CELLS), np.zeros(ITEMS))
    except kapi.DataRaceError:
        found = True
    assert found == has_race(cell, write)
