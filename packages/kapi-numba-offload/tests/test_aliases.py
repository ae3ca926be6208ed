"""Arrays under two names, views of them, and calls that change them: what Python over dpnp arrays gives."""

import copy

import dpnp
import numba
import numpy as np
import pytest

import kapi_runtime
from kapi_numba_offload.libraries.arrays import is_same_view, may_overlap


@numba.njit
def doubled_in_place(a):
    a *= 2
    return 1.0


def second_name(a, b):
    b = a
    b += 1
    return a + 1


def full_view(a, b):
    b = a[:]
    b += 1
    return a * 10


def view_of_a_view(a, b):
    b = a[1:][:-1]
    c = a[1:-1]
    c += 1
    b *= 2
    return c + b, a * 1


def read_before_and_after(a, b):
    b = a
    c = a * 2
    b += 1
    d = a * 2
    return c, d


def several_stores(a, b):
    a += 1
    b += a
    a += b


def stored_and_read(a, b):
    b[:] = a * 2
    c = a + 1
    return c


def swapped(a, b):
    a, b = b, a
    a += 1
    return b * 2 - a


def transposed(a, b):
    c = np.reshape(a, (2, 3))
    d = c.T
    d += np.reshape(b, (3, 2))
    c *= 2
    return d - 1, a + 0


def overlapping(a, b):
    b = a[1:]
    b += a[:-1]
    c = a * 2
    b[:] = c[1:] + a[:-1]
    return c, a - 1


def reversed_view(a, b):
    b = a[::-1]
    b += a
    return a * 3, b * 2


def kept_result(a, b):
    c = a * 2
    d = c
    d += 1
    e = c - a
    c *= 2
    return c, d, e


def element_after_a_store(a, b):
    b[:] = a * 2
    c = a + b[0]
    b += 1
    return c * b[1], b[0]


def selection_after_a_store(a, b):
    b += 10
    c = b[b > 12] * 2
    return c


def changed_by_a_call(a, b):
    return a * 2 + doubled_in_place(a) * a + a[0]


def changed_before_a_part(a, b):
    return doubled_in_place(a), a * 2


def changed_after_a_part(a, b):
    return a * 2, doubled_in_place(a)


FUNCTIONS = [
    second_name, full_view, view_of_a_view, read_before_and_after, several_stores, stored_and_read, swapped,
    transposed, overlapping, reversed_view, kept_result, element_after_a_store, selection_after_a_store,
    changed_by_a_call, changed_before_a_part, changed_after_a_part,
]  # fmt: skip


def numbers_stay(a, b):
    s = np.sum(a)
    t = s
    s += 1
    u = s + b[0]
    c = grown(a)
    v = c[1]
    c += 100
    w = np.max(b)
    w *= 2
    return s, t, u, v, w, c


@numba.njit
def grown(a):
    return a * 2


def values(found):
    if isinstance(found, tuple):
        return [values(each) for each in found]
    return found.asnumpy().tolist() if isinstance(found, dpnp.ndarray) else found


def arguments(case):
    base = dpnp.arange(12.0)
    if case == "apart":
        return [base[:6], base[6:]], base
    if case == "same":
        return [base[:6]] * 2, base
    if case == "same view":
        return [base[:6], base[0:6:1]], base
    return [base[:6], base[1:7]] if case == "overlapping" else [base[:6], base[5::-1]], base


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("case", ["apart", "same", "same view", "overlapping", "reversed"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_of_the_same_memory_see_each_others_stores(function, case):
    """Results and memory are those of the same Python over dpnp arrays."""
    given, base = arguments(case)
    found = values(numba.njit(copy.copy(function))(*given))
    expected_given, expected_base = arguments(case)
    expected = values(function(*expected_given))
    assert found == expected
    assert values(base) == values(expected_base)


def test_one_view_under_two_names_is_still_one_kernel(launches):
    """The region reads elements where its statements stand, and needs no second launch for it."""
    x = dpnp.arange(3.0)
    assert numba.njit(stored_and_read)(x, x).asnumpy().tolist() == [1, 3, 5]
    assert len(launches) == 1


def test_numbers_are_no_views():
    """An element, and what a reduction gives, is a number: nothing changes it in place."""
    found = numba.njit(numbers_stay)(dpnp.arange(3.0), dpnp.ones(3))
    assert [float(each) for each in found[:5]] == [4, 3, 5, 2, 2]
    assert values(found[5]) == [100, 102, 104]


def rows_of_another_name(a, b):
    for i in numba.prange(a.shape[0]):
        a[i, 1:] = b[i, :-1] + 1


def same_rows_of_another_name(a, b):
    for i in numba.prange(a.shape[0]):
        a[i, 1:] = b[i, 1:] + 1
        a[i] += b[i]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("function", [rows_of_another_name, same_rows_of_another_name])
def test_rows_of_one_array_under_two_names(function):
    """A row is read before any of it is stored, as NumPy does, whichever name it has."""
    a, expected = dpnp.reshape(dpnp.arange(8.0), (2, 4)), np.arange(8.0).reshape(2, 4)
    numba.njit(function)(a, a)
    function(expected, expected)
    assert values(a) == expected.tolist()


def test_another_name_of_a_parameter_of_rank_0_is_the_same_array():
    @numba.njit
    def increased(a):
        b = a
        b += 1
        return a * 2

    a = dpnp.asarray(3.0)
    assert (float(increased(a)), float(a)) == (8.0, 4.0)


def test_parts_of_complex_arrays_are_changed_in_place():
    def turned(z):
        z.imag += 2
        z.real *= z.imag
        return z * 2

    expected, z = np.arange(3) + 1j, dpnp.arange(3) + 1j
    np.testing.assert_array_equal(numba.njit(turned)(z).asnumpy(), turned(expected))
    np.testing.assert_array_equal(z.asnumpy(), expected)


def test_strides_of_axes_of_one_element_do_not_count():
    a = dpnp.ones((3, 4))
    one, other = a[:1], a[::3]
    assert one.strides != other.strides
    assert is_same_view(one, other)
    assert not may_overlap(one, other)
    assert not is_same_view(a[:2], a[::2])
    assert may_overlap(a[:2], a[::2])


@numba.njit
def raised(x):
    x += 3
    return x


@numba.njit
def first_stored(x):
    x[0] = 7.0
    return x.sum()


@numba.njit
def tripled(x):
    return x * 3


def added_later(a):
    return a + (a - 1) + raised(a)


def with_a_list(a):
    a = a + a
    found = [-2.0]
    for i in range(a.shape[0]):
        if a[i] > 0:
            found.append(a[i])
    return a + (a - 1) + raised(a)


def function_of_numpy(a):
    return np.sqrt(a * a) * first_stored(a)


def compared(a):
    return (a - 1 < raised(a)) * 1.0


def negated(a):
    return -a + raised(a)


def within(a):
    return a[1:] * 2 + (1 + first_stored(a[1:]))


def in_a_loop(a):
    sums = 0.0
    for i in range(3):
        a[1] += i
        b = a * 2 + first_stored(a)
        sums += b[i]
    return sums


def in_a_loop_of_sums(a):
    sums = np.zeros(3)
    for i in range(3):
        sums[i] = (a * 2 + first_stored(a)).sum()
        a[1] += i
    return sums


def in_a_loop_of_arrays(a):
    for _ in range(2):
        a = a * 2 - raised(a)
    return a


def in_rows(a):
    rows = a.repeat(3).reshape(5, 3)
    for i in numba.prange(5):
        row = rows[i]
        rows[i] = (row * 2) * (row - 1) + first_stored(row)
    return rows


def without_stores(a):
    return a * 2 + tripled(a)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("small", ["0", "32768"])
@pytest.mark.parametrize(
    "function",
    [
        added_later, with_a_list, function_of_numpy, compared, negated, within, in_a_loop, in_a_loop_of_sums,
        in_a_loop_of_arrays, in_rows, without_stores,
    ],
)  # fmt: skip
def test_operands_are_computed_before_a_later_call_changes_their_arrays(function, small, monkeypatch):
    """Numba computes `a - 1` after the call in ``(a - 1) + f(a)``, wherever a call or a loop is Numba's."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
    expected, given = np.arange(5.0), dpnp.arange(5.0)
    result = function(expected)
    np.testing.assert_array_equal(as_numpy(numba.njit(function)(given)), result)
    np.testing.assert_array_equal(dpnp.asnumpy(given), expected)
    with kapi_runtime.device_context("cpu"):
        np.testing.assert_array_equal(numba.njit(function)(given := np.arange(5.0)), result)
    np.testing.assert_array_equal(given, expected)


def as_numpy(value):
    return value if np.isscalar(value) else dpnp.asnumpy(value)
