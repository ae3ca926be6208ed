"""Types that ways give to one variable are told when a function is compiled, whether or not a work-item takes them."""

from __future__ import annotations

import warnings

import pytest
from numba import types

from kapi_sim.errors import MixedTypesWarning
from kapi_spirv import compile_spirv
from kapi_types import ArrayType

NARROW, WIDE = ArrayType(types.int8, 1, "C"), ArrayType(types.int32, 1, "C")


def variable(a, b, n):
    x = a[0]
    if n > 100:
        x = b[0]
    return x * 2


def choice(a, b, n):
    return (a[0] if n > 100 else b[0]) * 2


def word(a, b, n):
    return (a[0] or b[0]) * 2


def result(a, b, n):
    if n > 100:
        return a[0]
    return b[0]


def weak_float(a, b, n):
    x = b[0]
    if n > 100:
        x = 0.5
    return x * 2


def notes(function, *arrays):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_spirv(function, [*arrays, types.int64], device_function=True)
    return [each for each in caught if each.category is MixedTypesWarning]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (variable, "variable `x` is int32 on one way and int8 on another: on a device it is int32"),
        (choice, "what a choice gives is int32 on one way and int8 on another"),
        (word, "what a choice gives is int32 on one way and int8 on another"),
        (result, "what the function returns is int32 on one way and int8 on another"),
        (weak_float, "variable `x` is Python float on one way and int32 on another: on a device it is float64"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_types_that_meet_are_told_with_their_line(function, said):
    (note,) = notes(function, NARROW, WIDE)
    assert str(note.message).startswith(said)
    assert note.filename == __file__
    first = function.__code__.co_firstlineno
    assert first <= note.lineno <= first + 4


def total(a, b, n):
    s = 0
    for k in range(n):
        s += a[k]
        x = b[k]
        s = s + (x if n > 3 else 1)
    x = 0.5
    return s / 2 + x


def test_one_type_is_not_told():
    assert not notes(variable, WIDE, WIDE)
    assert not notes(total, WIDE, WIDE)
