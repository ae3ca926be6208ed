"""The types of operators are NumPy's own, weak and strong: what running the operator in Python gives."""

from __future__ import annotations

import itertools
import math
import operator
import warnings

import numpy as np
import pytest
from numba import from_dtype, types

from kapi_types import is_weak, weak_bool, weak_float, weak_int
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, INPLACE, UNARY
from kapi_types.kernel_typing.rules.promotion import as_strong, is_number, unify_scalars

STRONG = {
    from_dtype(np.dtype(name)): np.dtype(name).type(1)
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
}
WEAK = {weak_bool: True, weak_int: 1, weak_float: 1.0}
VALUES = {**STRONG, **WEAK}


def numpy_type(function, *operands):
    """The type of the result under NumPy, None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*(VALUES[each] for each in operands))
        except TypeError:
            return None
    weak = {type(value): type_ for type_, value in WEAK.items()}
    return weak.get(type(result)) or from_dtype(np.dtype(type(result)))


def kapis(context, function, *operands):
    """The type of the result in a kernel, None where it is refused."""
    try:
        return context.resolve_function_type(context.resolve_value_type(function), operands, {}).return_type
    except KernelTypeProblem:
        return None


@pytest.mark.parametrize("function", [*BINARY, *COMPARISONS], ids=lambda function: function.__name__)
def test_binary_operator_has_numpy_types(typing_context, function):
    """All pairs of scalar types and Python numbers, against what NumPy returns for the same pair."""
    pairs = list(itertools.product(VALUES, VALUES))
    assert len(pairs) == 225
    wrong = {
        (left, right): (kapis(typing_context, function, left, right), numpy_type(function, left, right))
        for left, right in pairs
        if kapis(typing_context, function, left, right) != numpy_type(function, left, right)
    }
    assert wrong == {}


@pytest.mark.parametrize("function", [*UNARY, abs, operator.not_], ids=lambda function: function.__name__)
def test_unary_operator_has_numpy_types(typing_context, function):
    """All scalar types and Python numbers, against what NumPy returns."""
    wrong = {
        operand: (kapis(typing_context, function, operand), numpy_type(function, operand))
        for operand in VALUES
        if kapis(typing_context, function, operand) != numpy_type(function, operand)
    }
    assert wrong == {}


@pytest.mark.parametrize("in_place", INPLACE, ids=lambda function: function.__name__)
def test_in_place_operator_is_the_operator(typing_context, in_place):
    """Numbers do not change in place: `x += y` is `x = x + y`."""
    for pair in itertools.product(VALUES, VALUES):
        assert kapis(typing_context, in_place, *pair) == kapis(typing_context, INPLACE[in_place], *pair)


@pytest.mark.parametrize("convert", [int, float, bool], ids=lambda convert: convert.__name__)
def test_python_conversions_give_weak_types(typing_context, convert):
    """`int`, `float` and `bool` of anything are Python's."""
    for operand in VALUES:
        assert kapis(typing_context, convert, operand) == numpy_type(convert, operand)


@pytest.mark.parametrize("strong", list(STRONG), ids=str)
def test_numpy_conversions_give_their_own_type(typing_context, strong):
    """`numpy.float32(x)` is float32 whatever `x` is."""
    scalar = type(VALUES[strong])
    for operand in VALUES:
        assert kapis(typing_context, scalar, operand) == strong


def test_round_gives_a_python_int(typing_context):
    """`round(x)` without digits is a weak int, for all numbers and Python's bools; NumPy's bools have no `round`."""
    for operand in VALUES:
        wanted = weak_int if is_number(operand) or operand == weak_bool else None
        assert kapis(typing_context, round, operand) == wanted


def test_comparison_of_integers_keeps_both_types(typing_context):
    """int64 and uint64 share no integer type; they are compared as they are, not as floats."""
    function = typing_context.resolve_value_type(operator.lt)
    signature = typing_context.resolve_function_type(function, (types.int64, types.uint64), {})
    assert signature.args == (types.int64, types.uint64)


def test_comparison_of_int_and_float_is_in_numpy_common_type(typing_context):
    """int32 and float32 are compared as float64, which holds both."""
    function = typing_context.resolve_value_type(operator.lt)
    signature = typing_context.resolve_function_type(function, (types.int32, types.float32), {})
    assert signature.args == (types.float64, types.float64)


def test_operators_convert_weak_operands_to_the_strong_type(typing_context):
    """`f32 * 0.5` computes in float32: no double is made on the way."""
    function = typing_context.resolve_value_type(operator.mul)
    signature = typing_context.resolve_function_type(function, (types.float32, weak_float), {})
    assert signature.args == (types.float32, types.float32)


@pytest.mark.parametrize(
    ("first", "second", "unified"),
    [
        (weak_int, types.float32, types.float32),
        (weak_float, types.float32, types.float32),
        (weak_float, types.float16, types.float16),
        (weak_float, types.int16, types.float64),
        (weak_int, types.uint8, types.uint8),
        (weak_bool, types.int8, types.int8),
        (weak_int, types.boolean, types.int64),
        (weak_bool, types.boolean, types.boolean),
        (weak_int, weak_float, weak_float),
        (weak_bool, weak_int, weak_int),
        (types.int32, types.float32, types.float64),
        (types.int64, types.uint64, types.float64),
        (types.int8, types.uint8, types.int16),
    ],
    ids=str,
)
def test_unify_scalars_takes_the_strong_type(first, second, unified):
    """A weak start takes the strong type, in either order; two strong types unify as NumPy promotes."""
    assert unify_scalars(first, second) == unified
    assert unify_scalars(second, first) == unified


def test_as_strong_is_what_a_weak_value_is_without_a_strong_one():
    """NumPy's default int, float and bool."""
    assert [as_strong(each) for each in (weak_int, weak_float, weak_bool, types.int8)] == [
        types.int64,
        types.float64,
        types.boolean,
        types.int8,
    ]


@pytest.mark.parametrize("function", [min, max], ids=["min", "max"])
def test_extremum_has_the_type_that_holds_every_argument(typing_context, function):
    """One of the arguments is the result, so all are converted first."""
    assert kapis(typing_context, function, types.float32, weak_int) == types.float32
    assert kapis(typing_context, function, types.int32, types.int64, weak_int) == types.int64
    assert kapis(typing_context, function, weak_int, weak_float) == weak_float
    assert kapis(typing_context, function, types.float32) is None


@pytest.mark.parametrize("operand", VALUES, ids=str)
def test_math_function_keeps_a_strong_float(typing_context, operand):
    """Strong floats keep their type, Python numbers stay weak, strong integers give float64."""
    if isinstance(operand, types.Float):
        wanted = operand
    else:
        wanted = weak_float if is_weak(operand) else types.float64
    assert kapis(typing_context, math.sqrt, operand) == wanted
    assert kapis(typing_context, math.floor, operand) == weak_int
    assert kapis(typing_context, math.isnan, operand) == weak_bool


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ((types.float32, types.float32), types.float32),
        ((types.float32, weak_float), types.float32),
        ((weak_int, types.float32), types.float32),
        ((types.float32, types.float64), types.float64),
        ((types.float32, types.int32), types.float64),
        ((types.int32, types.int32), types.float64),
        ((weak_int, weak_float), weak_float),
    ],
    ids=str,
)
def test_math_function_of_two_promotes_as_numpy(typing_context, operands, result):
    """`math.atan2` follows `numpy.arctan2`."""
    assert kapis(typing_context, math.atan2, *operands) == result


def test_operators_refuse_what_is_no_number(typing_context):
    """The message shows the operator and both operands as they were written."""
    function = typing_context.resolve_value_type(operator.lshift)
    with pytest.raises(
        KernelTypeProblem,
        match="operator << does not have these operands: float32 << Python int",
    ):
        typing_context.resolve_function_type(function, (types.float32, weak_int), {})
