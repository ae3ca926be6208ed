"""Random programs of atomics, fences and barriers: a race is found exactly where the memory model has one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

import kapi_sim as kapi

GROUPS, LOCAL, SUB, PHASES, STEPS, CELLS = 2, 4, 2, 2, 3, 2
ITEMS = GROUPS * LOCAL
ORDERS = (
    kapi.MemoryOrder.RELAXED,
    kapi.MemoryOrder.ACQUIRE,
    kapi.MemoryOrder.RELEASE,
    kapi.MemoryOrder.ACQ_REL,
)
SCOPES = (kapi.MemoryScope.SUB_GROUP, kapi.MemoryScope.WORK_GROUP, kapi.MemoryScope.DEVICE)
NOTHING, READ, WRITE, LOAD, STORE, ADD, FENCE = range(7)


@kapi.kernel
def play(nd_item: kapi.NdItem, program, barriers, a, sink):
    i = nd_item.get_global_id(0)
    for phase in range(program.shape[1]):
        for step in range(program.shape[2]):
            what = program[i, phase, step, 0]
            c = program[i, phase, step, 1]
            order = ORDERS[program[i, phase, step, 2]]
            scope = SCOPES[program[i, phase, step, 3]]
            if what == READ:
                sink[i] += a[c]
            elif what == WRITE:
                a[c] = 100 * i + 10 * phase + step + 1
            elif what == LOAD:
                sink[i] += kapi.AtomicRef(a, c, order, scope).load()
            elif what == STORE:
                kapi.AtomicRef(a, c, order, scope).store(i)
            elif what == ADD:
                kapi.AtomicRef(a, c, order, scope).fetch_add(1)
            elif what == FENCE:
                kapi.atomic_fence(order, scope)
        if barriers[phase]:
            kapi.group_barrier(nd_item.get_group())
        else:
            kapi.group_barrier(nd_item.get_sub_group())


def holds(one, other, scope):
    """Whether a scope of one work-item holds the other."""
    return one // (SUB, LOCAL, ITEMS)[scope] == other // (SUB, LOCAL, ITEMS)[scope]


def events_of(program):
    """Each operation, in the order in which the simulator runs them: item, phase, what, cell, order, scope."""
    return [
        (g * LOCAL + k, phase, *map(int, program[g * LOCAL + k, phase, step]))
        for g in range(GROUPS)
        for phase in range(PHASES)
        for k in range(LOCAL)
        for step in range(STEPS)
    ]


def has_race(program, barriers):
    """The definition: conflicting accesses, not both atomic for each other, of which none happens before the other."""
    events = events_of(program)
    before = np.zeros((len(events), len(events)), bool)
    for (x, one), (y, two) in combinations(enumerate(events), 2):
        width = [LOCAL if barriers[phase] else SUB for phase in range(one[1], two[1])]
        meets = any(one[0] // w == two[0] // w for w in width)
        before[x, y] = one[0] == two[0] or meets
    for x, y in synchronised(events):
        before[x, y] = True
    for k in range(len(events)):  # events stand in an order that happens-before agrees with
        before |= np.outer(before[:, k], before[k])
    for (x, one), (y, two) in combinations(enumerate(events), 2):
        if one[0] == two[0] or one[3] != two[3] or {one[2], two[2]} & {NOTHING, FENCE}:
            continue
        writes = {one[2], two[2]} & {WRITE, STORE, ADD}
        are_atomic = min(one[2], two[2]) >= LOAD and holds(one[0], two[0], min(one[5], two[5]))
        if writes and not are_atomic and not before[x, y]:
            return True
    return False


def synchronised(events):
    """Pairs of a release and the acquire that sees it, each an operation or a fence."""
    for y, reader in enumerate(events):
        if reader[2] not in (LOAD, ADD):
            continue
        sinks = [(y, reader[5])] if reader[4] in (1, 3) else []
        sinks += [(z, e[5]) for z, e in enumerate(events) if z > y and is_fence(e, reader[0], (1, 3))]
        for x in reversed(range(y)):
            writer = events[x]
            if writer[3] != reader[3] or writer[2] not in (STORE, ADD):
                continue
            fences = [z for z in range(x) if is_fence(events[z], writer[0], (2, 3))]
            source = (x, writer[5]) if writer[4] in (2, 3) else (fences[-1], events[fences[-1]][5]) if fences else None
            for sink in sinks if source is not None else ():
                scopes = (reader[5], source[1], sink[1])
                if holds(writer[0], reader[0], min(scopes)):
                    yield source[0], sink[0]
            if writer[2] == STORE:  # what an addition changed goes on to what it read
                break


def is_fence(event, item, orders):
    return event[2] == FENCE and event[0] == item and event[4] in orders


def message(rng):
    """What a writer does, what may pass it on, and what a reader does: with the orders that are needed, or others."""

    def order(needed):
        return int(rng.integers(4)) if rng.random() < 0.2 else needed

    def scope():
        return int(rng.choice((0, 1, 2), p=(0.1, 0.1, 0.8)))

    releasing = [(FENCE, 0, rng.choice((2, 3)), scope())] if rng.random() < 0.4 else []
    acquiring = [(FENCE, 0, rng.choice((1, 3)), scope())] if rng.random() < 0.4 else []
    writer = [(WRITE, 0, 0, 2), *releasing, (rng.choice((STORE, ADD)), 1, order(0 if releasing else 2), scope())]
    passing = [(rng.choice((ADD, ADD, STORE)), 1, order(rng.choice((0, 2, 3))), scope())]
    reader = [(rng.choice((LOAD, ADD)), 1, order(0 if acquiring else 1), scope()), *acquiring, (READ, 0, 0, 2)]
    return writer, passing, reader


def made_legal(step):
    """A load has no releasing order, a store no acquiring one, and a fence some."""
    what, cell, order, scope = map(int, step)
    return what, cell, {LOAD: (0, 1, 0, 1), STORE: (0, 0, 2, 2), FENCE: (3, 1, 2, 3)}.get(what, range(4))[order], scope


def program_of(rng):
    made = np.zeros((ITEMS, PHASES, STEPS, 4), np.int64)
    items = sorted(rng.choice(rng.choice((LOCAL, ITEMS)), 3, replace=False))
    phases = sorted(rng.integers(0, PHASES, 3))
    for item, phase, steps in zip(items, phases, message(rng), strict=True):
        if len(steps) > 1 or rng.random() < 0.5:
            made[item, phase, : len(steps)] = [made_legal(step) for step in steps]
    if rng.random() < 0.4:
        noise = (rng.integers(1, 7), rng.integers(CELLS), rng.integers(4), rng.integers(3))
        made[rng.integers(ITEMS), rng.integers(PHASES), rng.integers(STEPS)] = made_legal(noise)
    return made


def test_races_found_are_those_of_the_memory_model():
    rng = np.random.default_rng(11)
    outcomes = Counter()
    for _ in range(300):
        program, barriers = program_of(rng), rng.random(PHASES) < 0.5
        expected = has_race(program, barriers)
        plain = program.copy()
        plain[..., 2] = 0
        plain[plain[..., 0] == FENCE] = 0
        outcomes[expected, has_race(plain, barriers)] += 1
        assert finds_race(program, barriers) == expected, (program.tolist(), barriers.tolist())
    # Races, no races, and none thanks to what orders memory: each is met often.
    assert min(outcomes[True, True], outcomes[False, False], outcomes[False, True]) >= 15


def test_narrow_load_does_not_narrow_the_writes_of_its_work_item():
    """A load of a sub-group's scope is no race with the loads of others; larger random runs found it."""
    program = np.zeros((ITEMS, PHASES, STEPS, 4), np.int64)
    program[0, 0, :2] = (LOAD, 1, 0, 0), (ADD, 1, 2, 2)
    program[6, 1, 0] = LOAD, 1, 0, 2
    assert not has_race(program, np.ones(PHASES, bool))
    assert not finds_race(program, np.ones(PHASES, bool))
    program[6, 1, 0] = ADD, 1, 0, 2
    assert has_race(program, np.ones(PHASES, bool))
    assert finds_race(program, np.ones(PHASES, bool))


def finds_race(program, barriers):
    a = np.zeros(CELLS, np.int64)
    try:
        with kapi.simulation(profile=kapi.Profile(sub_group_sizes=(SUB,))):
            kapi.call_kernel(play, kapi.NdRange(ITEMS, LOCAL), program, barriers, a, np.zeros(ITEMS, np.int64))
    except kapi.DataRaceError:
        return True
    return False
