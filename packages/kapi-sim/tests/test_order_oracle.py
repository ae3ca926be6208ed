"""Random programs of atomics, fences and barriers: a race is found exactly where the memory model has one."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda

GROUPS, LOCAL, SUB, PHASES, STEPS, CELLS = 3, 4, 2, 2, 6, 2
ITEMS = GROUPS * LOCAL
BLOCKS, PROGRAMS = 50, 400
ORDERS = (
    kapi.MemoryOrder.RELAXED,
    kapi.MemoryOrder.ACQUIRE,
    kapi.MemoryOrder.RELEASE,
    kapi.MemoryOrder.ACQ_REL,
)
SCOPES = (kapi.MemoryScope.SUB_GROUP, kapi.MemoryScope.WORK_GROUP, kapi.MemoryScope.DEVICE)
READ, WRITE, LOAD, STORE, ADD, FENCE = range(6)
WIDE, NARROW = 0, 1


@kapi.kernel
def play(nd_item: kapi.NdItem, program, barriers, wide, narrow):
    i = nd_item.get_global_id(0)
    seen = 0
    for phase in range(len(barriers)):
        for what, cell, order, scope, value, width in program[i][phase]:
            a = wide
            c = cell
            if width == NARROW:
                a = narrow
                c = 2 * cell
            if what == READ:
                seen += int(a[c])
            elif what == WRITE:
                a[c] = value
            elif what == LOAD:
                seen += int(kapi.AtomicRef(a, c, ORDERS[order], SCOPES[scope]).load())
            elif what == STORE:
                kapi.AtomicRef(a, c, ORDERS[order], SCOPES[scope]).store(value)
            elif what == ADD:
                seen += int(kapi.AtomicRef(a, c, ORDERS[order], SCOPES[scope]).fetch_add(1))
            elif what == FENCE:
                kapi.atomic_fence(ORDERS[order], SCOPES[scope])
        if barriers[phase]:
            kapi.group_barrier(nd_item.get_group())
        else:
            kapi.group_barrier(nd_item.get_sub_group())


@cuda.jit
def play_in_cuda(program, has_warp_barriers, a):
    i = cuda.grid(1)
    seen = 0
    for phase in range(program.shape[1]):
        for step in range(program.shape[2]):
            what = program[i, phase, step, 0]
            cell = program[i, phase, step, 1]
            value = program[i, phase, step, 3]
            if what == READ:
                seen += a[cell]
            elif what == WRITE:
                a[cell] = value
            elif what == ADD:
                seen += cuda.atomic.add(a, cell, 1)
            elif what == FENCE:
                if program[i, phase, step, 2] == 2:
                    cuda.threadfence()
                else:
                    cuda.threadfence_block()
        if has_warp_barriers:
            cuda.syncwarp()
        else:
            cuda.syncthreads()


def holds(one, other, scope):
    """Whether a scope of one work-item holds the other."""
    return one // (SUB, LOCAL, ITEMS)[scope] == other // (SUB, LOCAL, ITEMS)[scope]


def events_of(program, direction=1):
    """Each operation, in the order in which the simulator runs them, or backwards: item, phase, and the step."""
    return [
        (g * LOCAL + k, phase, *step)
        for g in range(GROUPS)[::direction]
        for phase in range(PHASES)
        for k in range(LOCAL)[::direction]
        for step in program[g * LOCAL + k][phase]
    ]


def race_of(program, barriers, direction=1, fences_cross_barriers=False):
    """The definition: conflicting accesses, not both atomic for each other, of which none happens before the other.

    Two plain writes conflict where the bytes that both write differ, else they are a benign race: the answer is
    "race", "benign" or "".
    """
    events = events_of(program, direction)
    before = np.zeros((len(events), len(events)), bool)
    for (x, one), (y, two) in combinations(enumerate(events), 2):
        width = [LOCAL if barriers[phase] else SUB for phase in range(one[1], two[1])]
        is_shared = any(one[0] // w == two[0] // w for w in width)
        before[x, y] = one[0] == two[0] or is_shared
    items = np.array([event[0] for event in events], int)
    is_ahead = np.triu(before if fences_cross_barriers else items[:, None] == items, 1)
    for x, y in synchronised(events, is_ahead):
        before[x, y] = True
    for k in range(len(events)):  # events stand in an order that happens-before agrees with
        before |= np.outer(before[:, k], before[k])
    found = ""
    for (x, one), (y, two) in combinations(enumerate(events), 2):
        if one[0] == two[0] or one[3] != two[3] or FENCE in (one[2], two[2]) or before[x, y]:
            continue
        if {one[2], two[2]} == {WRITE}:
            # A narrow write writes the lower half; values are small.
            if one[6] != two[6]:
                return "race"
            found = "benign"
            continue
        writes = {one[2], two[2]} & {WRITE, STORE, ADD}
        are_atomic = min(one[2], two[2]) >= LOAD and one[7] == two[7] and holds(one[0], two[0], min(one[5], two[5]))
        if writes and not are_atomic:
            return "race"
    return found


def synchronised(events, is_ahead):
    """Pairs of a release and the acquire that sees it, each an operation or a fence.

    `is_ahead` tells whether a fence stands ahead of an atomic, or an atomic ahead of a fence: of one work-item, as in
    SYCL's model, or also behind a barrier, as CUDA's fences do.
    """
    for y, reader in enumerate(events):
        if reader[2] not in (LOAD, ADD):
            continue
        sinks = [(y, reader[5])] if reader[4] in (1, 3) else []
        sinks += [(z, e[5]) for z, e in enumerate(events) if is_ahead[y, z] and e[2] == FENCE and e[4] in (1, 3)]
        for x in reversed(range(y)):
            writer = events[x]
            if writer[3] != reader[3] or writer[2] not in (STORE, ADD):
                continue
            sources = [(x, writer[5])] if writer[4] in (2, 3) else []
            sources += [(z, e[5]) for z, e in enumerate(events) if is_ahead[z, x] and e[2] == FENCE and e[4] in (2, 3)]
            for source in sources:
                for sink in sinks:
                    if holds(writer[0], reader[0], min(reader[5], source[1], sink[1])):
                        yield source[0], sink[0]
            if writer[2] == STORE:  # what an addition changed goes on to what it read
                break


def one_of(rng, choices):
    return int(choices[int(rng.integers(len(choices)))])


def a_scope(rng):
    return 2 if rng.random() < 0.7 else int(rng.integers(3))


def a_value(rng):
    return 7 if rng.random() < 0.9 else 8


def a_step(rng):
    """Anything, most often of the data or of the flag as they are meant."""
    cell = int(rng.integers(CELLS))
    usual = (READ, WRITE, WRITE) if cell == 0 else (LOAD, STORE, ADD)
    what = one_of(rng, usual) if rng.random() < 0.7 else int(rng.integers(6))
    return what, cell, int(rng.integers(4)), a_scope(rng), a_value(rng), WIDE


def message(rng):
    """A writer, those that may pass it on, and a reader: with the orders that are needed, or others."""

    def order(needed):
        return int(rng.integers(4)) if rng.random() < 0.15 else needed

    def step(what, cell, needed=0):
        return what, cell, order(needed), a_scope(rng), a_value(rng), WIDE

    releasing = [step(FENCE, 0, one_of(rng, (2, 3)))] if rng.random() < 0.4 else []
    acquiring = [step(FENCE, 0, one_of(rng, (1, 3)))] if rng.random() < 0.4 else []
    writer = [step(WRITE, 0), *releasing, step(one_of(rng, (STORE, ADD)), 1, 0 if releasing else 2)]
    passing = [step(one_of(rng, (ADD, ADD, STORE)), 1, one_of(rng, (0, 2, 3)))]
    use = step(one_of(rng, (READ, WRITE, ADD)), 0)
    reader = [step(one_of(rng, (LOAD, ADD)), 1, 0 if acquiring else 1), *acquiring, use]
    return writer, passing, reader, writer, reader


def made_legal(step):
    """A load has no releasing order, a store no acquiring one, and a fence some."""
    what, cell, order, *rest = map(int, step)
    legal = {LOAD: (0, 1, 0, 1), STORE: (0, 0, 2, 2), FENCE: (3, 1, 2, 3)}.get(what, range(4))[order]
    return what, cell, legal, *rest


def program_of(rng):
    """Steps of some work-items: what sends, passes on and receives a message, among others."""
    made = [[[] for _ in range(PHASES)] for _ in range(ITEMS)]
    among = rng.permutation(one_of(rng, (SUB, LOCAL, 2 * LOCAL, ITEMS)))
    parts = message(rng)
    for part in rng.permutation(len(parts))[: int(rng.integers(2, 5))]:
        item = among[int(rng.integers(min(len(among), 4)))]
        steps = made[item][int(rng.integers(PHASES))]
        if len(steps) + len(parts[part]) <= STEPS:
            steps += parts[part]
    for _ in range(int(rng.integers(4))):
        steps = made[among[int(rng.integers(min(len(among), 4)))]][int(rng.integers(PHASES))]
        if len(steps) < STEPS:
            steps.insert(int(rng.integers(len(steps) + 1)), a_step(rng))
    has_narrow = rng.random() < 0.2
    return tuple(
        tuple(
            tuple((*made_legal(s)[:5], NARROW if has_narrow and rng.random() < 0.3 else WIDE) for s in steps)
            for steps in phases
        )
        for phases in made
    )


def cuda_program_of(rng):
    """Messages whose fences stand beside the atomics, with another thread, a barrier apart, or not at all."""
    made = [[[] for _ in range(PHASES)] for _ in range(ITEMS)]

    def put(group, phase, what, cell, item=None):
        item = group * LOCAL + int(rng.integers(2)) if item is None else item
        scope = 2 if rng.random() < 0.85 else 1
        made[item][phase].append(
            (what, cell, 3, scope, a_value(rng), WIDE) if what == FENCE else (what, cell, 0, 2, a_value(rng), WIDE)
        )
        return item

    for _ in range(1 if rng.random() < 0.8 else 2):
        sender, receiver = sorted(int(group) for group in rng.integers(GROUPS, size=2))
        first, then = sorted(int(phase) for phase in rng.integers(PHASES, size=2))
        writer = put(sender, first, WRITE, 0)
        if rng.random() < 0.9:
            put(sender, first, FENCE, 0, writer if rng.random() < 0.7 else None)
        put(sender, then, ADD, 1)
        first, then = sorted(int(phase) for phase in rng.integers(PHASES, size=2))
        put(receiver, first, ADD, 1)
        user = receiver * LOCAL + int(rng.integers(2))
        if rng.random() < 0.9:
            put(receiver, then, FENCE, 0, user if rng.random() < 0.7 else None)
        put(receiver, then, one_of(rng, (READ, READ, WRITE)), 0, user)
    return tuple(tuple(map(tuple, phases)) for phases in made)


def found_in_cuda(program, has_warp_barriers):
    longest = max(len(steps) for phases in program for steps in phases)
    steps = np.full((ITEMS, PHASES, longest, 4), -1)
    for i, phases in enumerate(program):
        for phase, each in enumerate(phases):
            for k, (what, cell, _, scope, value, _) in enumerate(each):
                steps[i, phase, k] = what, cell, scope, value
    try:
        with kapi.simulation() as report, warnings.catch_warnings():
            warnings.simplefilter("ignore", kapi.BenignRaceWarning)
            play_in_cuda[GROUPS, LOCAL](steps, has_warp_barriers, np.zeros(CELLS, np.int64))
    except kapi.DataRaceError:
        return "race"
    return "benign" if report.notes else ""


def found_in(program, barriers):
    wide = np.zeros(CELLS, np.int64)
    has_narrow = any(step[5] == NARROW for phases in program for steps in phases for step in steps)
    narrow = wide.view(np.int32) if has_narrow else np.zeros(2 * CELLS, np.int32)
    try:
        with (
            kapi.simulation(profile=kapi.Profile(sub_group_sizes=(SUB,))) as report,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", kapi.BenignRaceWarning)
            kapi.call_kernel(play, kapi.NdRange(ITEMS, LOCAL), program, barriers, wide, narrow)
    except kapi.DataRaceError:
        return "race"
    return "benign" if report.notes else ""


def without_orders(program):
    """The same accesses, with nothing that atomics and fences order."""
    return tuple(
        tuple(tuple((*s[:2], 0, *s[3:]) for s in steps if s[0] != FENCE) for steps in phases) for phases in program
    )


def compared(seed, programs):
    """Compare random programs with the definition, and count what it says of them with and without orders.

    Who reads which message depends on the order of work-items.  A second order is run of some programs; a race that
    is found there has to be one there.
    """
    rng = np.random.default_rng(seed)
    outcomes = Counter()
    for _ in range(programs):
        program, barriers = program_of(rng), tuple(bool(b) for b in rng.random(PHASES) < 0.5)
        expected = race_of(program, barriers)
        outcomes[expected, race_of(without_orders(program), barriers)] += 1
        found = found_in(program, barriers)
        if found == "race" != expected:
            outcomes["backwards"] += 1
            expected = race_of(program, barriers, -1)
        assert found == expected, (seed, program, barriers)
    return outcomes


def test_races_found_are_those_of_the_memory_model():
    outcomes = compared(11, 300)
    # Races, benign ones, none, and none thanks to what orders memory: each occurs often.
    outcomes_wanted = [("race", "race"), ("benign", "benign"), ("", ""), ("", "race")]
    assert min(outcomes[each] for each in outcomes_wanted) >= 10, outcomes
    assert outcomes["backwards"] >= 3, outcomes


def compared_in_cuda(seed, programs):
    """As `compared`; the second programs that are counted are the same ones of SYCL's model."""
    rng = np.random.default_rng(seed)
    outcomes = Counter()
    barriers = (True,) * PHASES
    for _ in range(programs):
        program, has_warp_barriers = cuda_program_of(rng), bool(rng.random() < 0.3)
        expected = race_of(program, barriers, fences_cross_barriers=True)
        outcomes[expected, race_of(program, barriers)] += 1
        found = found_in_cuda(program, has_warp_barriers)
        if found == "race" != expected:
            outcomes["backwards"] += 1
            expected = race_of(program, barriers, -1, fences_cross_barriers=True)
        assert found == expected, (seed, program, has_warp_barriers)
    return outcomes


def test_races_found_are_those_of_cudas_memory_model():
    outcomes = compared_in_cuda(5, 300)
    outcomes_wanted = [("race", "race"), ("benign", "benign"), ("", ""), ("", "race")]
    assert min(outcomes[each] for each in outcomes_wanted) >= 10, outcomes


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_races_found_are_those_of_cudas_memory_model_in_many_programs(block):
    outcomes = compared_in_cuda((2026, block), PROGRAMS)
    assert outcomes.total() - outcomes["backwards"] == PROGRAMS


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_races_found_are_those_of_the_memory_model_in_many_programs(block):
    outcomes = compared((2026, block), PROGRAMS)
    assert outcomes.total() - outcomes["backwards"] == PROGRAMS


def test_narrow_load_does_not_narrow_the_writes_of_its_work_item():
    """A load of a sub-group's scope is no race with the loads of others; larger random runs found it."""
    steps = [[[] for _ in range(PHASES)] for _ in range(ITEMS)]
    steps[0][0] = [(LOAD, 1, 0, 0, 0, WIDE), (ADD, 1, 2, 2, 0, WIDE)]
    steps[6][1] = [(LOAD, 1, 0, 2, 0, WIDE)]
    program = tuple(tuple(map(tuple, phases)) for phases in steps)
    assert race_of(program, (True, True)) == found_in(program, (True, True)) == ""
    steps[6][1] = [(ADD, 1, 0, 2, 0, WIDE)]
    program = tuple(tuple(map(tuple, phases)) for phases in steps)
    assert race_of(program, (True, True)) == found_in(program, (True, True)) == "race"


def test_fence_before_an_acquire_does_not_stand_for_what_was_acquired():
    """An addition passes on what its work-item's fence released, and what it read; larger random runs found it."""
    steps = [[[] for _ in range(PHASES)] for _ in range(ITEMS)]
    writes = [(WRITE, 0, 0, 2, 7, WIDE), (FENCE, 0, 2, 2, 0, WIDE), (STORE, 1, 0, 2, 7, WIDE)]
    steps[1] = [writes, [(ADD, 1, 1, 2, 0, WIDE)]]
    steps[3] = [writes, []]
    steps[6] = [[], [(ADD, 1, 3, 2, 0, WIDE), (ADD, 0, 0, 2, 0, WIDE)]]
    program = tuple(tuple(map(tuple, phases)) for phases in steps)
    assert race_of(program, (True, True)) == "benign"
    # The other way round the last addition comes ahead of the writes.
    assert race_of(program, (True, True), -1) == found_in(program, (True, True)) == "race"
