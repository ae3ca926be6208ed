"""Each elementwise operation, alone, against dpnp's own function of that name."""

import warnings
from functools import partial

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.analysis.operations import ELEMENTWISE

VALUES = [-3, -1, 0, 1, 2, 7]
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float32", "float64"]
# Where dpnp and the language differ on purpose: division and remainder by zero, negative exponents of integers.
DOMAIN = {
    "floor_divide": [1, 2, 3, 4, 5, 6],
    "remainder": [1, 2, 3, 4, 5, 6],
    "fmod": [1, 2, 3, 4, 5, 6],
    "power": [0, 1, 2, 3, 1, 2],
    "reciprocal": [-3, -1, 1, 2, 7, 1],  # of 0 in integers, NumPy's and CuPy's differ
    "left_shift": [0, 1, 2, 3, 1, 2],
    "right_shift": [0, 1, 2, 3, 1, 2],
    "arccosh": [1, 2, 3, 4, 5, 6],
    "arctanh": [0, 0, 0, 0, 0, 0],
    "arcsin": [-1, 0, 1, 0, 1, -1],
    "arccos": [-1, 0, 1, 0, 1, -1],
}


def operands(name, dtype):
    left = dpnp.asarray(np.array(VALUES).astype(dtype))
    right = dpnp.asarray(np.array(DOMAIN.get(name, VALUES[::-1])).astype(dtype))
    arity = ELEMENTWISE[name].arity
    return (left > 0, left, right) if arity == 3 else (left, right) if arity == 2 else (right,)


def function_of(names):
    """A function that returns each operation of operands of its own."""
    parameters, results = [], []
    for name in names:
        own = [f"{name}_{letter}" for letter in "abc"[: ELEMENTWISE[name].arity]]
        parameters += own
        results.append(f"np.{name}({', '.join(own)})")
    scope = {"np": np}
    exec(f"def f({', '.join(parameters)}):\n    return {', '.join(results)}", scope)
    return numba.njit(scope["f"])


NIGHTLY = ["bool", "int8", "uint8", "int64", "float64"]


@pytest.mark.parametrize(
    "dtype", ["int32", "float32", *(pytest.param(each, marks=pytest.mark.nightly) for each in NIGHTLY)]
)
def test_operations_are_dpnps(dtype, assert_same, launches):
    """Dtypes and values of all of them, in one kernel; what dpnp refuses is refused."""
    expected = {}
    for name in filter(partial(hasattr, dpnp), ELEMENTWISE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                expected[name] = getattr(dpnp, name)(*operands(name, dtype))
                if name == "nextafter":  # CuPy's leaves out subnormal numbers
                    expected[name] = dpnp.asarray(np.nextafter(*map(dpnp.asnumpy, operands(name, dtype))))
            except (TypeError, ValueError) as error:
                with pytest.raises(type(error)):
                    function_of([name])(*operands(name, dtype))
    names = [name for name, result in expected.items() if result.dtype != np.float16]
    launches.clear()
    results = function_of(names)(*(each for name in names for each in operands(name, dtype)))
    assert len(launches) == 1
    for name, result in zip(names, results, strict=True):
        assert_same(result, expected[name], rtol=2e-6)


def test_operations_promote_as_dpnp_does(assert_same):
    """Operands of two dtypes, and Python's numbers, which take the array's."""
    names = ["add", "divide", "power", "maximum", "where", "arctan2", "less", "floor_divide"]
    pairs = [("int32", "float32"), ("int64", "uint8"), ("float32", "float64"), ("float32", 2)]
    for left, right in pairs:
        a = dpnp.asarray([1, 2, 3], dtype=left)
        b = right if isinstance(right, int) else dpnp.asarray([1, 1, 1], dtype=right)
        args = [(a > 1, a, b) if name == "where" else (a, b) for name in names]
        results = function_of(names)(*(each for own in args for each in own))
        for name, own, result in zip(names, args, results, strict=True):
            assert_same(result, getattr(dpnp, name)(*own))
