"""Options of `numba.njit`, and checks that its functions ask for, where they are offloaded.

Numba compiles functions of this module, which it cannot do with what pytest makes of `assert`: PYTEST_DONT_REWRITE.
"""

import os
import subprocess
import sys
import textwrap

import dpnp
import numba
import numpy as np
import pytest
from numba import prange
from numba.experimental import jitclass

from kapi_numba_offload import offload
from kapi_numba_offload._numba_compat import config
from kapi_sim.errors import KernelAssertionError, KernelCompilationError
from kapi_sim.testing.reports import raises

pytestmark = pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")


def store_past_the_end(a):
    for i in prange(a.size):
        a[i + 2] = i


def reduce_past_the_end(a):
    s = 0.0
    for i in prange(a.size):
        s += a[i - 2 * a.size]
    return s


def host_loop_past_the_end(a):
    for i in range(a.size):
        a[i + 2] = a[i]


def inner_row_past_the_end(a):
    for i in prange(2):
        a[i, 3] = 1


LOOPS = [store_past_the_end, reduce_past_the_end, host_loop_past_the_end]


@pytest.mark.parametrize("options", [{"boundscheck": True}, {"debug": True, "parallel": True}])
@pytest.mark.parametrize("function", LOOPS)
def test_indices_are_checked_where_numba_is_asked_to(function, options):
    """An index past the end raises, in kernels with and without reductions, and on the host."""
    with pytest.raises(IndexError):
        numba.njit(**options)(function)(dpnp.zeros(4))
    with pytest.raises(IndexError):
        numba.njit(**options)(inner_row_past_the_end)(dpnp.zeros((2, 3)))


def test_indices_are_checked_where_the_environment_says(monkeypatch):
    """NUMBA_BOUNDSCHECK counts for offloaded loops as well."""
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    for function in LOOPS:
        with pytest.raises(IndexError):
            numba.njit(function)(dpnp.zeros(4))


def test_checked_loop_gives_what_an_unchecked_one_gives():
    """Negative indices count from the end, checked or not."""

    def f(a, b):
        s = 0
        for i in prange(a.size):
            b[i] = a[-1 - i] + a[i - a.size]
            s += i
        return s

    a, b = dpnp.arange(5.0), dpnp.zeros(5)
    assert numba.njit(boundscheck=True)(f)(a, b) == 10
    assert b.asnumpy().tolist() == [4, 4, 4, 4, 4]


@numba.njit
def checked(x):
    assert x >= 0, "negative"
    return x * 2


def assert_in_loop(a):
    for i in prange(a.size):
        assert a[i] >= 0, "negative"
        a[i] = 1


def assert_in_reduction(a):
    s = 0.0
    for i in prange(a.size):
        assert a[i] >= 0
        s += a[i]
    return s


def assert_in_function(a):
    for i in prange(a.size):
        a[i] = checked(a[i])


def raise_in_loop(a):
    for i in prange(a.size):
        if a[i] < 0:
            raise ValueError("negative")
        a[i] = 1


@pytest.mark.parametrize("function", [assert_in_loop, assert_in_reduction, assert_in_function, raise_in_loop])
def test_checks_of_the_author_are_made(function):
    """`assert` and `raise` in a parallel loop and in functions that it calls; none is met where all holds."""
    numba.njit(function)(dpnp.ones(4))
    error = ValueError if function is raise_in_loop else AssertionError
    with pytest.raises(error):
        numba.njit(function)(dpnp.asarray([1.0, 2.0, -1.0]))


def test_assert_names_its_line_and_text():
    """The error is the kernel language's own, with the text and the work-item."""
    with raises(KernelAssertionError, "assert-failed"):
        numba.njit(assert_in_loop)(dpnp.asarray([1.0, -2.0]))


@pytest.mark.sycl
def test_asserts_are_left_out_where_python_leaves_them_out(tmp_path):
    """Under ``python -O`` there are none, in kernels as in Python."""
    script = tmp_path / "asserts.py"
    script.write_text(
        textwrap.dedent("""
        import kapi_numba_offload, dpnp, numba

        @numba.njit
        def f(a):
            for i in numba.prange(a.size):
                assert a[i] >= 0
                a[i] = 1
            assert a.size > 90
            return a

        print(f(dpnp.asarray([1.0, -1.0])))
        """)
    )
    run = [sys.executable, "-O", str(script)]
    done = subprocess.run(run, capture_output=True, text=True, check=True, env={**os.environ, "KAPI_CACHE": "0"})
    assert done.stdout.split() == ["[1.", "1.]"]


def test_types_for_variables_are_refused():
    """`locals` would change numbers, and nothing of it is known where types are NumPy's."""
    f = offload(fallback=False, locals={"b": numba.float32})(lambda a: a * 2)
    with raises(KernelCompilationError, "offload-locals"):
        f(dpnp.ones(3))


def test_jitclasses_take_no_usm_arrays():
    """Their constructors and methods; a function that is given both has both."""

    @jitclass([("x", numba.float64)])
    class Factor:
        def __init__(self, x):
            self.x = x

        def times(self, a):
            return a * self.x

    factor = Factor(2.0)
    with raises(KernelCompilationError, "offload-jitclass"):
        factor.times(dpnp.ones(3))
    with raises(KernelCompilationError, "offload-jitclass"):
        Factor(dpnp.ones(3))
    assert numba.njit(lambda f, a: a * f.x)(factor, dpnp.ones(3)).asnumpy().tolist() == [2.0] * 3


def test_fastmath_is_passed_on(launches):
    """All of it, or the flags that were asked for; only those."""
    for given, flags in ((True, 7), ({"contract", "nsz"}, 2), (False, 0)):

        def f(a, b):
            for i in prange(a.size):
                b[i] = a[i] * 3 + 1
            return a * b + 1

        numba.njit(fastmath=given)(f)(dpnp.ones(3), dpnp.ones(3))
        assert [len(kernel.options.fastmath) for kernel, _, _ in launches[-2:]] == [flags, flags]


@pytest.mark.parametrize(
    "options",
    [{"nogil": True}, {"inline": "always"}, {"looplift": False}, {"no_rewrites": True}, {"error_model": "numpy"},
     {"cache": False, "parallel": True}, {"forceobj": True, "looplift": True}],
)  # fmt: skip
def test_other_options_change_nothing(options):
    """Options for native code have no bearing on kernels."""

    def f(a):
        for i in prange(a.size):
            a[i] = 1 / a[i]
        return np.sqrt(a) + 1

    options = dict(options)
    made = numba.jit(**options)(f) if options.get("forceobj") else numba.njit(**options)(f)
    assert made(dpnp.asarray([1.0, 4.0, 0.0])).asnumpy().tolist() == [2, 1.5, np.inf]


def test_error_model_counts_in_loops_on_the_host():
    """Numba raises at a division by zero unless it is told to do as NumPy does."""

    def f(a):
        for i in range(1, a.size):
            a[i] = a[i - 1] / a[i]
        return a

    with pytest.raises(ZeroDivisionError):
        numba.njit(f)(dpnp.asarray([1.0, 0.0]))
    assert numba.njit(error_model="numpy")(f)(dpnp.asarray([1.0, 0.0])).asnumpy().tolist() == [1, np.inf]


@pytest.mark.parametrize("signature", ["float64[:](float64[:])", ["float64[:](float64[:])"], (numba.float64[:],)])
def test_signatures_stand_where_numba_has_them(signature):
    @offload(signature)
    def doubled(a):
        return a * 2

    assert doubled.nopython_signatures
    assert doubled(np.arange(3.0)).tolist() == [0, 2, 4]
    assert doubled(dpnp.arange(3.0)).asnumpy().tolist() == [0, 2, 4]


def test_offload_replaces_njit(monkeypatch):
    monkeypatch.setattr(numba, "njit", offload)

    @numba.njit
    def doubled(a):
        return a * 2

    assert doubled(dpnp.arange(3.0)).asnumpy().tolist() == [0, 2, 4]


def test_each_decoration_keeps_its_options(recwarn):
    def running(a):
        for i in range(1, a.size):
            a[i] += a[i - 1]

    strict, lenient = offload(fallback=False)(running), offload(running)
    lenient(a := dpnp.ones(3))
    assert a.asnumpy().tolist() == [1, 2, 3]
    with raises(KernelCompilationError, "offload-falls-back"):
        strict(dpnp.ones(3))
