"""NumPy arrays with device arrays in one expression: an error of placement and a `TypeError`, which names both."""

import collections
import re

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.testing.reports import raises

Pair = collections.namedtuple("Pair", "x y")
TABLE = np.arange(4.0)
COPIED_BY_CUPY = (
    "return np.vstack([a, b])", "return np.hstack((a, b))", "return np.dstack((a, (b)))", "return np.meshgrid(a, b)",
    "return np.broadcast_arrays(b, a)",
)  # fmt: skip
"""CuPy's own functions copy NumPy arrays here."""


def refused(function, *args):
    """The message of the error."""
    with pytest.raises(TypeError) as found:
        numba.njit(function)(*args)
    assert isinstance(found.value, ExecutionPlacementError)
    assert found.value.code == "arrays-mixed"
    return str(found.value).replace(dpnp.__name__, "dpnp")


def of(body):
    scope = {"np": np, "Pair": Pair, "prange": prange, "TABLE": TABLE}
    exec(f"def f(a, b):\n    {body}\n", scope)
    return scope["f"]


@pytest.mark.parametrize(
    "body",
    [
        "return a + b", "return b * a", "return a == b", "return a @ b", "return np.maximum(a, b)", "a += b",
        "b += a", "b[:] = a", "b[1:] = a[1:] * 2", "return np.dot(a, b)", "return np.where(a > 1, a, b)",
        "return np.concatenate((a, b))", "return np.concatenate([b, a])", "return np.stack((a, b), 1)",
        "return np.column_stack((a, b))", "return np.select([a > 1], [b])", "return np.add(a, a, out=b)",
        "return np.sum(a, where=b)", *(pytest.param(each, marks=pytest.mark.sycl) for each in COPIED_BY_CUPY),
        "return np.searchsorted(a, v=b)", "return np.concatenate(((a, a)[0], b))",
    ],
)  # fmt: skip
def test_arrays_of_two_queues_are_a_type_error_with_both_names(body):
    """The single arrays, not the tuple or list that holds them."""
    message = refused(of(body), dpnp.arange(4.0), np.arange(4.0))
    usm, host, remedy = re.search(r"got device array `(.*)` and NumPy array `(.*)`: `(.*)` copies", message).groups()
    assert re.fullmatch(r"a|a > 1|a\[1:\] \* 2|\(a, a\)\[0\]", usm)
    assert re.fullmatch(r"b|b\[:\]|b\[1:\]", host)
    is_store = body.startswith("b")
    assert (
        remedy.endswith(".asnumpy()") or remedy.startswith("dpnp.asnumpy(")
        if is_store
        else remedy == f"dpnp.asarray({host})"
    )


def listed(a, b):
    several = [a]
    several.append(b)
    return np.stack(several)


def nested(a, b):
    several = (a, (a, b))
    return np.concatenate(several[1])


def named(a, b):
    pair = Pair(a, b)
    return np.hstack(pair)


def starred(a, b):
    pair = (a, b)
    return np.dot(*pair)


def computed(a, b):
    return np.vstack([each[:2] for each in (a, b)])


@pytest.mark.parametrize(
    ("function", "usm", "host"),
    [
        (listed, "several[0]", "several[1]"),
        (nested, "several[1][0]", "several[1][1]"),
        pytest.param(named, "pair[0]", "pair[1]", marks=pytest.mark.sycl),
        (starred, "pair[0]", "pair[1]"),
        pytest.param(
            *(computed, "([each[:2] for each in (a, b)])[0]", "([each[:2] for each in (a, b)])[1]"),
            marks=pytest.mark.sycl,
        ),
    ],
)
def test_arrays_in_tuples_and_lists_are_named_by_their_index(function, usm, host):
    message = refused(function, dpnp.arange(4.0), np.arange(4.0))
    assert f"device array `{usm}` and NumPy array `{host}`: `dpnp.asarray({host})`" in message


def test_arrays_in_arguments_are_named_by_their_index():
    a, b = dpnp.arange(4.0), np.arange(4.0)
    assert "array `x[0]` and NumPy array `x[1]`" in refused(lambda x: np.concatenate(x), (a, b))
    assert "array `x[0]` and NumPy array `x[1]`" in refused(lambda x: x[0] + x[1], (a, b))
    assert "array `a` and NumPy array `x[0]`" in refused(lambda x, a: np.concatenate((x[0], a)), (b, b), a)


def test_message_says_the_tuples_arrays():
    with raises(ExecutionPlacementError, "arrays-mixed"):
        numba.njit(of("return np.concatenate((a, b))"))(dpnp.ones(3), np.ones(3))


def test_functions_of_dpnp_name_the_numpy_array_of_a_tuple():
    message = refused(lambda a, b, d: (dpnp.concatenate((a[1:], b)), d), np.ones(3), np.ones(3), dpnp.ones(3))
    assert "got NumPy array `a[1:]`: `dpnp.asarray(a[1:])`" in message


def test_mixtures_in_loops_and_called_functions_are_type_errors():
    """The error is that of the line that has both arrays."""

    @numba.njit
    def inner(x, y):
        return x - y

    def outer(a, b):
        return inner(a, b)

    def loop(a, b):
        for i in prange(4):
            a[i] = b[i]

    assert "return x - y" in refused(outer, dpnp.ones(4), np.ones(4))
    assert "device array `a` and NumPy array `b`" in refused(loop, dpnp.ones(4), np.ones(4))


def test_vectorized_functions_refuse_numpy_arrays():
    @numba.vectorize
    def summed(x, y):
        return x + y

    with pytest.raises(TypeError, match="device array `x` and NumPy array `y`"):
        summed(dpnp.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="device array `y` and NumPy array `x`"):
        summed(np.ones(3), dpnp.ones(3))


def test_arrays_from_outside_are_constants_in_tuples_and_lists():
    """As they are in expressions: they get a copy on the device."""

    def f(a, b):
        return np.concatenate((a, TABLE)), np.stack([TABLE, a]), np.vstack((TABLE, (TABLE)))

    found = numba.njit(f)(dpnp.ones(4), 1)
    for own, expected in zip(found, f(np.ones(4), 1), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(own), expected)


def scaled(a, b):
    return b * a.sum(), a.max() - b, np.maximum(b, a.mean())


def raised(a, b):
    b += a.sum()
    b[1:] = a.max()
    b[0] = a.min()
    return b


@pytest.mark.parametrize("function", [scaled, raised])
def test_numbers_of_the_device_and_numpy_arrays(function):
    """A sum is a number, wherever it was made."""
    a, own, other = np.arange(4.0), np.ones(3), np.ones(3)
    found, expected = numba.njit(function)(dpnp.asarray(a), own), function(a, other)
    np.testing.assert_array_equal(np.stack(found), np.stack(expected))
    np.testing.assert_array_equal(own, other)
    assert all(isinstance(each, (np.ndarray, np.generic)) for each in found)
