"""Lists, sets and Numba's containers that loops on the host fill, read or hold arrays in."""

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())

pytestmark = [
    pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning"),
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning"),
]


def appends(a):
    found = [0.0]
    for i in range(a.size):
        if a[i] > 0:
            found.append(a[i])
    return len(found), found[-1]


def fills_an_empty_one(a):
    found = []
    for i in range(a.size):
        if a[i] > 0:
            found.append(a[i] * 2)
    return np.array(found)


def fills_another_name(a):
    found = [0.0]
    other = found
    for i in range(a.size):
        found[0] += a[i]
    return other[0]


def takes_and_puts(a):
    rest = [(0, a.size)]
    total = 0.0
    while len(rest) > 0:
        low, high = rest.pop()
        if high - low == 1:
            total += a[low]
        elif high - low > 1:
            middle = (low + high) // 2
            rest.append((low, middle))
            rest.append((middle, high))
    return total


def holds_lists(a):
    both = [[0.0], [1.0]]
    for i in range(a.size):
        both[i % 2].append(a[i])
    return len(both[0]), both[1][2]


def fills_a_set(a):
    found = set()
    for i in range(a.size):
        found.add(int(a[i]))
    return len(found)


def fills_an_untyped_list(a):
    found = numba.typed.List()
    for i in range(a.size):
        found.append(a[i])
    return len(found), found[1]


def fills_an_untyped_dictionary(a):
    found = numba.typed.Dict()
    for i in range(a.size):
        found[i % 4] = a[i]
    return len(found), found[3]


def only_reads(a):
    weights = [1.0, 2.0, 3.0]
    total = 0.0
    for i in range(a.size):
        total += a[i] * weights[i % 3]
    return total


FUNCTIONS = (
    appends, fills_an_empty_one, fills_another_name, takes_and_puts, holds_lists, fills_a_set, fills_an_untyped_list,
    fills_an_untyped_dictionary, only_reads,
)  # fmt: skip


# Each function has one of the dtypes by day, another than the one before it, and all of them at night.
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 2 == 0 else pytest.mark.nightly)
    for row, function in enumerate(FUNCTIONS)
    for column, dtype in enumerate(["float64", "float32"])
])  # fmt: skip
def test_containers(function, dtype):
    values = np.array([1.5, -2.0, 3.25, 0.5, -1.0, 2.5], dtype)
    found = numba.njit(function)(dpnp.asarray(values))
    expected = numba.njit(function)(values) if function is fills_an_empty_one else function(values)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        found = found.tolist() if isinstance(found, np.ndarray) else found.asnumpy().tolist()
        expected = expected.tolist()
    assert found == expected


def aliases_a_list_and_makes_arrays(a):
    found = [a[0]]
    other = found
    for i in range(a.size):
        found.append(a[i])
    return a + 1, np.maximum(a, 2), a + a, other[-1]


def aliases_a_list_and_names_a_dtype(a):
    found = [1.0]
    other = found
    for i in range(a.size):
        found.append(2.0 + i * a[i])
    return np.ones(a.size, np.int32) * 2, np.full(a.size, 3.0, np.float32) / 2, other[-1]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        *((aliases_a_list_and_makes_arrays, each) for each in "bhiqBIQ?fd"),
        *((aliases_a_list_and_names_a_dtype, each) for each in "di"),
    ],
)
def test_arrays_of_functions_with_aliased_lists_have_numpy_s_dtypes(function, dtype):
    values = np.array([0, 1, 0, 1, 1]).astype(dtype)
    found, expected = numba.njit(function)(dpnp.asarray(values)), function(values)
    for one, other in zip(found[:-1], expected[:-1], strict=True):
        assert one.dtype == other.dtype
        assert one.asnumpy().tolist() == other.tolist()
    assert found[-1] == expected[-1]


def exchanges_arrays(a):
    parts = [a, a[1:]]
    for i in range(3):
        last = a[i]
        parts[0] = a[1:]
        a[i] = last + 1
    parts[0][0] = 50.0
    return parts[1][0], a[1]


def appends_views(a):
    parts = []
    for i in range(3):
        if a[i] > -10:
            parts.append(a[i : i + 2])
    parts[1][0] = 50.0
    return len(parts), a[1], parts[0][1]


def stores_through_a_list(a):
    parts = [a[:3], a[3:]]
    for i in range(3):
        parts[1][i] = a[i] + 10
    return a[5]


@pytest.mark.parametrize("are_copied", [False, True], ids=["in place", "on copies"])
@pytest.mark.parametrize("function", [exchanges_arrays, appends_views, stores_through_a_list],
                         ids=lambda each: each.__name__)  # fmt: skip
def test_arrays_in_lists(function, are_copied, monkeypatch):
    if are_copied:
        monkeypatch.setattr(LIBRARY, "is_reachable", lambda *_: False)
    values = np.array([1.5, -2.0, 3.25, 0.5, -1.0, 2.5])
    given = dpnp.asarray(values)
    found = numba.njit(function)(given)
    assert [float(each) for each in np.atleast_1d(found)] == [float(each) for each in np.atleast_1d(function(values))]
    assert given.asnumpy().tolist() == values.tolist()


def test_what_was_appended_before_an_exception_stays():
    @numba.njit
    def fails(a):
        found = [0.0]
        try:
            for i in range(a.size):
                found.append(a[i])
                if a[i] > 3:
                    raise ValueError("too large")
        except Exception:
            pass
        return len(found)

    assert fails(dpnp.asarray([1.0, 2.0, 5.0, 7.0])) == 4


def test_loops_whose_indices_come_of_lists_say_that_they_run_on_the_host(recwarn):
    numba.njit(takes_and_puts)(dpnp.ones(6))
    assert "sequential-loop" in str(recwarn.pop().message)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_empty_lists_are_filled_by_compiled_loops(dtype, monkeypatch):
    """The expression is a kernel with NumPy's dtype, and each loop is compiled: Python takes no element."""

    def f(a):
        found = []
        at = []
        total = 0.0
        for i in range(a.size):
            if a[i] > 0.5:
                found.append(a[i])
                at.append(i)
                total += len(at)
        for i in range(a.size):
            found.append(a[i])
        return a * 2.0, np.array(found), at[3], total, len(found)

    a = np.linspace(0, 1, 300).astype(dtype)
    given = dpnp.asarray(a)
    taken = []
    read = dpnp.ndarray.__getitem__
    monkeypatch.setattr(dpnp.ndarray, "__getitem__", lambda *args: taken.append(1) or read(*args))
    found = numba.njit(f)(given)
    assert not taken
    doubled, kept, *numbers = f(a)
    assert found[0].dtype == doubled.dtype
    assert found[1].dtype == kept.dtype
    np.testing.assert_array_equal(found[0].asnumpy(), doubled)
    np.testing.assert_array_equal(found[1].asnumpy(), kept)
    assert list(found[2:]) == numbers
