"""Loops within parallel loops: work-items side by side, or one that walks along the rows of many iterations."""

import ast

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from kapi_numba_offload.libraries.arrays import device_facts, queue_of
from kapi_numba_offload.loops.coarsening import traversed_rows
from kapi_numba_offload.run.launching import launches

BODIES = {
    "rows": ("for j in range(n): b[i, j] = a[i, j] * 2", "a b"),
    "a stencil": ("for j in range(1, n - 1): b[i, j] = a[i - 1, j] + a[i, j + 1]", "a b"),
    "counted from the end": ("for j in range(n): b[i, kapi_wrapped_index(j - 3, n)] = x[j]", "b"),
    "in one axis": ("for j in range(n): b[i * n + j] = a[i * n + j]", "a b"),
    "a range of its own": ("for j in range(first[i], first[i + 1]): s += a[j] * x[at[j]]", "a at"),
    "an index that was made": ("r = order[i]\nfor j in range(n): s += a[r, j]", "a"),
    "rows more than columns": ("for j in range(n): b[i, j] = a[i, j] + x[j, i]", "a b"),
    "quick functions": ("for j in range(n): b[i, j] = max(abs(a[i, j]), a[i, j] ** 2)", "a b"),
    "columns": ("for j in range(n): b[j, i] = a[j, i]", ""),
    "as many columns": ("for j in range(n): b[j, i] = a[i, j]", ""),
    "what all iterations read": ("for j in range(n): s += x[j]", ""),
    "both at once": ("for j in range(n): s += a[i + j] * x[j]", ""),
    "in steps": ("for j in range(n): b[i, 2 * j] = a[i, -j]", ""),
    "other functions": ("for j in range(n): b[i, j] = math.exp(a[i, j])", ""),
    "powers": ("for j in range(n): b[i, j] = a[i, j] ** 3", ""),
    "no loop": ("b[i, 0] = a[i, 0]", ""),
    "a loop that counts nothing": ("while s > 0: s -= a[i, 0]", ""),
}


@pytest.mark.parametrize("name", BODIES)
def test_arrays_whose_rows_loops_walk_along(name):
    text, arrays = BODIES[name]
    assert traversed_rows(ast.parse(text).body, "i") == set(arrays.split())


def test_inner_loops_count_in_nests():
    body = ast.parse("for k in range(n): s += a[i, k] * b[j, k]").body
    assert traversed_rows(body, "j") == {"b"}


def rows(a, b, x):
    for i in prange(a.shape[0]):
        for j in range(1, a.shape[1]):
            b[i, j] = min(a[i, j] + a[i, j - 1], x[j])


def rows_left_out(a, b, x):
    for i in prange(2, a.shape[0], 3):
        if a[i, 0] > 4:
            continue
        for j in range(a.shape[1]):
            if a[i, j] > 7:
                break
            b[i, j] += a[i, j] + i


def products(a, b, x):
    for i in prange(a.shape[0]):
        for j in prange(a.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            b[i, j] = s


def three_loops(a, b, x):
    for i in prange(a.shape[0]):
        for j in prange(1, 4, 2):
            for k in prange(2):
                if k == j - 1:
                    continue
                for m in range(a.shape[1]):
                    b[i, m] += a[i, m] * (k + j)


def slices(a, b, x):
    for i in prange(a.shape[0]):
        b[i, :] = np.minimum(b[i, :], a[i, 2] + a[i, :])


def total(a, b, x):
    s = 0.0
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * b[i, j]
    return s


def two_totals(a, b, x):
    s, p = 0, 1.0
    for i in prange(1, a.shape[0]):
        for j in prange(2):
            if j == 0 and a[i, 0] > 8:
                continue
            s += i + j
            for k in range(a.shape[1]):
                p = max(p, a[i, k] - a[j, k])
    return s, p


def ragged(a, b, x):
    s = 0.0
    for i in prange(3):
        for j in range(i * 5, i * 5 + 5):
            s += x[j] * a[i, 1]
    return s


SHAPES = [(40, 30), (40, 5), (5, 40), (0, 40), (1, 17)]
PROGRAMS = [rows, rows_left_out, products, three_loops, slices, total, two_totals, ragged]
OF_THREE_ROWS = (products, two_totals, ragged)  # their own numbers need them
FACTS = device_facts(queue_of(dpnp.zeros(1)))
ENOUGH = 4 * FACTS.units
CASES = [(each, shape) for each in PROGRAMS for shape in SHAPES if shape[0] >= 3 or each not in OF_THREE_ROWS]


@pytest.mark.nightly(one_in=3)
@pytest.mark.parametrize(("program", "shape"), CASES, ids=lambda each: getattr(each, "__name__", str(each)))
def test_both_paths_are_python_s(program, shape):
    rng = np.random.default_rng(shape[0])
    a, b = rng.integers(0, 10, (2, *shape)).astype(np.float64)
    b = np.zeros((shape[0], max(shape))) if program is products else b
    x = rng.random(max(shape) + 15)
    given = [dpnp.array(each) for each in (a, b, x)]
    found = numba.njit(parallel=True)(program)(*given)
    expected = program(a, b, x)
    np.testing.assert_allclose(found if found is not None else [], expected if expected is not None else [], rtol=1e-12)
    np.testing.assert_allclose(dpnp.asnumpy(given[1]), b, rtol=1e-12)


@pytest.mark.parametrize(
    ("program", "shape", "walks"),
    [
        (rows, (40, 30), True),
        (rows, (40, 5), False),  # rows that are too short
        (rows, (1, 17), True),
        (slices, (40, 30), True),
        (total, (40, 30), True),
        (ragged, (5, 5), True),  # along an array of one axis
        (products, (ENOUGH, 30), True),
        (products, (1, 30), False),  # too few iterations of the outermost loop
        (three_loops, (40, 30), False),  # all iterations of the innermost one read the same
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_work_items_walk_on_cpus_where_that_pays(program, shape, walks):
    a, b, x = dpnp.ones(shape), dpnp.ones((shape[0], max(shape))), dpnp.ones(max(shape) + 15)
    with launches() as seen:
        numba.njit(parallel=True)(program)(a, b if program is products else dpnp.ones(shape), x)
    (_, space, _), *_ = seen
    assert isinstance(space, kapi_runtime.NdRange) == (walks and FACTS.is_cpu)
    if walks and FACTS.is_cpu:
        assert tuple(space.local_range) == (1,)
