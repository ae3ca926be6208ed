"""Numbers that an offloaded function returns: Python's, of the type that Numba gives them for NumPy arrays."""

import collections
import json
import math

import dpnp
import numba
import numpy as np
import pytest
from numba import prange
from numba.typed import Dict, List

import kapi_numba_offload.run.python_numbers as python_numbers

Pair = collections.namedtuple("Pair", "low high")

NUMBERS = [
    "a.sum()", "a.prod()", "a.min()", "a.max()", "a.mean()", "a.argmin()", "a.argmax()", "a.any()", "a.all()",
    "np.sum(a)", "np.mean(a)", "np.argmax(a)", "np.max(a + a)", "(a > 1).any()", "(a == a).all()", "np.std(a)",
    "np.median(a)", "np.count_nonzero(a)", "np.sum(a) > 2", "a[1]", "a[-1]", "a[:2][1]", "a.size", "a.sum() + a.max()",
    "a[0] == a[1]", "-a.max()", "abs(a.min())", "np.float32(a.sum())", "np.sqrt(a.sum())",
]  # fmt: skip
_UNLIKE = {"bool": {"a.mean()", "np.mean(a)", "np.std(a)", "np.median(a)", "-a.max()", "abs(a.min())", "np.max(a + a)"}}
"""By dtype, what Numba or NumPy has not for it."""


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("int32", "float64")),
        "int64",
        "float32",
    ],
)
def test_numbers_have_the_types_that_numba_gives_them(dtype):
    """The same function over NumPy arrays, by Numba, is the reference."""
    values = np.array([3, 0, 2, 5]).astype(dtype)
    texts = sorted(set(NUMBERS) - _UNLIKE.get(dtype, set()))
    scope = {"np": np}
    exec(f"def f(a):\n    return {', '.join(texts)}", scope)
    f = numba.njit(scope["f"])
    for text, expected, found in zip(texts, f(values), f(dpnp.asarray(values)), strict=True):
        assert (text, type(found)) == (text, type(expected))
        assert math.isclose(found, expected, rel_tol=1e-6), text


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_match_python(dtype):
    f = numba.njit(lambda a: (a.sum(), a[1], a.mean()))
    values = np.array([1 + 2j, 3 - 1j]).astype(dtype)
    found = f(dpnp.asarray(values))
    assert [type(each) for each in found] == [complex] * 3
    np.testing.assert_allclose(found, f(values))


def test_numbers_serve_wherever_numbers_do():
    @numba.njit
    def measured(a):
        return a.max(), np.argmax(a), (a < 0).all()

    most, at, is_negative = measured(dpnp.asarray([1.5, 4.0, 2.25]))
    assert f"{most:.1f} {at:03d}" == "4.0 001"
    assert json.loads(json.dumps({"most": most, "at": at, "negative": is_negative})) == {
        "most": 4.0, "at": 1, "negative": False,
    }  # fmt: skip
    assert {at: "x", most: "y"} == {1: "x", 4.0: "y"}
    assert ["a", "b", "c"][at] == "b"
    assert list(range(at)) == [0]
    assert math.sqrt(most) == 2
    assert type(np.float32(1) + most) is np.float32
    assert is_negative is False


def test_sums_of_loops_and_of_loops_on_the_host_are_numbers(recwarn):
    @numba.njit
    def sums(a):
        s = 0.0
        for i in prange(a.shape[0]):
            s += a[i]
        most = a[0]
        for i in range(1, a.shape[0]):
            if a[i] > most:
                most = a[i]
        return s, most

    assert [type(each) for each in sums(dpnp.ones(5, dtype="float32"))] == [float, float]


def test_numbers_in_what_is_returned_are_numbers():
    """Tuples, named tuples, lists and dictionaries, in each other; arrays stay what they are."""

    @numba.njit
    def nested(a):
        return Pair(a.min(), (a.max(), [a.sum(), a.mean()])), {"n": a.argmax()}, a + 1

    ends, words, array = nested(dpnp.arange(4.0))
    assert type(ends) is Pair
    assert ends == (0.0, (3.0, [6.0, 1.5]))
    assert json.dumps([ends, words]) == '[[0.0, [3.0, [6.0, 1.5]]], {"n": 3}]'
    assert array.asnumpy().tolist() == [1, 2, 3, 4]


def appended(a, seen):
    seen.append(a.sum())
    seen[0] = a.max()


def added(a, seen):
    seen.add(a.sum())
    seen.discard(a.min())


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning")
@pytest.mark.parametrize(
    ("function", "make"),
    [(appended, lambda: [1.0]), (appended, lambda: List([1.0])), (added, lambda: {0.0, 1.0})],
    ids=["list", "typed list", "set"],
)
def test_containers_that_are_given_get_numbers(function, make):
    values = np.arange(4.0)
    expected, found = make(), make()
    numba.njit(function)(values, expected)
    numba.njit(function)(dpnp.asarray(values), found)
    assert list(found) == list(expected)
    assert {type(each) for each in found} == {float}


def test_typed_dictionaries_get_numbers():
    @numba.njit
    def noted(a, words):
        words[np.argmax(a)] = a.sum()
        return np.argmax(a) in words, words[np.argmax(a)]

    words = Dict.empty(numba.int64, numba.float64)
    assert noted(dpnp.arange(4.0), words) == (True, 6.0)
    assert dict(words) == {3: 6.0}


def test_sets_and_dictionaries_of_sums():
    @numba.njit
    def collected(a):
        return {a.sum(), a.max(), a.max()}, {a.argmax(): a.min()}

    assert collected(dpnp.arange(4.0)) == ({6.0, 3.0}, {3: 0.0})


def test_lists_get_numbers_before_an_exception():
    @numba.njit
    def broken(a, seen):
        seen.append(a.sum())
        raise ValueError("after the store")

    seen = [1.0]
    with pytest.raises(ValueError, match="after the store"):
        broken(dpnp.ones(3), seen)
    assert json.dumps(seen) == "[1.0, 3.0]"


def test_generators_yield_numbers():
    @numba.njit
    def sums(a):
        for step in range(3):
            yield (a * step).sum()

    assert json.dumps(list(sums(dpnp.ones(2)))) == "[0.0, 2.0, 4.0]"


def given(z):
    return z


def changed(z):
    z += 1
    return z, z.sum()


def made(z):
    w = np.zeros(())
    v = w
    w += 2
    return v, np.full((), 5.0), np.zeros_like(z), z.copy(), z + 1, np.sin(z), -z, z[()]


@pytest.mark.parametrize("function", [given, changed, made])
def test_arrays_without_axes_stay_arrays(function):
    """As under Numba: those that are given or made are arrays, and what is computed from them are numbers."""
    expected = numba.njit(function)(np.array(3.0))
    found = numba.njit(function)(dpnp.asarray(3.0))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    assert [isinstance(each, dpnp.ndarray) for each in found] == [isinstance(each, np.ndarray) for each in expected]
    np.testing.assert_allclose([float(each) for each in found], [float(each) for each in expected])


def test_number_in_a_parameters_variable_is_no_array():
    """Other references to the number keep it."""

    @numba.njit
    def f(a):
        a = a.sum()
        before = a
        a += 1
        return before, a

    assert f(dpnp.ones(3)) == f(np.ones(3)) == (3.0, 4.0)


def test_numbers_between_offloaded_functions_stay_on_the_device(monkeypatch):
    """A number that one function returns to another is not waited for; the outer one's result is."""
    copied = []
    own = python_numbers.host_copy
    monkeypatch.setattr(python_numbers, "host_copy", lambda array: copied.append(array.dtype) or own(array))

    @numba.njit
    def mean(a):
        return a.sum() / a.size

    @numba.njit
    def centred(a):
        return a - mean(a)

    @numba.njit
    def spread(a):
        return np.max(centred(a)), mean(a)

    a = dpnp.arange(5.0)
    assert centred(a).asnumpy().tolist() == [-2, -1, 0, 1, 2]
    assert copied == []
    assert spread(a) == (2.0, 2.0)
    assert len(copied) == 2


def test_function_that_failed_returns_numbers_later():
    """An exception inside leaves nothing behind."""

    @numba.njit
    def f(a, fails):
        if fails:
            raise ValueError("inside")
        return a.sum()

    with pytest.raises(ValueError, match="inside"):
        f(dpnp.ones(3), True)
    assert type(f(dpnp.ones(3), False)) is float
