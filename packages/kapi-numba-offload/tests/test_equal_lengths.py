"""Operands of different lengths in a `prange` loop are an error where NumPy raises one, and nowhere else."""

import linecache
import types

import dpnp
import numpy as np
import pytest
from numba import prange

import kapi_numba_offload
import kapi_runtime
from kapi_sim.errors import OperandError

RNG = np.random.default_rng(3)
A, B = RNG.random((2, 12, 8))
PAIRS = [(1, 1), (3, 3), (1, 3), (3, 1), (8, 9), *RNG.integers(1, 8, (3, 2)).tolist()]

STATEMENTS = {
    "elementwise": "out[i, 0] = np.sum(a[i, :p] + b[i, :q])",
    "of three": "out[i, 0] = np.sum(np.where(a[i, :p] > 0.5, b[i, :q], b[i, :p]))",
    "from the end": "out[i, 0] = np.sum(a[i, -p:] * b[i, ::-1][:q])",
    "dot": "out[i, 0] = a[i, :p] @ b[i, :q]",
    "store": "out[i, :p] = b[i, :q]",
    "store of an expression": "out[i, :p] = b[i, :q] * 2",
    "update": "out[i, :p] += b[i, :q]",
    "running sum": "out[i, :p] = np.cumsum(b[i, :q])",
    "matrix and vector": "out[i, :3] = a[:3, :p] @ b[i, :q]",
    "vector and matrix": "out[i, :3] = a[i, :p] @ b[:q, :3]",
    "stored product": "out[i, :p] = a[i, :3] @ b[:3, :q]",
    "matrices": "out[i, 0] = np.sum(a[:3, :p] @ b[:q, :3])",
    "mask": "out[i, 0] = np.sum(a[i, :p][b[i, :q] > 0.5])",
    "interpolation": "out[i, 0] = np.interp(0.5, np.cumsum(a[i, :p]), b[i, :q])",
    "several variables": "x, y, z = a[i, :p]; out[i, 0] = x + y * z",
    "sorted": "row = np.sort(a[i, :p]); out[i, 0] = np.sum(row + b[i, :q])",
    "made": "row = np.zeros(p); row[:] = b[i, :q]; out[i, 0] = row.sum()",
    "variable": "m = q - 1; x = a[i, :p]; out[i, 0] = np.sum(x * b[i, : m + 1])",
    "stored by its function": "np.add(a[i, :p], b[i, :p], out[i, :q])",
    "two targets": "out[i, :p] = out[i, 8 : 8 + p] = b[i, :q]",
    "conditional": "out[i, 0] = a[i, :p] @ b[i, :q] if p == q else 1.0",
    "condition": "out[i, 0] = 1.0 if p == q and a[i, :p] @ b[i, :q] > 1 else 2.0",
    "branch": "if p == q: out[i, 0] = a[i, :p] @ b[i, :q]",
    "branch of data": "if a[i, 0] > 2: out[i, 0] = a[i, :p] @ b[i, :q]",
    "inner loop": "for k in range(p - 1): out[i, k] = a[i, :p] @ b[k, :q]",
    "after an exit": "if p > q: continue\n        out[i, 0] = a[i, :p] @ b[i, :q]",
}


def function_of(statement, parameters="a, b, out, p, q"):
    """The function with a loop that has a statement, and the same as Python runs it."""
    source = f"def loop({parameters}):\n    for i in prange(a.shape[0]):\n        {statement}\n"
    name = f"<{statement}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = {"np": np, "prange": prange}
    exec(compile(source, name, "exec"), scope)
    return scope["loop"], types.FunctionType(scope["loop"].__code__, {**scope, "prange": range})


def result(call):
    """The stored elements, or None for a call that raises."""
    out = np.zeros((12, 17))
    try:
        return call(out)
    except ValueError:
        return None
    except IndexError:  # NumPy's, of a mask
        return None


@pytest.mark.parametrize("statement", STATEMENTS)
def test_lengths_differ_as_numpy_says(statement):
    loop, expected_loop = function_of(STATEMENTS[statement])
    offloaded = kapi_numba_offload.offload(fallback=False)(loop)

    def call(out):
        given = dpnp.asarray(out)
        offloaded(dpnp.asarray(A), dpnp.asarray(B), given, p, q)
        return given.asnumpy()

    def expected_call(out):
        expected_loop(A, B, out, p, q)
        return out

    for p, q in PAIRS:
        got, expected = result(call), result(expected_call)
        assert (got is None) == (expected is None), (p, q)
        if expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-12)


EXTREMA = {
    "largest": "out[i, 0] = np.max(a[i, :p])",
    "method": "out[i, 0] = (a[i, :p] * 2 - b[i, :p]).min()",
    "position": "out[i, 0] = np.argmax(a[i, :p]) + np.argmin(b[:p, i % 8])",
    "range": "out[i, 0] = np.ptp(b[i, 8 - p:])",
    "of a matrix": "out[i, 0] = np.max(a[:p, :q]) + np.min(a[:q, :p])",
    "branch": "if p > 0: out[i, 0] = np.max(a[i, :p])",
    "conditional": "out[i, 0] = np.max(a[i, :p]) if p > 0 else -1",
    "no extremum": "out[i, 0] = np.sum(a[i, :p]) + np.prod(a[i, :p]) + np.count_nonzero(a[i, :p])",
}


@pytest.mark.parametrize("statement", EXTREMA)
def test_extrema_of_no_element_are_an_error(statement):
    loop, expected_loop = function_of(EXTREMA[statement])
    offloaded = kapi_numba_offload.offload(fallback=False)(loop)

    def call(out):
        given = dpnp.asarray(out)
        offloaded(dpnp.asarray(A), dpnp.asarray(B), given, p, 3)
        return given.asnumpy()

    def expected_call(out):
        expected_loop(A, B, out, p, 3)
        return out

    for p in (0, 1, 5):
        got, expected = result(call), result(expected_call)
        assert (got is None) == (expected is None), p
        if expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("statement", ["elementwise", "dot", "store", "vector and matrix"])
def test_lengths_of_numpy_arrays_differ_with_shapes_and_numbers(statement, launches):
    loop, expected_loop = function_of(STATEMENTS[statement].replace(":p", ": a.shape[1]"))
    offloaded = kapi_numba_offload.offload(fallback=False)(loop)

    def call(out):
        with kapi_runtime.device_context("cpu"):
            offloaded(a, B, out, 0, q)
        return out

    def expected_call(out):
        expected_loop(a, B, out, 0, q)
        return out

    for columns, q in [(3, 3), (5, 3), (5, 5), (3, 5), (3, 3), (3, 4)]:
        a = A[:, :columns].copy()
        got, expected = result(call), result(expected_call)
        assert (got is None) == (expected is None), (columns, q)
        if expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert launches


def test_lengths_that_iterations_decide_are_compared_with_boundscheck():
    loop, _ = function_of("out[i, 0] = np.sum(a[i, : i % 4 + 1] * b[i, :q])")
    offloaded = kapi_numba_offload.offload(fallback=False, boundscheck=True)(loop)
    a, b, out = dpnp.asarray(A), dpnp.asarray(B), dpnp.zeros((12, 8))
    offloaded(a[:1], b, out, 0, 1)
    assert out.asnumpy()[0, 0] == A[0, 0] * B[0, 0]
    with pytest.raises(OperandError, match="lengths of the operands must be equal, or 1\n  in work-item"):
        offloaded(a, b, out, 0, 3)


def test_error_names_the_line_and_the_loop_runs_again():
    loop, _ = function_of(STATEMENTS["dot"])
    offloaded = kapi_numba_offload.offload(fallback=False)(loop)
    a, b, out = dpnp.asarray(A), dpnp.asarray(B), dpnp.zeros((12, 8))
    with pytest.raises(OperandError) as raised:
        offloaded(a, b, out, 3, 4)
    assert str(raised.value).startswith("lengths of the factors of a product must be equal\n  in work-item global (")
    assert STATEMENTS["dot"] in str(raised.value)
    assert raised.value.code == "operator-operands"
    offloaded(a, b, out, 4, 4)
    np.testing.assert_allclose(out.asnumpy()[:, 0], np.sum(A[:, :4] * B[:, :4], axis=1))
