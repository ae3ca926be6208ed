"""Calls in a device context: exceptions, threads, several contexts, functions within, and what Numba runs instead."""

import collections
import re
import threading

import dpnp
import numba
import numpy as np
import pytest
from numba import prange
from numba.typed import List

import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning
from kapi_numba_offload._numba_compat import NumbaError

Pair = collections.namedtuple("Pair", "x y")


def test_what_was_stored_before_an_exception_is_stored(in_context, launches):
    """As NumPy and Numba have it, in each array and in a tuple's."""

    @numba.njit
    def f(a, pair, at):
        a += 1
        pair[0][:] = a * 2
        if at > 2:
            raise ValueError("after two stores")
        a[at] = 100

    for call in (lambda *args: f(*args), lambda *args: in_context(f, *args)):
        a, b = np.zeros(3), np.zeros(3)
        with pytest.raises(ValueError, match="after two stores"):
            call(a, (b, 1), 3)
        assert (a.tolist(), b.tolist()) == ([1, 1, 1], [2, 2, 2])
    assert launches


def test_what_was_stored_before_an_index_error_of_a_loop_is_stored(in_context):
    """The iterations before it, and the statements before the loop."""

    @numba.njit(boundscheck=True)
    def f(a, at):
        a += 1
        for i in prange(at.shape[0]):
            a[at[i]] = 10

    a = np.zeros(3)
    with pytest.raises(IndexError):
        in_context(f, a, np.array([0, 7]))
    assert a[1:].tolist() == [1, 1]


@numba.njit
def shifted(a, by):
    b = a + by
    a[:] = b
    return b, a[1:]


def test_threads_share_an_array(in_context):
    """Each has a context of its own, is given the full array, and changes one element: none is lost."""
    count, rounds = 4, 20
    a = np.zeros(count)
    ready = threading.Barrier(count)

    @numba.njit
    def raised(a, at):
        b = a * 1
        a[at] = b[at] + 1

    def work(at):
        for _ in range(rounds):
            ready.wait()
            in_context(raised, a, at)

    in_context(raised, np.zeros(count), 0)
    threads = [threading.Thread(target=work, args=(at,)) for at in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert a.tolist() == [rounds] * count


@pytest.mark.sycl
def test_contexts_of_two_queues(launches):
    """The innermost context says where arrays are copied; each call gives the same."""
    import dpctl

    device = dpnp.ones(1).sycl_device
    queues = [dpctl.SyclQueue(device) for _ in range(2)]
    found = []
    with kapi_runtime.device_context(queues[0]):
        found.append(shifted(np.zeros(3), 1))
        with kapi_runtime.device_context(queues[1]):
            found.append(shifted(np.zeros(3), 1))
        found.append(shifted(np.zeros(3), 1))
    for b, end in found:
        assert (b.tolist(), end.tolist()) == ([1, 1, 1], [1, 1])
    assert len(launches) == 3


def test_arrays_between_contexts_match_numpy():
    """A result of one context is an argument of the next, and its memory is the same."""
    a = np.zeros(4)
    for step in range(3):
        with kapi_runtime.device_context("opencl:cpu"):
            _, a = shifted(a, step + 1)
    assert a.tolist() == [6]
    assert a.base is not None


def wide(x):
    return x * 2 + 1


@numba.njit
def doubled(x):
    return x * 2


@numba.njit
def variadic(*arrays):
    return arrays[0] * 3 - arrays[1]


@numba.njit
def with_default(x, factor=4):
    y = x * factor
    x[0] = 1
    return y


def calls_doubled(a):
    return doubled(a) + 1


def calls_deeper(a):
    return calls_doubled_too(a) + doubled(a)


calls_doubled_too = numba.njit(calls_doubled)


def calls_variadic(a):
    return variadic(a, a + 1)


def calls_with_keyword(a):
    return with_default(a), with_default(a, factor=2) + 1


def sums_within(a):
    return (doubled(a) + 1).sum(), doubled(a)[0]


@pytest.mark.parametrize("function", [calls_doubled, calls_deeper, calls_variadic, calls_with_keyword, sums_within])
def test_functions_within_have_numba_types(function, in_context, launches):
    """A number of Python's makes int64 of int32, in what a function calls as well, and nothing wraps."""
    compiled = numba.njit(function)
    arrays = [np.full(3, 2**30, np.int32) for _ in range(2)]
    expected, found = compiled(arrays[0]), in_context(compiled, arrays[1])
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for own, other in zip(expected, found, strict=True):
        assert type(other) is type(own)
        np.testing.assert_array_equal(other, own)
        assert getattr(other, "dtype", None) == getattr(own, "dtype", None)
    assert arrays[0].tolist() == arrays[1].tolist()
    assert launches


@pytest.mark.filterwarnings("ignore:.*array-integers")
def test_functions_within_have_dpnps_types_for_device_arrays(in_context):
    """A call in a context leaves calls with device arrays as they are."""
    a = np.full(3, 2**30, np.int32)
    outer = numba.njit(calls_doubled)
    assert in_context(outer, a).dtype == np.int64
    assert outer(dpnp.asarray(a)).dtype == np.int32
    assert in_context(outer, a).dtype == np.int64


def test_variadic_functions_are_offloaded(in_context, launches):
    a = np.arange(3.0)
    assert in_context(variadic, a, a).tolist() == [0, 2, 4]
    assert len(launches) == 1


def test_arrays_in_named_tuples(in_context, launches):
    @numba.njit
    def f(pair):
        pair.x[:] = pair.y * 2
        return pair.y[1:], pair.x + 1

    pair = Pair(np.zeros(3), np.arange(3.0))
    end, more = in_context(f, pair)
    assert (pair.x.tolist(), more.tolist()) == ([0, 2, 4], [1, 3, 5])
    assert np.shares_memory(end, pair.y)
    assert launches


def first_of(items, b):
    items[0][:] = b + 1
    return items[0] * 2


def steps(items, b):
    for _ in range(2):
        items += b
        yield items.sum()


def fields(items, b):
    return items["n"] + b


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning")
@pytest.mark.parametrize(
    ("function", "make", "why"),
    [
        (first_of, lambda: [np.zeros(3), np.ones(3)], "argument `items` holds arrays in another container"),
        (first_of, lambda: List([np.zeros(3), np.ones(3)]), "argument `items` holds arrays in another container"),
        (steps, lambda: np.zeros(3), "it is a generator"),
        (fields, lambda: np.zeros(3, [("n", "f8"), ("m", "i1")]), "argument `items` has elements of type Record"),
        (shifted.py_func, lambda: np.zeros(25, np.uint8)[1:].view(np.float64), "`a` are not at multiples"),
        (shifted.py_func, lambda: np.zeros(3, [("n", "f8"), ("m", "i1")])["n"], "`a` are not at multiples"),
    ],
)
def test_arguments_that_stay_on_the_host_are_named(function, make, why, launches):
    """Numba runs the call, with a warning that says which argument it is, and the stores are there."""
    compiled, b = numba.njit(function), np.arange(3.0)
    expected, given = make(), make()
    own = results(compiled(expected, b))
    with kapi_runtime.device_context("opencl:cpu"), pytest.warns(OffloadFallbackWarning, match=re.escape(why)):
        found = results(compiled(given, b))
    np.testing.assert_array_equal(found, own)
    np.testing.assert_array_equal(elements(given), elements(expected))
    assert launches == []


def elements(value):
    return np.array(value.tolist() if isinstance(value, np.ndarray) else list(value))


def results(value):
    if isinstance(value, tuple):
        return np.concatenate([np.ravel(each) for each in value])
    return np.asarray(value) if isinstance(value, np.ndarray) else np.array(list(value))


@pytest.mark.parametrize("make", [lambda: np.array([1, None], object), lambda: np.ma.ones(3), list])
def test_arguments_that_numba_refuses_are_refused_by_numba(make):
    """In the same words, and without a warning before."""

    def message():
        with pytest.raises((NumbaError, ValueError)) as error:
            numba.njit(lambda a: a + 1)(make())
        return type(error.value), str(error.value).replace(" <lambda>", "")

    outside = message()
    with kapi_runtime.device_context("opencl:cpu"):
        assert message() == outside


def test_containers_of_numba_are_used_in_a_context():
    """Numba's own functions, which their methods call, are no author's to be warned of."""
    with kapi_runtime.device_context("opencl:cpu"):
        items = List([np.zeros(2)])
        items.append(np.ones(2))
        assert [each.tolist() for each in items] == [[0, 0], [1, 1]]


def test_lists_of_numbers_get_numbers(in_context):
    @numba.njit
    def f(a, seen):
        b = a * 2
        seen.append(b.sum())
        return b, seen

    seen = [1.0]
    b, same = in_context(f, np.ones(3), seen)
    assert (b.tolist(), seen, same) == ([2, 2, 2], [1.0, 6.0], [1.0, 6.0])
    assert [type(each) for each in seen] == [float, float]


def either(a, is_array):
    b = a * 2
    if is_array:
        return b.sum()
    return 0.5


def means(a, is_array):
    b = a * 2
    return np.mean(a), b.max(), a.any(), (a / 3).max()


# Each function has two of the dtypes by day, and all of them at night.
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 2 == 0 else pytest.mark.nightly)
    for row, function in enumerate([either, means])
    for column, dtype in enumerate(["bool", "int32", "float32", "float64"])
])  # fmt: skip
def test_numbers_have_the_types_of_numba_inference(function, dtype, in_context):
    """If returns differ, it is the type that holds both."""
    compiled = numba.njit(function)
    for is_array in (True, False):
        a = np.array([1, 0, 1]).astype(dtype)
        expected, found = compiled(a, is_array), in_context(compiled, a, is_array)
        assert repr(found) == repr(expected)


def test_stores_of_overlapping_parts_have_numba_types(in_context, launches):
    """No kernel does them, and dpnp computes in the types that the kernel would have."""

    @numba.njit
    def f(a):
        a[1:] = a[:-1] * 4 // 8
        return a + 1

    expected, given = (np.full(3, 2**30, np.int32) for _ in range(2))
    np.testing.assert_array_equal(in_context(f, given), f(expected))
    np.testing.assert_array_equal(given, expected)
    assert launches
