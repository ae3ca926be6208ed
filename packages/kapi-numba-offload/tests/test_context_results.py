"""Results of a function in a device context: its arguments, views of them, and new arrays, as under Numba."""

import numba
import numpy as np
import pytest


def same(a):
    b = a + 1
    a[0] = b[0]
    return a


def tail(a):
    b = a[1:]
    b += 5
    return b


def backwards(a):
    return (a * 2)[::-1], a[::-1]


def both_ends(a):
    a *= 2
    return (a[:2], (a[2:], a + 1))


def listed(a):
    a += 1
    return [a, a[1:]]


def flat(a):
    a += 1
    return a.ravel()


@pytest.mark.parametrize("function", [same, tail, backwards, both_ends, listed, flat])
def test_returned_views_are_views_of_the_argument(function, layouts, in_context):
    """A store into each changes the memory as it does under Numba, and copies stay copies."""
    compiled = numba.njit(function)
    for name, make in layouts.items():
        memories = []
        for call in (lambda a: compiled(a), lambda a: in_context(compiled, a)):
            base, given = make()
            for number, each in enumerate(arrays_in(call(given))):
                each[...] = 20 + number
            memories.append(np.array(base))
        np.testing.assert_array_equal(memories[1], memories[0], err_msg=name)


def arrays_in(value):
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in arrays_in(item)]
    return [value]


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_returned_argument_is_the_argument(layouts, in_context):
    """Also where it is a matrix, a subclass or without elements, and where another view is the same."""
    f = numba.njit(lambda a: (a, a[:], a * 2))
    marked, mapped = layouts["subclass"]()[1], layouts["mapped file"]()[1]
    for given in (np.zeros(3), np.matrix([[1.0, 2.0]]), marked, mapped, np.zeros(0), np.zeros((3, 0))):
        found, again, twice = in_context(f, given)
        assert found is given
        assert again.shape == given.shape
        assert np.shares_memory(again, given) == bool(given.size)
        assert type(twice) is np.ndarray


def test_parts_of_complex_numbers_are_views(in_context):
    f = numba.njit(lambda z: (z * 2, z.real, z.imag[1:]))
    z = np.array([1 + 2j, 3 + 4j])
    _, real, imaginary = in_context(f, z)
    real[:] = 7
    imaginary[:] = 8
    assert z.tolist() == [7 + 2j, 7 + 8j]


def test_new_arrays_that_share_memory_share_it_on_the_host(in_context):
    @numba.njit
    def f(a):
        b = a * 2
        return b, b[1:], b + 1

    b, end, other = in_context(f, np.ones(3))
    end[:] = 9
    assert b.tolist() == [2, 9, 9]
    assert other.tolist() == [3, 3, 3]


def test_arrays_without_axes(launches, in_context):
    @numba.njit
    def f(z):
        before = z * 2
        z += 1
        z[()] = z[()] * 3
        return z, before, np.zeros(())

    expected, z = np.array(4.0), np.array(4.0)
    own, other = f(expected), in_context(f, z)
    assert launches
    assert other[0] is z
    assert z == expected == 15
    assert [type(each) for each in other] == [type(each) for each in own]
    assert other[1:] == own[1:]


def sums_of_unsigned(a, s, t):
    x = s
    for _ in range(3):
        x = x * t + np.sum(a)
    return a * x


def extrema_of_unsigned(a, s, t):
    x = s
    for _ in range(t):
        x = x + np.max(a)
    return a + x


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int64", "float64"])
@pytest.mark.parametrize("function", [sums_of_unsigned, extrema_of_unsigned])
def test_dtypes_of_numbers_are_those_of_numba_for_few_elements_and_for_many(function, dtype, in_context):
    for size in (3, 200_000):
        a = np.ones(size, dtype)
        expected = numba.njit(function)(a, 2, 3)
        found = in_context(numba.njit(function), a, 2, 3, device="cpu")
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def rows_extrema(a):
    return a.max(axis=1)


def extrema_of_two_axes(a):
    return a.min(axis=(1, 2))


@pytest.mark.parametrize("function", [rows_extrema, extrema_of_two_axes])
def test_reductions_that_numba_lacks_are_those_of_numpy(function, in_context):
    a = np.random.default_rng(0).normal(size=(3, 4, 5))
    assert np.array_equal(in_context(numba.njit(function), a, device="cpu"), function(a))
