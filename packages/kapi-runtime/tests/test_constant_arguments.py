"""`None` and functions as arguments: a specialisation for each, which lives as a kernel does."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_sim
from kapi_runtime.build.fingerprint import fingerprint
from kapi_sim.language.launchables.specialization import specialized
from kapi_sim.testing.reports import raises

FACTOR = 1


def scaled(x):
    return x * FACTOR


def negated(x):
    return -x


@kapi.kernel
def combine(item: kapi.Item, a, out, function=negated, weights=None, shift=0.5):
    i = item.get_id(0)
    if weights is not None:
        out[i] = function(a[i]) * weights[i] + shift
    else:
        out[i] = function(a[i]) + shift


def combined(*arguments, **named):
    a, out = np.arange(4.0), np.zeros(4)
    kapi.call_kernel(combine, kapi.Range(4), a, out, *arguments, **named)
    return out.tolist()


def test_arguments_choose_their_specialization():
    two = np.full(4, 2.0)
    wanted = [0.5, -0.5, -1.5, -2.5]
    assert [combined(), combined(negated), combined(negated, None), combined(weights=None)] == [wanted] * 4
    assert combined(scaled, two, 1) == [1, 3, 5, 7]
    assert combined(shift=1, weights=two) == [1, -1, -3, -5]
    assert combined() == wanted


def test_each_list_of_constants_is_compiled_once():
    before = combine.statistics
    for _ in range(3):
        combined(negated, np.ones(4, np.float32))
        combined(negated, None, 3)
    assert combine.statistics.modules - before.modules == 2
    assert combine.statistics.launches - before.launches == 6
    assert any("float32" in each for each in combine.inspect_types())


def test_function_is_what_it_is_at_the_launch(monkeypatch):
    seen = []
    for factor in (1, 2, 1):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        seen.append(combined(scaled, shift=0))
    assert seen == [[0, 1, 2, 3], [0, 2, 4, 6], [0, 1, 2, 3]]


def test_bound_launch_changes_its_specialization():
    a, out = np.arange(4.0), np.zeros(4)
    launch = combine.bind(kapi.Range(4), a, out, scaled, shift=0)
    seen = []
    for change in ({}, {"weights": np.full(4, 3.0)}, {"function": negated}, {"weights": None}, {"shift": 1}):
        launch.replace(**change)
        launch()[0].wait()
        seen.append(out.tolist())
    assert seen == [[0, 1, 2, 3], [0, 3, 6, 9], [0, -3, -6, -9], [0, -1, -2, -3], [1, 0, -1, -2]]


def test_fingerprint_counts_the_constants():
    variants = [{"weights": None}, {"weights": None, "function": scaled}, {"weights": None, "function": negated}]
    digests = [fingerprint(specialized(combine.py_func, each)) for each in variants]
    assert len(set(digests)) == 3
    assert digests == [fingerprint(specialized(combine.py_func, each)) for each in variants]


@pytest.mark.parametrize("world", [kapi, kapi_sim], ids=["runtime", "simulator"])
@pytest.mark.parametrize("given", [None, negated, "text"], ids=["None", "function", "text"])
def test_constant_that_the_kernel_has_no_use_for_is_refused(world, given):
    @world.kernel
    def doubled(item: world.Item, a, x):
        a[item.get_id(0)] = x[item.get_id(0)] * 2

    with raises(world.DtypeError, "argument-type"):
        world.call_kernel(doubled, world.Range(4), np.zeros(4), given)


@pytest.mark.parametrize("world", [kapi, kapi_sim], ids=["runtime", "simulator"])
def test_identity_is_asked_of_none_alone(world):
    @world.kernel
    def same(item: world.Item, a, x, y):
        a[item.get_id(0)] = x is y

    with raises(world.KernelCompilationError, "operator-unknown"):
        world.call_kernel(same, world.Range(4), np.zeros(4), 1, 1)


def test_variable_that_may_be_none_is_refused():
    @kapi.kernel
    def sometimes(item: kapi.Item, a, x):
        i = item.get_id(0)
        best = None
        if a[i] > 1:
            best = x
        if best is not None:
            a[i] = best

    with raises(kapi.KernelCompilationError, "variable-types"):
        kapi.call_kernel(sometimes, kapi.Range(4), np.zeros(4), 1)


def test_oldest_specializations_are_forgotten(monkeypatch):
    monkeypatch.setattr("kapi_sim.language.launchables.launchable._MAX_SPECIALIZATIONS", 3)
    kernel = kapi.kernel(combine.py_func)
    functions = [lambda x, by=n: x + by for n in range(5)]
    a, out, seen = np.zeros(1), np.zeros(1), []
    for each in (*functions, functions[0]):
        kapi.call_kernel(kernel, kapi.Range(1), a, out, each, shift=0)
        seen.append(out[0])
    assert seen == [0, 1, 2, 3, 4, 0]
    assert kernel.statistics.modules == 3
