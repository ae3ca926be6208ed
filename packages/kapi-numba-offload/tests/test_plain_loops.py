"""Plain loops over elements and short rows are compiled, whatever they name: Python takes no element by itself."""

import dpnp
import numba
import numpy as np
import pytest
from numba import njit

import kapi_numba_offload
import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning

pytestmark = pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")


@pytest.fixture(autouse=True)
def small_loops(monkeypatch, no_small_loops):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "64")


def length_of_another(a, b):
    for i in range(len(a)):
        k = int(a[i, 0]) % 5
        if k < len(b):
            b[k, 1] += a[i, 2]


def row_method(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i].sum()
    return s


def row_reduction(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += np.sum(a[i]) * b[i, 0]
    return s


def rows_at_once(a, b):
    s = 0.0
    for row, other in zip(a, b):  # noqa: B905  # Numba's has no `strict`
        s += row[0] * other[1]
    return s


def numbered_rows(a, b):
    s = 0.0
    for i, row in enumerate(a):
        s += row[0] * i
    return s


def stored_rows(a, b):
    for i in range(b.shape[0]):
        b[i] = i


def copied_rows(a, b):
    for i in range(1, b.shape[0]):
        b[i] = a[i - 1]


def local_function(a, b):
    def first(i):
        return a[i, 0]

    s = 0.0
    for i in range(a.shape[0]):
        s += first(i)
    return s


@njit
def weight(row, matrix, i):
    return np.sum(row) * matrix[i, 0]


def helper_of_a_row_and_an_array(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        s += weight(a[i], b, i)
    return s


def filled_list(a, b):
    found = []
    for i in range(a.shape[0]):
        found.append(a[i, 0])
    return len(found), found[-1]


def comprehension(a, b):
    return sum([a[i, 1] for i in range(a.shape[0])])


def in_a_branch(a, b):
    s = 0.0
    for i in range(a.shape[0]):
        if i % 2 == 0:
            for j in range(3):
                s += a[i, j]
    return s


FUNCTIONS = [
    length_of_another, row_method, row_reduction, rows_at_once, numbered_rows, stored_rows, copied_rows, local_function,
    helper_of_a_row_and_an_array, filled_list, comprehension, in_a_branch,
]  # fmt: skip


# Each function has one of the dtypes by day, another than the one before it, and all of them at night.
@pytest.mark.parametrize(("function", "dtype"), [
    pytest.param(function, dtype, marks=() if (row + column) % 3 == 0 else pytest.mark.nightly)
    for row, function in enumerate(FUNCTIONS)
    for column, dtype in enumerate(["float64", "float32", "int32"])
])  # fmt: skip
def test_plain_loops_are_compiled(function, dtype, launches, monkeypatch, is_gpu, no_group_does_a_loop):
    """Arrays are longer than small ones, and the rows that an iteration works on are short; copies are a GPU's own."""
    interpreted = []
    if dpnp.__name__ == "dpnp":  # CuPy's own functions have subscripts
        monkeypatch.setattr(dpnp.ndarray, "__getitem__", lambda *_: interpreted.append(1))
    a = np.arange(300).reshape(100, 3).astype(dtype)
    b = (np.arange(300)[::-1] / 2).reshape(100, 3).astype(dtype)
    given = dpnp.asarray(a), dpnp.asarray(b)
    dispatcher = numba.njit(function)
    found = dispatcher(*given)
    monkeypatch.undo()
    assert bool(launches) == (is_gpu and function is copied_rows)
    assert not interpreted
    expected = numba.njit(function)(a, b)
    one, other = (each if isinstance(each, tuple) else (each,) for each in (found, expected))
    np.testing.assert_allclose([float(each or 0) for each in one], [float(each or 0) for each in other], rtol=1e-5)
    np.testing.assert_allclose(given[1].asnumpy(), b, rtol=1e-5)


@pytest.mark.parametrize("function", [length_of_another, rows_at_once, filled_list, comprehension, local_function])
def test_loops_over_elements_are_reported(function, no_group_does_a_loop):
    """With the line of the loop, at the first call."""
    a = dpnp.ones((100, 3))
    with pytest.warns(OffloadFallbackWarning, match=r"(?s)\[sequential-loop\].*It runs on the host"):
        numba.njit(function)(a, dpnp.ones((100, 3)))


def selected(x, positions, found):
    for _ in range(3):
        far = x > 2
        for j in range(far.shape[0]):
            if far[j]:
                found[positions[j]] = x[j]
        near = np.logical_not(far)
        x = x[near] * 1.5
        positions = positions[near]


def of_other_shapes(x, positions, found):
    table = np.reshape(found, (100, found.size // 100))
    rows = np.reshape(positions // table.shape[1], x.size)
    for _ in range(2):
        for j in range(rows.shape[0]):
            table[rows[j], positions[j] % 7] = x[j]
        x = np.reshape(table, (found.size,)) + x


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.parametrize("function", [selected, of_other_shapes])
def test_loops_over_elements_of_selected_and_reshaped_arrays_are_compiled(function, monkeypatch):
    """However many elements they have: an iteration works on one, and not on what an unknown rank might be."""
    taken, subscript = [], dpnp.ndarray.__getitem__

    def counted(array, index):
        taken.append(index)
        return subscript(array, index)

    x, positions = np.random.default_rng(3).random(70_000) * 3, np.random.default_rng(4).permutation(70_000)
    expected, found = np.zeros(70_000), dpnp.zeros(70_000)
    function(x, positions, expected)
    given = dpnp.asarray(x), dpnp.asarray(positions)
    monkeypatch.setattr(dpnp.ndarray, "__getitem__", counted)
    numba.njit(function)(*given, found)
    monkeypatch.undo()
    assert len(taken) < 100
    np.testing.assert_allclose(found.asnumpy(), expected)


def test_loops_over_rows_are_compiled_in_a_context(launches):
    """NumPy arrays of any dtype; the function has an expression that is a kernel."""

    def f(a, b):
        c = a * 2 + b
        s = 0.0
        for i in range(a.shape[0]):
            s += c[i].sum()
        return s

    a = np.arange(300).reshape(100, 3).astype("int16")
    dispatcher = numba.njit(f)
    with kapi_runtime.device_context("opencl:cpu"):
        found = dispatcher(a, a)
    assert found == f(a.astype(int), a.astype(int))
    assert len(launches) == 1
    (report,) = kapi_numba_offload.offload_reports(dispatcher)
    assert any("Numba computes" in (each.reason or "") for each in report.parts)


def test_updates_by_other_parts_of_an_array_have_results_of_numpy_next_to_loops(as_in_python):
    """In a function that would be Numba's because of a loop: Numba does not read all of the value first."""

    def f(a, b, c, d):
        taken = []
        for i in range(2):
            taken.append(a[i])
        a[1:] += a[:-1]
        b[:, ::-1] -= b
        c += c[::-1] * 2
        d *= d + 1

    as_in_python(f, [np.arange(6.0), np.arange(12.0).reshape(3, 4), np.arange(5.0), np.arange(4.0)])
