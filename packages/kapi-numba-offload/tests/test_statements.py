"""Functions of several statements over USM arrays, against the same Python run over dpnp arrays."""

import dpnp
import numba
import numpy as np
import pytest

import kapi_runtime
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError
from kapi_sim.testing.reports import raises

OFFSET = 3


def temporary(a, b):
    c = a * 2
    d = c + b
    c = d - 1
    return c * c


def two_results(a, b):
    s = a + b
    return s * 2, s - b


def branch(a, n):
    if n > 2:
        c = a * n
    else:
        c = a - n
    return c + 1


def host_loop(a, n):
    c = a + 0
    for k in range(n):
        c = c * 2 + k
    return c


def in_place(a, b):
    a += b
    a *= 2
    return a


def slices(a, b):
    a[1:-1] = a[:-2] + a[2:]
    b[::2] += a[::2] * 3
    return a, b


def overlap(a, b):
    a[1:] = a[:-1] * 2
    return a + b


def shapes_of_two_kinds(a, b):
    row = b[0] * 2
    return a + b, row


def tuple_argument(pair, k):
    return pair[0] * k + pair[1]


def scalars(a, n):
    m = n * 2 + OFFSET
    rows = a.shape[0] + m
    return a * rows, m


def conditional_expression(a, b):
    return np.where(a > b, a - b, dpnp.sqrt(b)) + abs(-a)


def reversed_scalars(a, b):
    return 1 - a, 2 / (b + 1), 2**a, -a


def element_reads(a, b):
    first = a[0]
    b[1] = 5
    return a * first + b[1]


def made_here(a, b):
    z = np.zeros(a.shape, dtype=a.dtype)
    z[:] = a + b
    return z + np.ones_like(a) + dpnp.arange(a.shape[0])


def library(a, b):
    return np.dot(a * 2, b), np.concatenate((a + 1, b)), np.sort(b - a)


def reductions(a, b):
    return a - np.mean(a), (a * b).sum(), np.max(b)


def casts(a, b):
    return (a + b).astype(np.float32) * 2, (a / 2).astype("int32")


def conditions(a, b):
    total = np.sum(a)
    if total > 3:
        return a * total
    return b * total


def masks(a, b):
    m = a > 2
    c = a * 1
    c[m] = b[m] * 2
    c[a < 2] = 7
    return c, a[m] + 1


def local_functions(a, b):
    def scaled(v):
        return v * OFFSET

    return scaled(a) + 1, [b * k for k in range(3)][2]


def views_changed_in_place(a, b):
    v = a[2:]
    v *= 2
    v += b[2:]
    return a, v


def values_that_nothing_reads(a, b):
    c = a + b
    d = c * 2  # noqa: F841  nothing reads it
    return a[1:]


def complex_and_half(a, b):
    z = a * 1j + b
    h = a.astype(np.float16)
    return z * z, np.abs(z), h * 2 + 1


def rows_of_a_matrix(a, b):
    total = a[:3] * 0
    for row in np.reshape(b, (2, 3)):
        total = total + row * 2
    return total


def handled(a, b):
    try:
        c = a + b
    except ValueError:
        c = a
    finally:
        d = 2
    return c * d if d > 1 else c


FUNCTIONS = [
    masks, local_functions, views_changed_in_place, complex_and_half, rows_of_a_matrix, handled,
    values_that_nothing_reads,
    temporary, two_results, in_place, slices, overlap, conditional_expression, reversed_scalars, element_reads,
    made_here, library, reductions, casts, conditions,
]  # fmt: skip


def arrays(dtype="float32", **options):
    return (dpnp.arange(6, dtype=dtype, **options) + 1, dpnp.asarray([3, 1, 4, 1, 5, 9], dtype=dtype, **options))


def plain(function):
    """The same function with NumPy's functions taken for dpnp's, which dpnp arrays refuse otherwise."""
    scope = {**function.__globals__, "np": Both()}
    return type(function)(function.__code__, scope)


class Both:
    def __getattr__(self, name):
        return getattr(dpnp, name)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_function_gives_what_python_over_dpnp_gives(function, assert_same):
    """Results are dpnp's, and so are arrays changed in place."""
    given, reference = arrays(), arrays()
    assert_same(numba.njit(function)(*given), plain(function)(*reference))
    assert_same(given, reference)


def test_functions_with_scalars_and_shapes(assert_same):
    """Branches, loops on the host, tuples and several shapes."""
    a, b = arrays()
    for function, args in [
        (branch, (a, 3)),
        (branch, (a, 1.5)),
        (host_loop, (a, 3)),
        (tuple_argument, ((a, b), 2)),
        (scalars, (a, 2)),
        (shapes_of_two_kinds, (dpnp.ones((2, 6)), dpnp.reshape(b, (1, 6)))),
    ]:
        assert_same(numba.njit(function)(*args), function(*args))


@pytest.mark.parametrize(("function", "count"), [(temporary, 1), (two_results, 1), (in_place, 1), (casts, 1)])
def test_statements_in_a_row_are_one_kernel(function, count, launches):
    """Temporaries are values in the kernel, not arrays."""
    numba.njit(function)(*arrays())
    assert len(launches) == count


@pytest.mark.sycl
def test_fused_expression_allocates_its_result_and_nothing_else(monkeypatch):
    """The second call, when all is compiled, makes one array."""
    import kapi_numba_offload.libraries.dpnp as usm

    compiled = numba.njit(temporary)
    a, b = arrays()
    compiled(a, b)
    made = []
    original = usm._UsmNdarray
    monkeypatch.setattr(usm, "_UsmNdarray", lambda shape, **rest: made.append(shape) or original(shape, **rest))
    compiled(a, b)
    assert made == [(6,)]


def test_element_read_is_a_number():
    """`a[0]` outside of a loop is Python's number, after all that was done to the array before."""
    a, _ = arrays()
    value = numba.njit(lambda a: (a[0], a[-1]))(a)
    assert value == (1, 6)
    assert [type(each) for each in value] == [float, float]


def test_in_place_result_is_the_argument():
    """`a += b; return a` returns the array that it was given."""
    a, b = arrays()
    assert numba.njit(in_place)(a, b) is a


def test_unsafe_in_place_is_dpnps_error():
    """An int array cannot take floats in place, in dpnp's words."""
    with pytest.raises((TypeError, ValueError), match="cast"):
        numba.njit(in_place)(dpnp.arange(3), dpnp.ones(3))


def test_shapes_that_do_not_fit_are_dpnps_error():
    """Shapes that cannot be broadcast are refused in dpnp's words."""
    with pytest.raises(ValueError, match="broadcast"):
        numba.njit(temporary)(dpnp.ones(3), dpnp.ones(4))


@pytest.mark.sycl
def test_store_to_an_element_at_several_indices_is_dpnps_error():
    """A broadcast view claims to be writable; a kernel's work-items would race for its element."""

    @numba.njit
    def double(a):
        a[:] = a * 2
        return a

    with pytest.raises(ValueError, match="not sufficiently ample"):
        double(dpnp.broadcast_to(dpnp.ones(1), (4,)))


def test_closure_and_nested_njit(assert_same):
    """A closure's number and another njit function, called with arrays and with numbers."""
    factor = 2.5

    @numba.njit
    def inner(x, y):
        return x * y + 1

    @numba.njit
    def outer(a, b):
        return inner(a, factor) + inner(2, 3) * b

    a, b = arrays()
    assert_same(outer(a, b), a * factor + 1 + 7 * b)


def test_lambda_and_source_free_functions(assert_same):
    """A lambda is found on its line; without any source, straight-line bytecode serves."""
    first, second = numba.njit(lambda a, b: a * 2 + b), numba.njit(lambda a, b: a * 2 - b)
    scope = {"np": np}
    exec(
        "def hidden(a, b):\n    c = np.sqrt(a) * 2\n    c += b\n    c[1:] = b[1:] + 1\n    return c, a[::2] - 1", scope
    )
    a, b = arrays()
    assert_same(first(a, b), a * 2 + b)
    assert_same(second(a, b), a * 2 - b)
    c = dpnp.sqrt(a) * 2 + b
    c[1:] = b[1:] + 1
    assert_same(numba.njit(scope["hidden"])(a, b), (c, a[::2] - 1))


def test_keywords_defaults_and_star_arguments(assert_same):
    """Arguments arrive as in Python."""

    @numba.njit
    def f(a, scale=2.0, *more):
        return a * scale + more[0] if len(more) > 0 else a * scale

    a, b = arrays()
    assert_same(f(a), a * 2.0)
    assert_same(f(a, 3), a * 3)
    assert_same(f(a, 3, b), a * 3 + b)
    assert_same(numba.njit(temporary)(b=b, a=a), temporary(a, b))


def test_numpy_and_usm_arrays_each_stay(assert_same):
    """A function may use both, each where it is."""

    @numba.njit
    def separately(a, b):
        c = np.square(a)
        d = dpnp.sum(b)
        return c, d

    host, (b, _) = np.arange(3.0), arrays()
    c, d = separately(host, b)
    assert type(c) is np.ndarray
    assert c.tolist() == [0, 1, 4]
    assert_same(d, dpnp.sum(b))


def test_numpy_and_usm_arrays_in_one_expression_are_refused_when_compiled():
    """The line of `c`, and both names; nothing has run."""

    @numba.njit
    def foo(a, b, d):
        print("never")
        c = a + b
        e = a + d
        return c, e

    with pytest.raises(
        ValueError, match=r"(?s)device array `b` and NumPy array `a`.*test_statements.py:\d+: c = a \+ b"
    ):
        foo(np.ones(3), dpnp.ones(3), np.ones(3))


@pytest.mark.sycl
def test_numpy_function_of_a_usm_array_is_dpnps(assert_same):
    """`np.square(a)` answers as `dpnp.square(a)`."""
    a, _ = arrays(usm_type="shared")
    assert_same(numba.njit(lambda a: np.square(a))(a), dpnp.square(a))


def test_function_decorated_before_registration_and_eager_signature(assert_same):
    """A signature given in advance compiles for offload as well."""
    a, b = arrays()
    eager = numba.njit((numba.typeof(a), numba.typeof(b)))(temporary)
    assert len(eager.signatures) == 1
    assert_same(eager(a, b), temporary(a, b))
    assert len(eager.signatures) == 1


@numba.njit
def made_by_a_helper(n):
    return np.arange(n)


@pytest.mark.sycl
def test_statements_of_several_kinds_of_memory_run_separately(assert_same):
    """Arrays of separate expressions need no common queue; those of one are refused by line."""

    @numba.njit
    def separately(a, c):
        e = a + 1
        g = c * 2
        return e, g

    @numba.njit
    def together(a, n):
        w = made_by_a_helper(n)
        v = np.exp(w * 2)
        return a * 2, v

    @numba.njit
    def mixing(a, c):
        e = a + 1
        g = c * e
        return e, g

    other = kapi_runtime.queue()
    a, c = dpnp.arange(3.0), dpnp.arange(4.0, sycl_queue=other)
    assert_same(separately(a, c), (a + 1, c * 2))
    found, of_helper = together(a, 3)
    assert_same(found, a * 2)
    assert_same(of_helper, dpnp.exp(dpnp.arange(3) * 2))
    with raises(ExecutionPlacementError, "different-queues", words=False):
        mixing(a, dpnp.arange(3.0, sycl_queue=other))


def test_variable_of_the_function_around_is_not_assigned():
    """It would not be: Numba takes what is outside for constants."""
    t = 0

    def f(a):
        nonlocal t
        t = a * 2
        return a

    with raises(KernelCompilationError, "offload-changes-outside"):
        numba.njit(f)(dpnp.ones(3))
    assert t == 0


def steps_of_two_shapes(a, b):
    edge = a[0] * 2
    far = edge + b[0]
    c = a + b
    d = c * edge
    a[1:, 1:] = d[1:, 1:] - 1
    b[1:, 1:] = a[1:, 1:] * 2
    return far, d


def test_neighbours_of_one_shape_are_one_kernel(launches):
    """Three shapes, two statements of each; values go from one kernel to the next."""
    values = np.arange(12.0).reshape(3, 4)
    own, expected = [dpnp.asarray(values), dpnp.asarray(values + 1)], [values.copy(), values + 1]
    found = numba.njit(steps_of_two_shapes)(*own)
    assert len(launches) == 3
    for one, other in zip((*found, *own), (*steps_of_two_shapes(*expected), *expected), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other)


def test_neighbours_of_one_shape_are_one_kernel_in_each_iteration(launches):
    @numba.njit
    def iterations(a, b):
        for _ in range(4):
            a[1:] += 1
            b[1:] *= a[1:]
            a[0] = b[1] * 2

    values = np.arange(12.0).reshape(3, 4)
    own, expected = [dpnp.asarray(values), dpnp.asarray(values + 1)], [values.copy(), values + 1]
    iterations(*own)
    iterations.py_func(*expected)
    assert len(launches) == 8
    for one, other in zip(own, expected, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other)


def fills(a, value):
    before = a + 1
    a.fill(value)
    return before


def fills_in_steps(a, value):
    total = a * 0
    for k in range(3):
        a.fill(value + k)
        total += a
    return total


def fills_rows(a, value):
    for i in numba.prange(a.shape[0]):
        row = a[i]
        row.fill(value)
        row[0] += i
    return a + 0


def fills_a_row(a, value):
    before = a + 1
    a[1].fill(value)
    a[:, 2].fill(value + 1)
    return a + before


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
@pytest.mark.parametrize("function", [fills, fills_in_steps, fills_rows, fills_a_row])
@pytest.mark.parametrize(("dtype", "value"), [("float64", 2), ("int32", 2.0), ("float32", 2.5)])
def test_filled_arrays_are_stored_to_after_what_reads_them(function, dtype, value):
    host = np.arange(40).astype(dtype).reshape(8, 5)
    device = dpnp.asarray(host)
    expected = function(host[::2, 1:], value)
    found = numba.njit(function)(device[::2, 1:], value)
    assert found.dtype == expected.dtype
    assert found.asnumpy().tolist() == expected.tolist()
    assert device.asnumpy().tolist() == host.tolist()
