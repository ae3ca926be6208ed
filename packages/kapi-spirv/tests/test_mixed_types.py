"""Types that ways give to one variable are told when a function is compiled, whether or not a work-item takes them."""

from __future__ import annotations

import collections
import math
import warnings

import numpy as np
import pytest
from numba import types

from kapi_sim import group_broadcast, plus, reduce_over_group
from kapi_sim.errors import MixedTypesWarning
from kapi_spirv import compile_spirv
from kapi_types import ArrayType, NdItemType
from kapi_types.weak import weak_int

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


def weak_then_strong(a, b, n):
    s = 2
    if n > 100:
        s = b[0]
    return a[0] * s


def weak_choice(a, b, n):
    return -(2 if n > 100 else b[0]) * a[0]


def weak_integer_and_float(a, b, n):
    s = 2
    if n > 100:
        s = 0.5
    return a[0] * s


def weak_in_a_function(a, b, n):
    s = len(a)
    if n > 100:
        s = b[0]
    t = s + 1
    return max(t, a[0])


def weak_counter(a, b, n):
    s = 2
    for k in range(n):
        s += b[k]
    return a[0] * s


def notes(function, *arrays, count=types.int64):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_spirv(function, [*arrays, count], device_function=True)
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
def test_mixed_types_are_reported_with_their_line(function, said):
    (note,) = notes(function, NARROW, WIDE)
    assert str(note.message).startswith(said)
    assert note.filename == __file__
    first = function.__code__.co_firstlineno
    assert first <= note.lineno <= first + 4


@pytest.mark.parametrize(
    ("function", "name", "types_"),
    [
        (weak_then_strong, "variable `s`", "int32 on one way and int8"),
        (weak_choice, "what a choice gives", "int32 on one way and int8"),
        (weak_integer_and_float, "variable `s`", "float64 on one way and int8"),
        (weak_in_a_function, "variable `s`", "int32 on one way and int8"),
        (weak_counter, "variable `s`", "int32 on one way and int8"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_weak_numbers_that_give_an_operation_another_type_are_reported(function, name, types_):
    (note,) = notes(function, NARROW, WIDE)
    assert str(note.message).startswith(f"an operation with {name} gives {types_}")
    is_float = function is weak_integer_and_float
    assert len(notes(function, WIDE, WIDE)) == is_float
    # The length of an array may not fit an int8.
    assert len(notes(function, WIDE, NARROW)) == (is_float or function is weak_in_a_function)


def two_sums(a, b, n):
    s = 0
    t = 0
    for k in range(n):
        s += a[k]
        t += b[k]
    return s * t


def total(a, b, n):
    s = 0
    for k in range(n):
        s += a[k]
        x = b[k]
        s = s + (x if n > 3 else 1)
    x = 0.5
    return s / 2 + x


def nested_sum(a, b, n):
    s = 0
    for k in range(n):
        for m in range(k):
            if b[m] > 3:
                s += b[m]
    return a[0] + s


def test_one_type_is_not_reported():
    assert not notes(nested_sum, NARROW, WIDE)
    assert not notes(variable, WIDE, WIDE)
    assert not notes(total, WIDE, WIDE)
    assert not notes(two_sums, NARROW, WIDE)


SINGLE, DOUBLE = ArrayType(types.float32, 1, "C"), ArrayType(types.float64, 1, "C")


def rounded_for_an_operation(a, b, n):
    x = 0.1
    if n > 100:
        x = a[0]
    return b[0] * x


def rounded_for_a_store(a, b, n):
    x = -0.1 if n > 3 else a[0]
    b[0] = x
    return 0


def rounded_for_a_comparison(a, b, n):
    x = 2 * math.pi
    if n > 100:
        x = a[0]
    return 1 if b[0] < x else 2


def not_rounded(a, b, n):
    x, y, z, k = 0.5, -math.inf, 1e30, 0
    if n > 100:
        x = y = a[0]
        z = a[1]
        k = a[2]
    b[0] = b[1] * x + y + k
    a[0] = z if z < a[0] else a[1] * z
    return 0


@pytest.mark.parametrize("function", [rounded_for_an_operation, rounded_for_a_store, rounded_for_a_comparison])
def test_python_numbers_that_are_rounded_are_reported(function):
    (note,) = notes(function, SINGLE, DOUBLE)
    assert "is a Python number on one way and float32 on another, and is used as float64" in str(note.message)
    assert not notes(function, SINGLE, SINGLE)
    assert not notes(function, DOUBLE, DOUBLE)


def test_python_numbers_that_are_not_rounded_are_not_reported():
    assert not notes(not_rounded, SINGLE, DOUBLE)


def third(x):
    return x / 3


def stored(x, b):
    b[0] = x / 3
    return 0


def one_of(value, is_first):
    if is_first:
        return value
    return 7


def pair_of(value, is_first):
    if is_first:
        return value, 1
    return 7, 1


# What follows `s = 7` on one way and `s = a[0]` on another: lines, and whether Python's 7 gives another number.
COMPUTED = {
    "b[0] = s / 3": True,
    "b[0] = s / 7": False,
    "b[0] = s / 2 + s * 3 - s": False,
    "b[0] = s ** 0.5": True,
    "b[0] = math.sqrt(s)": True,
    "b[0] = math.sqrt(s + 2)": False,
    "b[0] = math.sqrt(s) * b[1]": True,
    "b[0] = max(s, 1) / 3": True,
    "b[0] = -s + abs(s)": False,
    "b[0] = s + 2**24": True,
    "a[0] = s / 3": False,
    "a[0] = s / 3 * a[1]": False,
    "a[0] = s / 3 + n": True,
    "s /= 3; b[0] = s": True,
    "b[0] = 1 if s / 10 < 0.7000000000001 else 2": True,
    "b[0] = 1 if s / 10 < 0.6 else 2": False,
    "b[0] = 1 if s / 10 < b[1] else 2": True,
    "b[0] = 1 if s / 10 < a[1] else 2": False,
    "b[0] = third(s)": True,
    "stored(s, b)": True,
    "stored(s, a)": False,
    "b[0] = one_of(a[1], n > 3) / 3": True,
    "b[0] = pair_of(a[1], n > 3)[0] / 3": True,
    "x, y = pair_of(a[1], n > 3); b[0] = x / 3 + y": True,
    "b[0] = (7, a[1])[n % 2] / 3": True,
    "for x in (7, a[1]): b[0] = x / 3": True,
    "x = s / 3; x = -x; b[0] = x": True,
    "q, r = divmod(s, 0.7); b[0] = r": True,
    "b[0] = pow(s, 0.5)": True,
    "p = Pair(s, 3); b[0] = p.x / p.y": True,
    "b[0] = np.float64(s / 3)": True,
    "b[0] = float(s / 3)": True,
    "n = int(s / 10 * 1e9 + 1); b[0] = n": True,
    "s = n; s = a[0] if n > 3 else s; b[0] = s": True,
    "s = n; s = a[0] if n > 3 else s; a[0] = s + a[1]": False,
    "s = n; s = a[0] if n > 3 else s; a[0] = s * 3": True,
}


def with_a_start(lines):
    source = "def function(a, b, n):\n    s = 7\n    if n > 100:\n        s = a[0]\n"
    source += "".join(f"    {line.strip()}\n" for line in lines.split("; ")) + "    return 0\n"
    Pair = collections.namedtuple("Pair", "x y")
    names = {
        "math": math,
        "np": np,
        "Pair": Pair,
        "third": third,
        "stored": stored,
        "one_of": one_of,
        "pair_of": pair_of,
    }
    exec(compile(source, "started.py", "exec"), names)
    return names["function"]


@pytest.mark.parametrize("lines", COMPUTED)
def test_operations_of_python_numbers_that_a_device_computes_in_a_type_are_reported(lines):
    caught = notes(with_a_start(lines), SINGLE, DOUBLE, count=weak_int)
    assert bool(caught) is COMPUTED[lines], [str(each.message) for each in caught]
    assert not notes(with_a_start(lines), DOUBLE, DOUBLE, count=weak_int)


KERNELS = {
    "b[0] = s * 100": True,
    "b[0] = s * 10": False,
    "b[0] = s - 8": True,
    "b[0] = -s": True,
    "b[0] = ~s": True,
    "b[0] = s // 2 + s % 3": False,
    "b[0] = s << 4": False,
    "b[0] = s << 6": True,
    "b[0] = 5 if s - 8 < 0 else 6": True,
    "s = n; s = a[0] if n > 3 else s; b[0] = s": False,
    "s = n; s = a[0] if n > 3 else s; b[0] = s * 3": True,
    "s = n; s = a[0] if n > 3 else s; b[0] = s & 3": False,
}


@pytest.mark.parametrize("lines", KERNELS)
def test_python_integers_that_a_device_wraps_are_reported(lines):
    caught = notes(with_a_start(lines), ArrayType(types.uint8, 1, "C"), ArrayType(types.int64, 1, "C"), count=weak_int)
    assert bool(caught) is KERNELS[lines], [str(each.message) for each in caught]
    assert not notes(with_a_start(lines), *[ArrayType(types.int64, 1, "C")] * 2, count=weak_int)


OF_THE_LANGUAGE = {
    "item.get_global_id(0)": True,
    "item.get_local_range(0)": True,
    "reduce_over_group(item.get_group(), 3, plus)": True,
    "group_broadcast(item.get_group(), 3)": False,
    "3": False,
}


@pytest.mark.parametrize("value", OF_THE_LANGUAGE)
def test_ids_and_what_groups_compute_are_no_numbers_of_the_source(value):
    source = f"def kernel(item, a, b):\n    s = a[0]\n    if a[1] > 0:\n        s = {value}\n    b[0] = s / 3\n"
    names = {"group_broadcast": group_broadcast, "plus": plus, "reduce_over_group": reduce_over_group}
    exec(compile(source, "given.py", "exec"), names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_spirv(names["kernel"], [NdItemType(1), SINGLE, DOUBLE])
    assert bool(caught) is OF_THE_LANGUAGE[value], [str(each.message) for each in caught]
