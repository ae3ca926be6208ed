"""Functions of the table have NumPy's types or Python's weak ones, and a primitive or the library behind them."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from numba import from_dtype, types

from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.table.intrinsics import rows
from kapi_types import weak_bool, weak_complex, weak_float, weak_int
from kapi_types.kernel_typing.library import complex_functions, number_functions
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem
from kapi_types.kernel_typing.rules.functions import TableFunctionType, table_function

DTYPES = ["?", "i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
MODULES = {"math": math, "cmath": cmath, "numpy": np}
STRONG = {"f2": types.float16, "f4": types.float32, "f8": types.float64}


class Context:
    """Stands for the typing context: notes what would be compiled."""

    has_numba_integers = False

    def __init__(self):
        self.compiled = []

    def type_device_function(self, function, args):
        self.compiled.append((function, args))


def call(row, *args):
    """The signature of a call of a row's function, the library's functions not being compiled."""
    return TableFunctionType(row).get_call_type(Context(), args, {})


def key(row):
    return row.key


@pytest.mark.parametrize("row", rows(family="math"), ids=key)
def test_function_is_known_by_identity(row):
    """By whatever name a kernel has it."""
    assert table_function(attribute_of(MODULES[row.owner], row.name)) is not None
    assert table_function([]) is None


@pytest.mark.parametrize("row", rows("numpy"), ids=key)
def test_numpy_function_has_numpy_type(row):
    """For each dtype that NumPy has a loop for, and none for the others."""
    function = getattr(np, row.name)
    for dtype in DTYPES:
        operands = [np.ones(1, dtype) for _ in row.parameters]
        given = [from_dtype(operand.dtype) for operand in operands]
        try:
            with np.errstate(all="ignore"):
                wanted = function(*operands)
        except TypeError:
            with pytest.raises(KernelTypeProblem, match="does not take these arguments in a kernel"):
                call(row, *given)
            continue
        results = tuple(from_dtype(each.dtype) for each in (wanted if isinstance(wanted, tuple) else (wanted,)))
        assert call(row, *given).return_type == (types.Tuple(results) if len(results) > 1 else results[0]), dtype


@pytest.mark.parametrize("row", rows("math"), ids=key)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "weak"])
def test_math_function_keeps_a_floats_type(row, dtype):
    """A strong float gives that type, a weak one a weak result."""
    kind = STRONG.get(dtype, weak_float)
    args = [weak_int if word == "integer" else kind for _, word, _ in row.parameters]
    wanted = {
        "argument float": kind,
        "bool": weak_bool,
        "weak int": weak_int,
        "argument float, weak int": types.Tuple((kind, weak_int)),
        "argument float, argument float": types.UniTuple(kind, 2),
    }[row.returns]
    assert call(row, *args).return_type == wanted


@pytest.mark.parametrize(
    ("given", "operand", "part"),
    [
        (types.float32, types.complex64, types.float32),
        (types.complex64, types.complex64, types.float32),
        (types.int32, types.complex128, types.float64),
        (types.complex128, types.complex128, types.float64),
        (weak_float, weak_complex, weak_float),
    ],
)
def test_cmath_function_keeps_the_width(given, operand, part):
    """Complex numbers of the argument's floats, computed in that width."""
    by_name = {row.name: row for row in rows("cmath")}
    assert call(by_name["exp"], given).return_type == operand
    assert call(by_name["exp"], given).args == (operand,)
    assert call(by_name["phase"], given).return_type == part
    assert call(by_name["polar"], given).return_type == types.UniTuple(part, 2)
    assert call(by_name["isnan"], given).return_type == weak_bool


def test_library_agrees_with_numpy_as_plain_python():
    """Its functions are Python, and mean outside of a kernel what they mean inside."""
    rng = np.random.default_rng(3)
    for name, function in complex_functions.FUNCTIONS.items():
        if name in ("phase", "polar", "rect"):
            continue
        reference = getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name), None)
        reference = reference or getattr(np, f"arc{name[1:]}")
        operands = 3 if name == "clip" else 2 if name in ("maximum", "minimum", "fmax", "fmin") else 1
        for _ in range(20):
            args = [complex(*rng.standard_normal(2)) * 2 for _ in range(operands)]
            args = [np.complex128(arg) for arg in args]
            np.testing.assert_allclose(function(*args), reference(*args), rtol=1e-13, err_msg=f"{name}{args}")
    for a, b in [(12, 18), (0, 5), (-4, 6), (7, 0)]:
        assert number_functions.gcd(a, b) == math.gcd(a, b)
        assert number_functions.lcm(a, b) == math.lcm(a, b)
    for n in (0, 1, 15, 16, 17, 10**12):
        assert number_functions.isqrt(n) == math.isqrt(n)
    for n, k in [(5, 2), (5, 5), (3, 4), (30, 15)]:
        assert number_functions.comb(n, k) == math.comb(n, k)
        assert number_functions.perm(n, min(k, 6)) == math.perm(n, min(k, 6))


def test_wrong_arguments_are_refused_by_name():
    """With the function's name and what was given."""
    by_key = {row.key: row for row in rows(family="math")}
    with pytest.raises(KernelTypeProblem, match=r"math.sin\(\) does not take .* in a kernel: \(complex64\)"):
        call(by_key["math.sin"], types.complex64)
    with pytest.raises(KernelTypeProblem, match=r"math.hypot\(\) does not take"):
        call(by_key["math.hypot"], types.float32)
    with pytest.raises(KernelTypeProblem, match=r"math.gcd\(\) does not take .*: \(float32, Python int\)"):
        call(by_key["math.gcd"], types.float32, weak_int)
