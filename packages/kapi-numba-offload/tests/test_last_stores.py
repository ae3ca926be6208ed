"""Plain loops whose iterations store to the same elements: kernels on a GPU, after which the last values stay."""

import ast
import warnings

import dpnp
import numpy as np
import pytest
from numba import njit

import kapi_numba_offload
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.source import parsed_function
from kapi_numba_offload.libraries.arrays import device_facts, queue_of
from kapi_numba_offload.loops.body.passes.last_stores import last_stores, numbers_of_axes
from kapi_numba_offload.loops.loop_syntax import parallel_loop

COUNT, LENGTH = 3000, 50
RANDOM = np.random.default_rng(11)
AT = RANDOM.integers(0, LENGTH, COUNT)


def stored(a, at, x):
    for i in range(at.size):
        a[at[i]] = x[i]


def where_positive(a, at, x):
    for i in range(at.size):
        if x[i] > 0:
            a[at[i]] = x[i] * 2


def one_value(a, at, x):
    for i in range(at.size):
        if x[i] > 0:
            a[at[i]] = 7


def two_values(a, at, x):
    for i in range(at.size):
        if x[i] > 0:
            a[at[i]] = 1
        else:
            a[at[i]] = 2


def backwards(a, at, x):
    for i in range(at.size - 1, -1, -1):
        a[at[i]] = x[i]


def from_the_end(a, at, x):
    for i in range(3, at.size - 1, 3):
        a[-1 - at[i]] = x[i]


def two_stores(a, at, x):
    for i in range(at.size):
        a[at[i]] = x[i]
        a[at[i] // 2] = x[i] + 1


def inner_loop(a, at, x):
    for i in range(0, at.size - 8, 2):
        for k in range(3):
            a[at[i + k]] = x[i + 2 * k]


def nest(a, at, x):
    for i in range(1, at.size // 8):
        for k in range(7, -1, -2):
            a[at[i * 8 + k]] = x[i] * k


def value_of_the_outer_loop(a, at, x):
    for i in range(at.size // 8):
        for k in range(8):
            a[at[i * 8 + k]] = i


def with_an_update(a, at, x):
    for i in range(at.size):
        if i % 3 == 0:
            continue
        a[at[i]] = x[i]
        a[LENGTH - 1] += 0


def several_elements(a, at, x):
    for i in range(at.size):
        at_most = at[i]
        while at_most < 20:
            a[at_most] = x[i]
            at_most += 7


def of_two_rows(a, at, x):
    for i in range(at.size):
        a[0, at[i]] = x[i]
        a[1, at[i]] = -x[i]


KERNELS = [
    stored, where_positive, one_value, two_values, backwards, from_the_end, two_stores, inner_loop, nest,
    value_of_the_outer_loop, several_elements, of_two_rows,
]  # fmt: skip


def called(function, *given):
    """The parts of a call; its arrays are changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kapi_numba_offload.OffloadFallbackWarning)
        return [each.where for each in kapi_numba_offload.explain(njit(function), *given).parts]


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("function", KERNELS)
def test_last_value_stays(function, dtype, as_on_a_gpu):
    expected = np.zeros((2, LENGTH) if function is of_two_rows else LENGTH, dtype)
    x = RANDOM.integers(-1000, 1000, COUNT).astype(dtype)
    found = dpnp.asarray(expected)
    where = called(function, found, dpnp.asarray(AT), dpnp.asarray(x))
    njit(function)(expected, AT, x)
    np.testing.assert_array_equal(dpnp.asnumpy(found), expected)
    assert where == ["kernel"]


def test_host_stores_to_memory_that_it_reaches():
    expected, x = np.zeros(LENGTH), RANDOM.random(COUNT)
    found = dpnp.asarray(expected)
    where = called(stored, found, dpnp.asarray(AT), dpnp.asarray(x))
    njit(stored)(expected, AT, x)
    np.testing.assert_array_equal(dpnp.asnumpy(found), expected)
    assert where == ["host" if device_facts(queue_of(found)).has_host_memory else "kernel"]


def reads_what_it_stores(a, at, x):
    for i in range(at.size):
        a[at[i]] = x[i] + a[0]


def reads_another_one(a, at, x):
    for i in range(at.size):
        x[i] = x[i] + 1
        if x[i] > 0:
            a[at[i]] = x[i]


def counts_as_well(a, at, x):
    count = 0
    for i in range(at.size):
        count += 1
        a[at[i]] = x[i]
    return count


@pytest.mark.parametrize("function", [reads_what_it_stores, reads_another_one, counts_as_well, with_an_update])
def test_others_run_in_their_order(function, as_on_a_gpu):
    expected, x = np.zeros(LENGTH), RANDOM.random(COUNT) - 0.5
    found, given = dpnp.asarray(expected), dpnp.asarray(x)
    where = called(function, found, dpnp.asarray(AT), given)
    njit(function)(expected, AT, x)
    np.testing.assert_array_equal(dpnp.asnumpy(found), expected)
    assert where == ["host"]


@pytest.mark.parametrize("function", [two_stores, inner_loop, nest, several_elements, backwards])
def test_iterations_may_run_in_any_order(function):
    """The bodies of both kernels, run by Python in an order of its own."""
    expected, x = np.zeros(LENGTH, int), RANDOM.integers(-1000, 1000, COUNT)
    function(expected, AT, x)
    definition = parsed_function(function)
    (loop,) = definition.body
    names = Scope(function, definition)
    syntax = parallel_loop(loop, names, 2 if function is nest else 1)
    found = np.zeros(LENGTH, int)
    scope = {"a": found, "at": AT, "x": x}
    spans = [range(*(eval(ast.unparse(each), dict(scope)) for each in (axis.start, axis.stop, axis.step)))
             for axis in syntax.axes]  # fmt: skip
    both = last_stores(syntax, ["a"])
    given = [*numbers_of_axes(spans), np.zeros(LENGTH, int)]
    scope |= dict(zip(both[0].captured[len(syntax.captured) :], given, strict=True))
    iterations = [(each,) for each in spans[0]] if len(spans) == 1 else [(i, k) for i in spans[0] for k in spans[1]]
    variables = [axis.variable for axis in syntax.axes]
    for body in both:
        code = compile(ast.fix_missing_locations(ast.Module(body.body, [])), "<body>", "exec")
        for at in RANDOM.permutation(len(iterations)):
            exec(code, scope | dict(zip(variables, iterations[at], strict=True)))
    np.testing.assert_array_equal(found, expected)


def compacted(positions, x, steps):
    """Stores of elements that leave an array, which gets shorter."""
    found, when = np.zeros(x.size), np.zeros(x.size)
    for step in range(steps):
        if not len(x):
            break
        x = x * 1.5
        gone = x > 4.0
        for i in range(gone.shape[0]):
            if gone[i]:
                found[positions[i]] = x[i]
        for i in range(gone.shape[0]):
            if gone[i]:
                when[positions[i]] = step + 1
        rest = np.logical_not(gone)
        x, positions = x[rest], positions[rest]
    return found, when


@pytest.mark.parametrize("size", [20, 40_000])
def test_loops_around_kernels_of_arrays_that_they_make(size, as_on_a_gpu, launches):
    """They stay in the function where arrays are large: what the inner loops have is not there before."""
    positions, x = RANDOM.permutation(size), RANDOM.random(size)
    expected = compacted(positions, x, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kapi_numba_offload.OffloadFallbackWarning)
        found = njit(compacted)(dpnp.asarray(positions), dpnp.asarray(x), 9)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(one), other)
    assert any("line" in kernel.__name__ for kernel, *_ in launches) == (size > 1000)
