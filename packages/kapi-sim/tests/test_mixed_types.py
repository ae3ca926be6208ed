"""The simulator notes variables and choices to which control-flow paths give numbers of different types."""

from __future__ import annotations

import linecache
import math
import warnings

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


def notes(kernel, *arrays):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kapi.call_kernel(kernel, kapi.Range(8), *arrays)
    return [each.message for each in caught]


@kapi.kernel
def integers(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.int8(100)
    if i > 3:
        x = np.int32(100)
    target[i] = x + np.int8(100)


@kapi.kernel
def total(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.float32(0)
    for k in range(3):
        x += source[k]
    target[i] = x


@kapi.kernel
def weak_float(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = np.int32(7)
    if i > 3:
        x = source[i] if i > 5 else 0.5
    target[i] = x // 2


@kapi.kernel
def choice(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = (np.int8(100) if i % 2 else np.int32(100)) * np.int8(3)


@kapi.kernel
def word(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = (np.int8(i % 2) or np.int32(100)) * np.int8(3)


@kapi.kernel
def member(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = (np.int8(100), np.int32(100))[i % 2] * np.int8(3)


@kapi.kernel
def members(item: kapi.Item, source, target):
    for value in (np.int8(100), np.int32(100)):
        target[item.get_id(0)] += value * np.int8(3)


def early(one, other, is_first):
    if is_first:
        return one, 0
    return other, 1


@kapi.kernel
def returned(item: kapi.Item, source, target):
    i = item.get_id(0)
    value, _ = early(np.int8(100), np.int32(100), i % 2 == 0)
    target[i] = value * np.int8(3)


def changed(one, other, is_first):
    if not is_first:
        one = other
    return one * np.int8(3)


@kapi.kernel
def parameter(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = changed(np.int8(100), np.int32(100), i % 2 == 0)


JOINS = [
    (choice, "what `if` and `else` give"),
    (word, "what `or` gives"),
    (member, "the member of the tuple"),
    (members, "variable `value`"),
    (returned, "what the function returns"),
    (parameter, "variable `one`"),
]


@pytest.mark.parametrize(("kernel", "name"), JOINS, ids=lambda each: getattr(each, "name", ""))
def test_joins_of_mixed_types_are_reported(kernel, name):
    (note,) = notes(kernel, np.ones(8), np.zeros(8))
    assert str(note).startswith(f"{name} is int32 on one path and int8 on another")


START = 1


def test_integers_from_outside_are_looked_at_anew_when_they_change(monkeypatch):
    @kapi.kernel
    def begun(item: kapi.Item, source, target):
        i = item.get_id(0)
        x = START
        if i > 3:
            x = 2
        target[i] = source[i] * x

    source = np.ones(8, np.int8)
    assert not notes(begun, source, np.zeros(8))
    monkeypatch.setitem(globals(), "START", np.int32(1))
    (note,) = notes(begun, source, np.zeros(8))
    assert str(note).startswith("an operation with variable `x` gives int32 on one path and int8 on another")


@kapi.kernel
def weak_then_strong(item: kapi.Item, source, other, target):
    i = item.get_id(0)
    s = 2
    if i > 3:
        s = source[i]
    target[i] = other[i] * s


@kapi.kernel
def weak_choice(item: kapi.Item, source, other, target):
    i = item.get_id(0)
    target[i] = -(2 if i > 3 else source[i]) * other[i]


def weak_or_strong(one, is_first):
    if is_first:
        return one
    return 2


@kapi.kernel
def weak_result(item: kapi.Item, source, other, target):
    i = item.get_id(0)
    target[i] = weak_or_strong(source[i], i > 3) * other[i]


@kapi.kernel
def weak_integer_and_float(item: kapi.Item, source, other, target):
    i = item.get_id(0)
    s = 2
    if i > 3:
        s = 0.5
    target[i] = s * other[i]


WEAK = [
    (weak_then_strong, "variable `s`", "int32 on one path and int8"),
    (weak_choice, "what `if` and `else` give", "int32 on one path and int8"),
    (weak_result, "what the function returns", "int32 on one path and int8"),
    (weak_integer_and_float, "variable `s`", "float64 on one path and int8"),
]


@pytest.mark.parametrize(("kernel", "name", "types"), WEAK, ids=lambda each: getattr(each, "name", ""))
def test_weak_numbers_that_give_an_operation_another_type_are_reported(kernel, name, types):
    narrow, wide = np.ones(8, np.int8), np.ones(8, np.int32)
    (note,) = notes(kernel, wide, narrow, np.zeros(8))
    assert str(note).startswith(f"an operation with {name} gives {types} on another")
    assert "test_mixed_types.py:" in str(note)
    is_float = kernel is weak_integer_and_float
    assert len(notes(kernel, wide, wide, np.zeros(8))) == is_float
    assert len(notes(kernel, narrow, wide, np.zeros(8))) == is_float


def doubled(value, is_twice):
    if is_twice:
        value = value * 2
    return value if is_twice else value + 1


@kapi.kernel
def both_types(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = doubled(np.int8(3), i % 2 == 0) + doubled(np.float32(3), i % 2 == 0) + doubled(source[i], i > 2)


@kapi.kernel
def truths(item: kapi.Item, source, target):
    i = item.get_id(0)
    if (source[i] and np.int8(i)) or not (i and np.float32(i)):
        target[i] = 1.0 if i and source[i] else 0


def test_functions_of_several_types_and_truths_are_not_reported():
    assert not notes(both_types, np.ones(8), np.zeros(8))
    assert not notes(truths, np.ones(8), np.zeros(8))


@pytest.mark.parametrize("late", [0, 7])
def test_weak_integers_that_another_path_does_not_hold_are_refused(late):
    @kapi.kernel
    def counted(item: kapi.Item, source, target):
        i = item.get_id(0)
        count = 0
        for _ in range(300):
            count += 1
        if i == late:
            count = source[i]
        target[i] = count

    with raises(kapi.DtypeError, "number-unfit"):
        kapi.call_kernel(counted, kapi.Range(8), np.ones(8, np.int8), np.zeros(8))
    kapi.call_kernel(counted, kapi.Range(8), np.ones(8, np.int16), np.zeros(8))


@pytest.mark.parametrize(
    ("kernel", "types"),
    [(integers, "int32 on one path and int8"), (total, "float32 on one path and float64"), (weak_float, "float")],
)
def test_mixed_types_are_reported_once(kernel, types):
    (note,) = notes(kernel, np.ones(8), np.zeros(8))
    assert isinstance(note, kapi.MixedTypesWarning)
    assert f"variable `x` is {types}" in str(note)
    assert "test_mixed_types.py:" in str(note)


def test_one_type_is_not_reported():
    assert not notes(total, np.ones(8, np.float32), np.zeros(8))

    @kapi.kernel
    def again(item: kapi.Item, source, target):
        i = item.get_id(0)
        for k in range(3):
            x = np.float32(source[k])
            target[i] = x
        for k in range(3):
            x = source[k]
            target[i] += x
        x = 0.0
        for value in (np.float32(1), np.float32(2), 3):
            x = value * 2
            target[i] += x

    assert not notes(again, np.ones(8), np.zeros(8))


def test_accumulators_that_start_from_a_literal_are_not_reported():
    @kapi.kernel
    def summed(item: kapi.Item, source, target):
        i = item.get_id(0)
        s = 0.1
        t = 2
        for k in range(i):
            s += source[k]
            if k % 2:
                s = s * source[k]
            t = max(t, source[k]) + 1
        target[i] = s + t

    for kind in (np.float32, np.float64):
        assert not notes(summed, np.ones(8, kind), np.zeros(8))


def test_literal_float_and_integer_are_reported():
    @kapi.kernel
    def started(item: kapi.Item, source, target):
        i = item.get_id(0)
        x = 0.5
        if i > 3:
            x = source[i]
        target[i] = x

    with pytest.warns(kapi.MixedTypesWarning, match="variable `x` is float on one path and int8 on another"):
        kapi.call_kernel(started, kapi.Range(8), np.ones(8, np.int8), np.zeros(8))


def test_launches_of_one_kernel_are_separate():
    for kind in (np.float32, np.float64):
        assert not notes(started, np.ones(8, kind), np.zeros(8))


@kapi.kernel
def started(item: kapi.Item, source, target):
    i = item.get_id(0)
    x = source[0]
    for k in range(3):
        x = x + source[k]
    target[i] = x


def third(x):
    return x / 3


def one_of(value, is_first):
    if is_first:
        return value
    return 7


# The lines after `s = 7` on one path and `s = a[0]`, a float32, on another, with float64 in `b`.
COMPUTED = {
    "b[i] = s / 3": True,
    "b[i] = s / 7": False,
    "b[i] = -s * 2 + 1": False,
    "b[i] = s ** 0.5": True,
    "b[i] = math.sqrt(s)": True,
    "b[i] = math.sqrt(s + 2)": False,
    "b[i] = s + 2**24": True,
    "b[i] = third(s)": True,
    "b[i] = one_of(a[0], i > 3) / 3": True,
    "b[i] = (7, a[0])[i % 2] / 3": True,
    "for x in (7, a[0]): b[i] = x / 3": True,
    "s /= 3; b[i] = s": True,
    "s /= 3; b[i] += s": True,
    "s /= 3; b[i] = s + b[i]": True,
    "s = s if i > 3 else 0.1; b[i] = s": True,
    "s = s if i > 3 else 0.1; a[i] = s": False,
    "s = s if i > 3 else 0.5; b[i] = s": False,
}


def with_a_start(lines):
    source = "def function(item, a, b):\n    i = item.get_id(0)\n    s = 7\n    if i > 3:\n        s = a[i]\n"
    source += "".join(f"    {line.strip()}\n" for line in lines.split("; "))
    filename = f"started_{len(linecache.cache)}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {"math": math, "third": third, "one_of": one_of, "late": late}
    exec(compile(source, filename, "exec"), names)
    return kapi.kernel(names["function"])


@pytest.mark.parametrize("lines", COMPUTED)
def test_python_numbers_that_a_device_computes_in_a_type_are_reported(lines):
    caught = notes(with_a_start(lines), np.ones(8, np.float32), np.zeros(8))
    assert len(caught) == COMPUTED[lines]
    assert all("float32 on another" in str(each) and "started_" in str(each) for each in caught)
    assert not notes(with_a_start(lines), np.ones(8), np.zeros(8))


def test_complex_python_numbers_with_floats_are_held_by_their_type():
    @kapi.kernel
    def turned(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = a[i] and 1j
        out[i] += (a[i] if i > 3 else 2j) * 3
        v = a[i]
        if i > 2:
            v = 0.5j
        out[i] += v

    for dtype in (np.float32, np.float64, np.complex128):
        out = np.zeros(8, np.complex128)
        a = np.arange(8, dtype=dtype)
        kapi.call_kernel(turned, kapi.Range(8), a, out)
        first, last = a[:3] + 6j, np.full(4, 1.5j) + 3 * a[4:]
        assert out[1:].tolist() == [*(first[1:] + 1j), 7.5j, *last]


def test_integer_with_a_complex_number_is_reported():
    @kapi.kernel
    def turned(item: kapi.Item, a, out):
        i = item.get_id(0)
        x = a[i] if i > 3 else 2j
        out[i] = x * 3

    with pytest.warns(kapi.MixedTypesWarning, match="complex on one path and int8 on another"):
        kapi.call_kernel(turned, kapi.Range(8), np.arange(8, dtype=np.int8), np.zeros(8, np.complex128))


@pytest.mark.parametrize("number", [math.nan, math.inf, 1e39])
def test_integer_with_a_float_that_it_cannot_be_is_reported(number):
    @kapi.kernel
    def marked(item: kapi.Item, a, number, out):
        i = item.get_id(0)
        x = a[i] if i > 3 else number
        out[i] = x * 3

    with pytest.warns(kapi.MixedTypesWarning, match="float on one path and int8 on another"):
        kapi.call_kernel(marked, kapi.Range(8), np.arange(8, dtype=np.int8), number, np.zeros(8))


EXPRESSIONS = {
    "s * 100": True,
    "s * 10": False,
    "s - 8": True,
    "-s": True,
    "~s": True,
    "s // 2 + s % 3": False,
    "s << 6": True,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_python_integers_that_a_device_wraps_are_refused(expression):
    kernel = with_a_start(f"b[i] = {expression}")
    if EXPRESSIONS[expression]:
        with raises(kapi.DtypeError, "number-unfit"):
            kapi.call_kernel(kernel, kapi.Range(8), np.ones(8, np.uint8), np.zeros(8))
    else:
        assert not notes(kernel, np.ones(8, np.uint8), np.zeros(8, np.int64))
    assert not notes(kernel, np.ones(8, np.int64), np.zeros(8, np.int64))


def late(x):
    if x > 3:
        return x


# A number on one path, and None on another.
NONES = [
    "n = None; n = 1.5 if i < 3 else n; b[i] = 1 if n else 2",
    "n = 1 if i > 3 else None; b[i] = 1 if n else 2",
    "n = s and None; n = n if i > 3 else 2.5; b[i] = 1 if n else 2",
    "b[i] = 1 if late(i) else 2",
]


@pytest.mark.parametrize("lines", NONES)
def test_none_with_numbers_is_refused(lines):
    kernel = with_a_start(lines)
    with raises(kapi.KernelCompilationError, "variable-types"):
        kapi.call_kernel(kernel, kapi.Range(8), np.ones(8), np.zeros(8))


def test_none_alone_is_none():
    assert not notes(with_a_start("n = None; n = i; b[i] = n; t = (i, None); b[i] += t[0]"), np.ones(8), np.zeros(8))
