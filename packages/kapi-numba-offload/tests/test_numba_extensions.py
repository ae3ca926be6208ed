"""Numba's extensions: overloads of libraries, explicit signatures, functions without source."""

import warnings

import dpnp
import numba
import numpy as np
import pytest
from numba.extending import overload

from kapi_numba_offload import OffloadFallbackWarning
from kapi_numba_offload._numba_compat import global_compiler_lock
from kapi_numba_offload.run.launching import launches
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises
from kapi_types import UsmArrayType


def doubled(x):
    raise NotImplementedError("Numba has it")


@overload(doubled)
def _doubled(x):
    if isinstance(x, (numba.types.Array, numba.types.Number)):
        return lambda x: x * 2
    return None


def distinguished(x, factor=2):
    raise NotImplementedError("Numba has it")


@overload(distinguished)
def _distinguished(x, factor=2):
    if isinstance(x, UsmArrayType):
        return lambda x, factor=2: x * factor
    return lambda x, factor=2: x - factor


@numba.njit
def of_arrays(a):
    return doubled(a) + 1


@numba.njit
def of_numbers(a):
    return a + doubled(a.size)


@numba.njit
def by_keyword(a):
    return distinguished(a, factor=3)


def test_overloads_of_libraries_are_offloaded():
    a = np.arange(4.0)
    with launches() as seen:
        found = of_arrays(dpnp.asarray(a))
    assert seen
    np.testing.assert_array_equal(found.asnumpy(), of_arrays(a))
    np.testing.assert_array_equal(of_numbers(dpnp.asarray(a)).asnumpy(), of_numbers(a))


@pytest.mark.sycl
def test_overloads_are_asked_with_the_types_of_usm_arrays_first():
    np.testing.assert_array_equal(by_keyword(dpnp.arange(4.0)).asnumpy(), np.arange(4) * 3.0)
    np.testing.assert_array_equal(by_keyword(np.arange(4.0)), np.arange(4) - 3.0)


def test_arguments_that_no_overload_takes_are_refused():
    @numba.njit
    def of_text(a):
        return doubled("text"), a

    with raises(KernelCompilationError, "offload-no-overload"):
        of_text(dpnp.ones(2))


SIGNATURES = {
    "text": "float64[:](float64[:])",
    "list": [numba.float64[::1](numba.float64[::1]), numba.int64[:](numba.int64[:])],
    "tuple": (numba.float64[::1],),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_with_signatures_take_device_arrays(name):
    function = numba.njit(SIGNATURES[name])(lambda a: a * 2 + 1)
    a = np.arange(4.0)
    for _ in range(2):
        with launches() as seen:
            found = function(dpnp.asarray(a))
        assert seen
        np.testing.assert_array_equal(found.asnumpy(), a * 2 + 1)
    np.testing.assert_array_equal(function(a), a * 2 + 1)


def test_signatures_refuse_device_arrays_as_they_refuse_numpy_arrays():
    function = numba.njit(SIGNATURES["text"])(lambda a: a * 2)
    for made in (np.ones, dpnp.ones):
        with pytest.raises(TypeError):
            function(made(3, dtype="int64"))
        with pytest.raises(TypeError):
            function(made((3, 3)))


WITHOUT_SOURCE = """
def loop(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
        a[i] = total
    return total

def parallel(a):
    out = np.zeros_like(a)
    for i in prange(a.shape[0]):
        out[i] = a[i] * 2 if a[i] > 1 else 0
    return out, a

def branch(a):
    if a[0] > 0:
        return a
    return a[1:]
"""


@pytest.mark.sycl
@pytest.mark.parametrize("name", ["loop", "parallel", "branch"])
@pytest.mark.parametrize("kind", ["device", "shared"])
def test_functions_without_source_run_as_numba_takes_them(name, kind, monkeypatch):
    scope = {"np": np, "prange": numba.prange}
    exec(WITHOUT_SOURCE, scope)
    own, expected = dpnp.arange(4.0, usm_type=kind), np.arange(4.0)
    with pytest.warns(OffloadFallbackWarning) as told:
        found = numba.njit(scope[name])(own)
    assert "[no-source]" in str(told[0].message)
    wanted = scope[name](expected)
    np.testing.assert_array_equal(own.asnumpy(), expected)
    for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
        np.testing.assert_allclose(one.asnumpy() if isinstance(one, dpnp.ndarray) else one, other)
    monkeypatch.setenv("KAPI_OFFLOAD_FALLBACK", "0")
    with raises(KernelCompilationError, "offload-falls-back"):
        numba.njit(scope[name])(own)


def test_straight_functions_without_source_are_kernels():
    scope = {}
    exec("def straight(a):\n    b = a * 2\n    return b + 1\n", scope)
    with launches() as seen, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numba.njit(scope["straight"])(dpnp.ones(3))
    assert seen
    assert found.asnumpy().tolist() == [3.0, 3.0, 3.0]


held = []


def looked_up(x):
    return x * 2


@overload(looked_up)
def _overload_looked_up(x):
    held.append(global_compiler_lock.is_locked())
    return lambda x: x * 2


@numba.njit
def looking_up(a):
    return a * looked_up(3.0)


def test_inference_holds_the_lock_of_numba_s_compiler(in_context):
    """Without it, two threads wait for each other: inference holds a lock that a compilation takes second."""
    assert looking_up(dpnp.ones(2)).asnumpy().tolist() == [6, 6]
    assert in_context(looking_up, np.ones(2)).tolist() == [6, 6]
    assert held
    assert all(held)
