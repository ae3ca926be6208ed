"""Report of a fallback: the author's file and line, the call that kernels lack, and the device that runs it."""

import inspect
import io
import linecache

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
from kapi_numba_offload import OffloadFallbackWarning, explain
from kapi_sim.errors import DtypeError
from kapi_sim.testing.reports import raises


def unwrapped_row(a, out):
    for i in prange(a.shape[0]):
        out[i] = np.unwrap(a[i])[0]


def least_of(row):
    return np.nanargmin(row)


def helper_of_a_row(a, out):
    for i in prange(a.shape[0]):
        out[i] = least_of(a[i])


def python_function(a, out):
    for i in prange(a.shape[0]):
        out[i] = sorted(a[i])[0]


def own_method(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i].repeat(2)[0]


def random_number(a, out):
    for i in prange(a.shape[0]):
        out[i] = a[i, 0] + 0 * np.random.poisson(1.0)  # noqa: NPY002  # what kernels lack


def length_of_the_launch(a, out):
    for i in prange(a.shape[0]):
        row = a[i] * 2
        row[0] = 1
        out[i] = row.sum()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (unwrapped_row, "`np.unwrap(a[i])`"),
        (helper_of_a_row, "`np.nanargmin(row)`"),
        (python_function, "`sorted(a[i])`"),
        (own_method, "'repeat'"),
        (random_number, "`np.random.poisson(1.0)`"),
        (length_of_the_launch, "`row = a[i] * 2`"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_reasons_name_the_call(function, words):
    """As the source has it, and the statement."""
    with pytest.warns(OffloadFallbackWarning) as caught:
        numba.njit(function)(dpnp.ones((3, 2000 if function is length_of_the_launch else 4)), dpnp.zeros(3))
    (warning,) = caught
    statement = inspect.getsource(function).splitlines()[2].strip()
    assert words in str(warning.message)
    assert statement in str(warning.message)


def host_function(a):
    b = a * 2
    return np.polyder(b)


def plain_loop(a):
    b = a * 2
    for i in range(1, b.shape[0]):
        b[i] += b[i - 1]
    return b


def list_in_a_loop(a):
    found = [0.0]
    for i in range(1, a.shape[0]):
        found.append(a[i])
    return len(found)


def left_by_an_exception(a):
    s = 0.0
    try:
        for i in range(a.shape[0]):
            s += a[i]
            if s > 1:
                raise ValueError
    except ValueError:
        return s
    return s


def comprehension(a):
    n = a.shape[0]
    return sum([a[i] * 2 for i in range(n)])


def not_in_a_kernel(a):
    n = a.shape[0]
    for i in prange(n):
        a[i] = a[i] + 0 * np.random.poisson(1.0)  # noqa: NPY002  # what kernels lack


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (host_function, 2), (plain_loop, 2), (list_in_a_loop, 2), (left_by_an_exception, 3), (comprehension, 2),
        (not_in_a_kernel, 3),
    ],
)  # fmt: skip
def test_warnings_stand_at_the_authors_line(function, line):
    """Whichever part of the package found that something falls back."""
    with pytest.warns(OffloadFallbackWarning) as caught:
        numba.njit(function)(dpnp.arange(1.0, 5.0))
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (__file__, function.__code__.co_firstlineno + line)
    assert f"{__file__}:{warning.lineno}" in str(warning.message)


def test_warnings_of_vectorized_functions_stand_at_their_definition():
    @numba.vectorize
    def f(x):
        return x + 0 * np.random.poisson(1.0)  # noqa: NPY002  # what kernels lack

    with pytest.warns(OffloadFallbackWarning) as caught:
        assert f(dpnp.arange(3.0)).asnumpy().tolist() == [0, 1, 2]
    assert caught[0].filename == __file__
    assert linecache.getline(__file__, caught[0].lineno).strip() == "@numba.vectorize"


def test_each_warning_is_given_once_by_default(recwarn):
    import warnings

    warnings.simplefilter("default")
    dispatcher = numba.njit(plain_loop)
    for _ in range(3):
        dispatcher(dpnp.arange(4.0))
    assert len([each for each in recwarn if each.category is OffloadFallbackWarning]) == 1


def test_what_python_runs_is_reported():
    """With what Numba says of it."""

    def untyped(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i] + len(dir(a)) * 0
        return s

    with pytest.warns(OffloadFallbackWarning, match="(?s)element by element: Numba cannot compile it.*'dir'"):
        assert numba.njit(untyped)(dpnp.ones(3)) == 3


@numba.njit
def scaled(x, k=2.0):
    return x * k + 1


@numba.njit
def summed(x):
    s = 0.0
    for i in prange(x.shape[0]):
        s += x[i]
    return s


@numba.vectorize
def squared(x):
    return x * x


@numba.njit
def outer(x):
    return summed(scaled(scaled(x), k=0.5)) + summed(squared(x))


def test_reports_name_the_functions_that_a_function_calls():
    x = dpnp.arange(100.0)
    parts = explain(outer, x).parts
    assert {(each.function, each.where) for each in parts} >= {
        ("scaled", "kernel"), ("summed", "kernel"), ("squared", "kernel")
    }  # fmt: skip
    assert sum(each.runs for each in parts if each.function == "scaled") == 2
    text = io.StringIO()
    outer.offload_diagnostics(1, text)
    assert "nothing to offload" not in text.getvalue()
    (report,) = kapi_numba_offload.offload_reports(outer)
    assert {each.function for each in report.called} == {"scaled", "summed", "squared"}
    assert all(each.parts[0].outcome == "offloaded" for each in report.called)
    assert f"line {scaled.py_func.__code__.co_firstlineno + 2} of scaled: kernel" in str(explain(outer, x))


def test_functions_that_the_host_runs_entirely_are_reported():
    @numba.njit
    def f(a):
        found = [0.0]
        for i in range(a.shape[0]):
            found.append(a[i])
        return len(found)

    with pytest.warns(OffloadFallbackWarning):
        found = explain(f, dpnp.ones(4))
    assert [(each.where, each.runs) for each in found.parts] == [("host", 1)]
    (report,) = kapi_numba_offload.offload_reports(f)
    assert [(each.kind, each.outcome) for each in report.parts] == [("function", "host")]
    assert "[sequential-loop]" in report.text()


class OnCuda:
    """The interface of an array on an NVIDIA GPU."""

    __module__ = "gpu_arrays"

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (4096, False), "version": 3}  # noqa: RUF012


class ByDlpack:
    """The interface of an array that has DLPack alone."""

    __module__ = "other_arrays"

    def __dlpack__(self):
        raise AssertionError("nobody has asked for its memory")


@pytest.mark.parametrize("array", [OnCuda(), ByDlpack(), (1.0, OnCuda())], ids=["cuda", "dlpack", "in a tuple"])
@pytest.mark.sycl
def test_arrays_that_are_not_offloaded_are_named(array):
    """With the parameter, and the arrays that are taken."""

    @numba.njit
    def f(n, arrays):
        return arrays[0]

    with raises(DtypeError, "offload-foreign-array") as caught:
        f(1, array)
    for word in ("`arrays`", "dpnp", "NumPy", "kapi_runtime.kernel", f"{__file__}:"):
        assert word in str(caught.value)


def test_other_errors_of_numba_stay_with_numba():
    @numba.njit
    def f(a):
        return a.nothing

    with pytest.raises(numba.TypingError):
        f(np.ones(2))
