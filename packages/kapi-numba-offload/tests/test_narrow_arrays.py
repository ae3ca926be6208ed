"""Arrays of narrow or unsigned integers wrap after each operation wherever a statement runs, as NumPy's do."""

from __future__ import annotations

import linecache
import warnings

import dpnp
import numba
import numpy as np
import pytest
from numba import prange

EXPRESSIONS = (
    "(A + 100) // 2", "np.where((A + 120) > 130, 1, 2)", "(A - 20) // 3", "np.where(A - 3 > 2, A, B)",
    "np.maximum(A * 50, 3)", "(A + B * 40) // 3", "-A // 2 + ~A", "(A - B - 9) > 3", "(A << 6) >> 2",
)  # fmt: skip
STATEMENTS = {
    "small loop": "for k in range(3):\n        b[:] = {}\n    return b",
    "named": "for k in range(3):\n        t = {}\n        b[:] = t\n    return b",
    "left by return": "for k in range(5):\n        if k == 2:\n            return {}\n        b += 1\n    return b",
    "left by break": "for k in range(5):\n        if k == 2:\n            break\n        b[:] = {}\n    return b",
    "rows": "for i in range(a.shape[0]):\n        b[i] = {}\n    return b",
    "parallel rows": "for i in prange(a.shape[0]):\n        b[i] = {}\n    return b",
    "expression": "b[:] = {}\n    return b",
}


def written(statement, expression):
    """The function that has a statement."""
    index = "[i]" if "rows" in statement else ""
    text = expression.replace("A", f"a{index}").replace("B", f"b{index}")
    return defined(f"<narrow {statement} {expression}>", f"def f(a, b):\n    {STATEMENTS[statement].format(text)}\n")


def defined(name, source):
    """The function `f` of a source."""
    namespace = {"np": np, "prange": prange}
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_integers_wrap_as_those_of_numpy(statement, expression, dtype):
    """Numba has 64 bits within an expression, and no sign of `uint64` beside an int."""
    a = np.arange(1, 13).reshape(4, 3).astype(dtype)
    b = np.ascontiguousarray(a[::-1])
    function = written(statement, expression)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(a.copy(), b.copy())
        except (OverflowError, TypeError):  # a number that the dtype does not hold
            return
        found = numba.njit(function)(dpnp.asarray(a), dpnp.asarray(b)).asnumpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


MADE = {
    "filled": "x = np.zeros(4, np.bool_)\n        for k in range(4):\n            x[k] = a[i, k] > 0",
    "copied": "x = np.copy(a[i] > 0)",
}
OF_TRUTH = ("x + x", "x[1:] + x[:3]", "x * x + x", "np.copy(x) + x", "np.sort(x) + x", "(x & x) + x")


@pytest.mark.parametrize("expression", OF_TRUTH)
@pytest.mark.parametrize("made", MADE)
def test_truth_values_that_an_iteration_makes_stay_truth_values(made, expression, launches):
    """Sums of NumPy's truth values are truth values."""
    body = f"{MADE[made]}\n        out[i] = ({expression}).sum()"
    function = defined(
        f"<truth {made} {expression}>", f"def f(a, out):\n    for i in prange(a.shape[0]):\n        {body}\n"
    )
    a = np.random.default_rng(5).integers(-3, 4, (9, 4))
    found = dpnp.zeros(9, dtype=np.int64)
    numba.njit(function)(dpnp.asarray(a), found)
    expected = [eval(expression, {"np": np, "x": row > 0}).sum() for row in a]
    np.testing.assert_array_equal(found.asnumpy(), expected)
    assert len(launches) == 1
