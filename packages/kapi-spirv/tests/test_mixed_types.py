"""The compiler notes variables to which control-flow paths give numbers of different types, whether taken or not."""

from __future__ import annotations

import math
import warnings

import pytest
from numba import types

from kapi_sim import group_broadcast
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


def notes(function, *arrays, count=types.int64):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_spirv(function, [*arrays, count], device_function=True)
    return [each for each in caught if each.category is MixedTypesWarning]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (variable, "variable `x` is int32 on one path and int8 on another: on a device it is int32"),
        (choice, "what a choice gives is int32 on one path and int8 on another"),
        (word, "what a choice gives is int32 on one path and int8 on another"),
        (result, "what the function returns is int32 on one path and int8 on another"),
        (weak_float, "variable `x` is Python float on one path and int32 on another: on a device it is float64"),
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
        (weak_then_strong, "variable `s`", "int32 on one path and int8"),
        (weak_choice, "what a choice gives", "int32 on one path and int8"),
        (weak_integer_and_float, "variable `s`", "float64 on one path and int8"),
        (weak_in_a_function, "variable `s`", "int32 on one path and int8"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_weak_numbers_that_give_an_operation_another_type_are_reported(function, name, types_):
    (note,) = notes(function, NARROW, WIDE)
    assert str(note.message).startswith(f"an operation with {name} gives {types_}")
    is_float = function is weak_integer_and_float
    assert len(notes(function, WIDE, WIDE)) == is_float
    assert len(notes(function, WIDE, NARROW)) == is_float


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
    s = 2
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
    assert "is a Python number on one path and float32 on another, and is used as float64" in str(note.message)
    assert not notes(function, SINGLE, SINGLE)
    assert not notes(function, DOUBLE, DOUBLE)


def test_python_numbers_that_are_not_rounded_are_not_reported():
    assert not notes(not_rounded, SINGLE, DOUBLE)


def stored(x, b):
    b[0] = x / 3
    return 0


# The lines after `s = 7` on one path and `s = a[0]` on another, and whether a device's number is noted as another one.
USES = {
    "b[0] = s": False,
    "b[0] = s / 7": False,
    "b[0] = s / 2 + s * 3 - s": False,
    "b[0] = math.sqrt(s + 2)": False,
    "b[0] = -s + abs(s)": False,
    "a[0] = s / 3": False,
    "a[0] = s / 3 * a[1]": False,
    "b[0] = 1 if s / 10 < 0.6 else 2": False,
    "b[0] = 1 if s / 10 < a[1] else 2": False,
    "stored(s, a)": False,
    "s = n; s = a[0] if n > 3 else s; b[0] = s": True,
    "s = n; s = a[0] if n > 3 else s; a[0] = s + a[1]": False,
    "s = s if n > 3 else 0.1; b[0] = s": True,
    "s = s if n > 3 else 2 * math.pi; b[0] = s": True,
    "s = s if n > 3 else 0.5 * math.sqrt(16); b[0] = s": False,
    "s = 0.1; s += a[n]; b[0] = s": False,
    "w = 0.5 if n > 3 else 1.0; s = s if n > 5 else w * 2; b[0] = s": False,
    "w = 0.1 if n > 3 else 1.0; s = s if n > 5 else w * 2; b[0] = s": True,
    "s = s if n > 5 else (0.5, 2.0)[n % 2]; b[0] = s": False,
    "s = s if n > 5 else n * 0.5; b[0] = s": True,
}


def with_a_start(lines):
    source = "def function(a, b, n):\n    s = 7\n    if n > 100:\n        s = a[0]\n"
    source += "".join(f"    {line.strip()}\n" for line in lines.split("; ")) + "    return 0\n"
    names = {"math": math, "stored": stored}
    exec(compile(source, "started.py", "exec"), names)
    return names["function"]


@pytest.mark.parametrize("lines", USES)
def test_python_numbers_that_a_device_rounds_for_a_use_are_reported(lines):
    caught = notes(with_a_start(lines), SINGLE, DOUBLE, count=weak_int)
    assert bool(caught) is USES[lines], [str(each.message) for each in caught]
    assert not notes(with_a_start(lines), DOUBLE, DOUBLE, count=weak_int)


@pytest.mark.parametrize("expression", ["s * 10", "s // 2 + s % 3", "s << 4", "s & 3"])
def test_python_integers_of_a_narrow_variable_are_not_reported(expression):
    function = with_a_start(f"b[0] = {expression}")
    assert not notes(function, ArrayType(types.uint8, 1, "C"), ArrayType(types.int64, 1, "C"), count=weak_int)


@pytest.mark.parametrize(
    ("value", "is_reported"),
    [
        ("item.get_global_id(0)", True),
        ("item.get_local_range(0)", True),
        ("group_broadcast(item.get_group(), 3)", False),
        ("3", False),
    ],
)
def test_ids_are_numbers_known_at_run_time_alone(value, is_reported):
    source = f"def kernel(item, a, b):\n    s = a[0]\n    if a[1] > 0:\n        s = {value}\n    b[0] = s\n"
    names = {"group_broadcast": group_broadcast}
    exec(compile(source, "ids.py", "exec"), names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_spirv(names["kernel"], [NdItemType(1), SINGLE, DOUBLE])
    assert bool(caught) is is_reported, [str(each.message) for each in caught]
