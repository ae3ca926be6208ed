"""Loops whose iterations store into the same elements: the last one alone runs, where nothing tells the difference."""

import ast

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload  # noqa: F401  it registers itself
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.source import function_definition
from kapi_numba_offload.partition.dead_iterations import drop_dead_iterations

X = np.random.default_rng(5).random((4, 4))


def maxima(x):
    top = np.empty((x.shape[0], 1))
    for k in range(x.shape[1]):
        top[:, 0] = np.max(x[:, k])
    return x - top, k


def from_the_second(x):
    top = np.zeros(x.shape[0])
    other = 3.0
    for k in range(1, x.shape[1]):
        top[1:] = x[1:, k] * other
    return top


def none_at_all(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1] - 4):
        top[:] = x[:, k] + 1.0
    return top


def elements_differ(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        top[k:] = x[:, 0][k:] + 1.0
    return top


def reads_what_it_stores(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        top[:] = top + x[:, k]
    return top


def has_another_name(x):
    top = np.zeros(x.shape[0])
    other = top[:]
    for k in range(x.shape[1]):
        top[:] = other + x[:, k]
    return top


def counts(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        top[:] = x[:, 0] * k
    return top


def divides(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        top[:] = x[:, 0] / x[k, 0]
    return top


def counts_back(x):
    top = np.zeros(x.shape[0])
    for k in range(3, -1, -1):
        top[:] = x[:, k]
    return top


def calls(x):
    top = np.zeros(x.shape[0])
    for k in range(x.shape[1]):
        top[:] = x[:, k].sum() + np.sqrt(x[:, k])
    return top


LAST = {
    maxima: "int(x.shape[1]) > 0",
    from_the_second: "int(x.shape[1]) > 1",
    none_at_all: "int(x.shape[1] - 4) > 0",
    calls: "int(x.shape[1]) > 0",
}
ALL = (elements_differ, reads_what_it_stores, has_another_name, counts, divides, counts_back)


@pytest.mark.parametrize("function", [*LAST, *ALL], ids=lambda each: each.__name__)
def test_last_iteration_alone_is_run_where_nothing_shows_the_difference(function):
    definition = function_definition(function, None)
    drop_dead_iterations(definition, Scope(function, definition))
    loops = [each for each in ast.walk(definition) if isinstance(each, ast.For)]
    branches = [ast.unparse(each.test) for each in ast.walk(definition) if isinstance(each, ast.If)]
    assert (len(loops), branches) == ((0, [LAST[function]]) if function in LAST else (1, []))


@pytest.mark.parametrize("function", [maxima, none_at_all, counts], ids=lambda each: each.__name__)
def test_results_are_numpy_s(function):
    found, expected = numba.njit(function)(dpnp.asarray(X)), function(X)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, expected)), strict=True):
        np.testing.assert_allclose(one.asnumpy() if isinstance(one, dpnp.ndarray) else one, other)
