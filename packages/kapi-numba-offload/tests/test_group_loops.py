"""Plain loops over small arrays of a GPU that are one launch: a work-group does all iterations, or work-items apart."""

import dpnp
import numba
import numpy as np
import pytest

RANDOM = np.random.default_rng(11)
ROWS, COLUMNS = 70, 90

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")


@pytest.fixture(autouse=True)
def small_loops(monkeypatch, no_small_loops):
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")


def stencil(p, b, n):
    for _ in range(n):
        old = p.copy()
        p[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2] + old[2:, 1:-1] + old[:-2, 1:-1]) / 4 - b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def shifted_in_place(p, b, n):
    for _ in range(n):
        p[1:-1] = (p[:-2] + p[2:]) / 2 + b[1:-1]
        b[:, 1:] -= b[:, :-1] * 0.125


def until_converged(p, b, n):
    error, count = 1, 0
    while error > 0.05 and count < n:
        old = p.copy()
        p[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1]) / 2
        error = np.max(np.abs(p - old)) / np.sum(b)
        count += 1
    return count, error


@numba.njit
def source_of(p, b):
    made = np.zeros_like(p)
    made[1:-1, 1:-1] = p[1:-1, 1:-1] * b[1:-1, 1:-1] * 0.5
    made[0, :] = b[0, :]
    return made


@numba.njit
def relax(p, made, times):
    for _ in range(times):
        old = np.empty_like(p)
        old = p.copy()
        p[1:-1, 1:-1] = (old[2:, 1:-1] + old[:-2, 1:-1] - made[1:-1, 1:-1]) * 0.5


def calls(p, b, n):
    for k in range(n):
        made = source_of(p, b)
        relax(p, made, 3)
        if k % 2 == 0:
            p[:, 0] = b[:, 1]


def last_rows(p, b, n):
    for k in range(n):
        mine = p[-1] * 0.5
        p[-1] = b[k] + mine
        p[k] = p[-1] - mine


def filled(p, b, n):
    for _ in range(n):
        made = np.full((p.shape[0], b.shape[1]), 0.25, p.dtype)
        made[1:, 0] = b[1:, 2]
        p[:] = (p + made) * 0.5


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [stencil, shifted_in_place, until_converged, calls, last_rows, filled])
def test_a_loop_is_one_launch(function, dtype, launches):
    if dtype == "float32" and function is last_rows:
        dtype = "float64"
    arrays = [RANDOM.random((ROWS, COLUMNS)).astype(dtype) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    found = numba.njit(function)(*given, 40)
    expected = getattr(function, "py_func", function)(*arrays, 40)
    tolerance = 1e-11 if dtype == "float64" else 3e-4
    for one, other in zip(given, arrays, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=tolerance, atol=tolerance)
    if expected is not None:
        assert found[0] == expected[0]
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10 if dtype == "float64" else 1e-3)
    assert len(launches) == 1
    assert tuple(launches[0][1].group_range) == (1,)


def recurrence(p, b, n):
    for j in range(2, p.shape[1]):
        p[:, j] = b[:, j] * 0.5 + p[:, j - 1] * 0.25 - p[:, j - 2] * b[:, j - 1]


def backwards(p, b, n):
    for j in range(p.shape[1] - 2, -1, -1):
        p[:, j] = b[:, j + 1] - p[:, j + 1] * 0.5


def oscillators(p, b, n):
    for _ in range(n):
        b -= 0.01 * p * p * p
        p += 0.01 * b


@pytest.mark.parametrize("function", [recurrence, backwards, oscillators])
def test_work_items_with_elements_of_their_own_are_in_many_groups(function, launches):
    arrays = [RANDOM.random((300, 60)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(function)(*given, 40)
    function(*arrays, 40)
    for one, other in zip(given, arrays, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-12)
    assert len(launches) == 1
    assert launches[0][1].group_range[0] > 1


def test_later_calls_have_other_shapes(launches):
    offloaded = numba.njit(stencil)
    for shape in ((ROWS, COLUMNS), (40, 41), (3, 200), (120, 30)):
        arrays = [RANDOM.random(shape) for _ in range(2)]
        given = list(map(dpnp.asarray, arrays))
        offloaded(*given, 60)
        stencil(*arrays, 60)
        np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)
    assert {tuple(each[1].group_range) for each in launches} == {(1,)}


@pytest.mark.parametrize("shift", [1, COLUMNS])
def test_arrays_that_share_memory_are_as_in_numpy(shift):
    memory = RANDOM.random(ROWS * COLUMNS + shift)
    given = dpnp.asarray(memory)
    parts = [(each[:-shift].reshape(ROWS, COLUMNS), each[shift:].reshape(ROWS, COLUMNS)) for each in (memory, given)]
    numba.njit(stencil)(*parts[1], 40)
    stencil(*parts[0], 40)
    np.testing.assert_allclose(dpnp.asnumpy(given), memory, rtol=1e-11)


def test_operands_that_do_not_suit_each_other_are_an_error():
    p, b = dpnp.asarray(RANDOM.random((ROWS, COLUMNS))), dpnp.asarray(RANDOM.random((ROWS, COLUMNS + 1)))
    with pytest.raises(ValueError, match=r"broadcast|shape"):
        numba.njit(stencil)(p, b, 40)


def test_an_index_beyond_an_array_is_an_error():
    p, b = (dpnp.asarray(RANDOM.random((ROWS, COLUMNS))) for _ in range(2))
    with pytest.raises(IndexError):
        numba.njit(last_rows)(p, b, ROWS + 1)


def kept_from_before(p, b, n):
    before = b
    for _ in range(n):
        old = p.copy()
        p[1:-1] = (old[:-2] + before[2:]) / 2
        before = old
    return before


def two_names(p, b, n):
    for _ in range(n):
        old = p.copy()
        first = old
        p[1:] = old[:-1] * 0.5
        old = p.copy()
        p[:-1] = old[1:] + first[:-1]


@pytest.mark.parametrize("function", [kept_from_before, two_names])
def test_copies_of_earlier_iterations_and_other_names_of_them_are_as_in_numpy(function):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    found, expected = numba.njit(function)(*given, 40), function(*arrays, 40)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)
    if expected is not None:
        np.testing.assert_allclose(dpnp.asnumpy(found), expected, rtol=1e-11)


def test_no_iteration_changes_nothing(launches):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    assert numba.njit(until_converged)(*given, 0) == (0, 1)
    numba.njit(stencil)(*given, 0)
    np.testing.assert_array_equal(dpnp.asnumpy(given[0]), arrays[0])


def test_many_elements_are_launches_of_all_of_the_device(launches):
    arrays = [RANDOM.random((1500, 1000)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(stencil)(*given, 2)
    stencil(*arrays, 2)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)
    assert len(launches) > 2


def updated_rows(p, b, n):
    for k in range(n):
        for i in numba.prange(p.shape[0]):
            p[i, :] = np.minimum(p[i, :], p[i, k] + b[k, :])


def updated_elements(p, b, n):
    for k in range(n):
        for i in numba.prange(p.shape[0]):
            for j in range(p.shape[1]):
                p[i, j] = min(p[i, j], p[i, k] + b[k, j])


@pytest.mark.parametrize(("shape", "is_of_group"), [((500, 500), False), ((20, 20), True)])
@pytest.mark.parametrize("function", [updated_rows, updated_elements])
def test_loops_around_large_prange_loops_are_a_launch_an_iteration(function, shape, is_of_group, launches):
    arrays = [RANDOM.random(shape) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(parallel=True)(function)(*given, 4)
    for k in range(4):
        arrays[0][:] = np.minimum(arrays[0], arrays[0][:, k, None] + arrays[1][k])
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-12)
    assert (len(launches) == 1) is is_of_group


def capitals(A, B, C, n):
    for _ in range(n):
        A[1:-1] = (B[:-2] + B[2:]) / 2 + C
        B[1:-1] = A[1:-1]


def test_arrays_have_any_names(launches):
    arrays = [RANDOM.random((ROWS, COLUMNS)), RANDOM.random((ROWS, COLUMNS)), RANDOM.random((ROWS - 2, COLUMNS))]
    given = list(map(dpnp.asarray, arrays))
    offloaded = numba.njit(capitals)
    offloaded(*given, 40)
    capitals(*arrays, 40)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)
    assert len(launches) == 1
    with pytest.raises(ValueError, match=r"broadcast|shape"):
        offloaded(*given[:2], dpnp.asarray(arrays[0]), 40)


def of_truth(A, B, C, n):
    for k in range(n):
        large = np.abs(A) > 0.9
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                if large[i, j]:
                    B[i, j] = k
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                A[i, j] = A[i, j] * 0.5 + C[i, j]


def test_elements_at_one_index_are_in_many_groups(launches):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(3)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(of_truth)(*given, 40)
    of_truth(*arrays, 40)
    for one, other in zip(given, arrays, strict=True):
        np.testing.assert_allclose(dpnp.asnumpy(one), other, rtol=1e-11)
    assert len(launches) == 1
    assert launches[0][1].group_range[0] > 1


def named(p, b, n, name):
    for _ in range(n):
        p[1:-1] = (b[:-2] + b[2:]) / 2
        if name == "both":
            b[1:-1] = p[1:-1]


def test_values_that_kernels_have_not_are_as_in_numpy(launches):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(named)(*given, 40, "both")
    named(*arrays, 40, "both")
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)


def added_up_to_the_largest(p, b, n):
    for k in range(n):
        p[: np.argmax(b)] += p[: np.argmax(p[:20])] * 0.5 + k


def copied_up_to_the_largest(p, b, n):
    for k in range(n):
        old = b[: np.argmax(b)].copy()
        p[: np.argmax(b)] = old * 0.5 + k


@pytest.mark.parametrize("function", [added_up_to_the_largest, copied_up_to_the_largest])
def test_lengths_that_elements_decide_are_as_in_numpy(function):
    p, b = RANDOM.random((2, 70))
    b[33], p[8] = 9, 7
    given = list(map(dpnp.asarray, (p, b)))
    try:
        function(p, b, 4)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            numba.njit(function)(*given, 4)
    else:
        numba.njit(function)(*given, 4)
        np.testing.assert_allclose(dpnp.asnumpy(given[0]), p, rtol=1e-11)


def last_sum(p, b, n):
    s = 1.5
    for k in range(n):
        s = np.sum(p[:-1, k]) * 0.05 + k
    return (s,)


def last_of_two(p, b, n):
    s, t = 1.5, 2.0
    for k in range(n):
        s = np.max(b[k]) - s * 0
        if k % 2 == 0:
            t = np.min(p[k]) + 1
    return s, t


def last_of_inner(p, b, n):
    s, m = 1.5, 0
    for k in range(n):
        for i in range(1, n):
            s = np.sum(p[i]) - np.sum(b[k])
            m += 1
    return s, m


@pytest.mark.parametrize("times", [0, 1, 40])
@pytest.mark.parametrize("function", [last_sum, last_of_two, last_of_inner])
def test_numbers_that_iterations_assign_are_those_of_the_last_one(function, times, launches):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(2)]
    found = numba.njit(function)(*map(dpnp.asarray, arrays), times)
    np.testing.assert_allclose(found, function(*arrays, times), rtol=1e-11)


def largest_inside(p, b, n):
    s = 0.0
    for _ in range(n):
        p[:] = p * 0.5
        s += np.max(p[1:-1])
    return s


def index_of_the_least(p, b, n):
    index = 0
    for _ in range(n):
        p[:] = p * 0.5
        index = np.argmin(p[2:])
    return index


@pytest.mark.parametrize("function", [largest_inside, index_of_the_least])
def test_extrema_of_no_element_are_an_error(function):
    p = RANDOM.random((2, COLUMNS))
    with pytest.raises(ValueError, match="empty|zero-size"):
        function(p, p, 40)
    with pytest.raises(ValueError, match="empty|zero-size"):
        numba.njit(function)(dpnp.asarray(p), dpnp.asarray(p), 40)


def expression_of_before(p, b, n):
    made = b.copy()
    for k in range(n):
        p[1] += made[0] * 0.5
        made = b * 0.5 + k


def number_of_before(p, b, n):
    made = 1.5
    for k in range(n):
        p[1] += made * 0.5
        made = b[k]


@pytest.mark.parametrize("function", [expression_of_before, number_of_before])
def test_variables_have_the_array_of_the_iteration_before(function):
    arrays = [RANDOM.random((ROWS, COLUMNS)) for _ in range(2)]
    given = list(map(dpnp.asarray, arrays))
    numba.njit(function)(*given, 40)
    function(*arrays, 40)
    np.testing.assert_allclose(dpnp.asnumpy(given[0]), arrays[0], rtol=1e-11)


def bools_by_integers(p, n):
    for _ in range(n):
        p *= 3


def integers_by_quotients(p, n):
    for k in range(n):
        p[1:] //= 2
        p[k, 1:] /= 2


def rows_by_fractions(p, n):
    for k in numba.prange(n):
        p[k] *= 0.5


def integers_by_integers(p, n):
    for k in range(n):
        p[1:] *= 3
        p[k] -= p[k] // 2


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32", "complex128"])
@pytest.mark.parametrize(
    "function", [bools_by_integers, integers_by_quotients, rows_by_fractions, integers_by_integers]
)
def test_arrays_hold_what_updates_make_as_in_numpy(function, dtype):
    expected, error = np.ones((4, 5), dtype), None
    given = dpnp.asarray(expected)
    try:
        function(expected, 2)
    except TypeError as raised:
        error = type(raised)
    if error is None:
        numba.njit(function)(given, 2)
        np.testing.assert_array_equal(given.asnumpy(), expected)
    else:
        with pytest.raises((TypeError, ValueError)):
            numba.njit(function)(given, 2)
