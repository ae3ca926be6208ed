"""Functions that declare `numba_integers` have Numba's types for integers; all others have NumPy's."""

import itertools
import operator

import numpy as np
import pytest
from numba import njit, types

from kapi_types import ArrayType, weak_int
from kapi_types.kernel_typing import numba_integers, numba_loop, return_type

INTEGERS = (
    types.boolean, types.int8, types.uint8, types.int16, types.uint16, types.int32, types.uint32, types.int64,
    types.uint64,
)  # fmt: skip
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow, operator.and_,
    operator.or_, operator.xor, operator.lshift, operator.rshift,
)  # fmt: skip


def numba_type(function, *operands):
    """Numba's inferred type of a call; a Python integer is an int64 to it."""
    given = tuple(types.int64 if each == weak_int else each for each in operands)
    context = njit(lambda: None).typingctx
    context.refresh()
    return context.resolve_function_type(function, given, {}).return_type


def ours(function, *operands):
    loop = numba_loop(function, operands)
    return loop.result if loop is not None else None


@pytest.mark.parametrize("function", OPERATORS, ids=lambda each: each.__name__)
def test_operators_have_numba_results(function):
    for one, other in itertools.product((*INTEGERS, weak_int), repeat=2):
        if one == other == weak_int or (function is operator.pow and one == types.boolean):
            continue  # Python's own; and Numba raises True to a power in float32
        expected = numba_type(function, one, other)
        found = ours(function, one, other)
        assert found == (None if expected == types.boolean else expected), f"{one} and {other}"


@pytest.mark.parametrize("function", [operator.neg, operator.pos], ids=lambda each: each.__name__)
def test_bools_with_a_sign_are_int64(function):
    assert ours(function, types.boolean) == numba_type(function, types.boolean)


def array(dtype):
    return ArrayType(dtype, 1, "C")


def total(a):
    numba_integers  # noqa: B018  # the declaration
    s = 0
    for i in range(len(a)):
        s += a[i]
    return s


def larger(a):
    numba_integers  # noqa: B018  # the declaration
    m = -5
    for i in range(len(a)):
        m = max(m, a[i])
    return m


def kept(a):
    numba_integers  # noqa: B018  # the declaration
    m = -5
    if a[0] > 0:
        m = a[0]
    return m


def of_a_helper(a):
    numba_integers  # noqa: B018  # the declaration
    return product(a[0], a[1])


def product(x, y):
    return x * y


@pytest.mark.parametrize("dtype", INTEGERS[1:], ids=str)
@pytest.mark.parametrize("function", [total, larger, kept, of_a_helper], ids=lambda each: each.__name__)
def test_variables_have_numba_types(function, dtype):
    """A variable that starts with one of Python's integers, and functions that are called."""
    unsigned = dtype == types.uint64 or (function is of_a_helper and not dtype.signed)
    one = {total: types.int64, of_a_helper: types.uint64}.get(function, types.float64) if unsigned else types.int64
    assert return_type(function, [array(dtype)]) == one


def of_numpy_functions(a):
    numba_integers  # noqa: B018  # the declaration
    return np.add(a[0], a[1]), np.add(a[0], 1), np.minimum(a[0], 1000), np.where(a[0] > 0, a[0], 0)


def test_numpy_functions_keep_numpy_types():
    """A Python integer is one of 64 bits there."""
    found = return_type(of_numpy_functions, [array(types.uint8)])
    assert list(found) == [types.uint8, types.int64, types.int64, types.int64]


def with_floats(a, x):
    numba_integers  # noqa: B018  # the declaration
    s = 0
    for i in range(len(a)):
        s += x[i]
    return s, a[0] * x[0], x[0] * 2


def test_floats_keep_numpy_types():
    found = return_type(with_floats, [array(types.int16), array(types.float32)])
    assert list(found) == [types.float32] * 3


def late_sign(a, b):
    numba_integers  # noqa: B018  # the declaration
    s = a[0]
    for i in range(len(b)):
        s += b[i]
    t = a[0] * s
    return t & a[0]


def test_types_that_narrow_on_a_path_are_found():
    """The product is one of unsigned integers until the sum is known to be signed."""
    assert return_type(late_sign, [array(types.uint8), array(types.int64)]) == types.int64


def test_other_functions_keep_numpy_types():
    """Also after one that declares Numba's."""
    assert return_type(of_a_helper, [array(types.int8)]) == types.int64
    assert return_type(product, [types.int8, types.int8]) == types.int8
