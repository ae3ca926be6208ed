"""The types of the variables of entire functions."""

from __future__ import annotations

import dis
import math

import numpy as np
import pytest
from numba import types

from kapi_sim import AddressSpace
from kapi_types import (
    ArrayType,
    GroupType,
    ItemType,
    NdItemType,
    weak_bool,
    weak_float,
    weak_int,
    wide_int,
)
from kapi_types.kernel_typing import ProblemsFound

F32 = ArrayType(types.float32, 1, "C")
F32_2D = ArrayType(types.float32, 2, "C")
I16 = ArrayType(types.int16, 1, "C")
I32 = ArrayType(types.int32, 1, "C")
LOCAL = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)

SCALE = 0.5
OFFSETS = (1, 2.0)


def test_weak_start_takes_the_arrays_type(infer):
    """`s = 0.0; s += a[i]` is float32 all along."""

    def total(a):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i]
        return s

    inferred = infer(total, F32)
    assert inferred.returned == types.float32
    assert types.float64 not in inferred.variables["s"]
    assert inferred["i"] == weak_int


def test_weak_start_takes_a_wider_type_where_numpy_would(infer):
    """An int start in a float sum is the float."""

    def total(a, b):
        s = 0
        for i in range(a.shape[0]):
            s += a[i] * b[i]
        return s

    assert infer(total, F32, I32).returned == types.float64
    assert infer(total, F32, F32).returned == types.float32


def test_weak_variables_that_join_nothing_stay_weak(infer):
    """A counter is a Python int."""

    def count(a):
        n = 0
        for _ in range(len(a)):
            n += 1
        return n

    assert infer(count, F32).returned == weak_int


def test_provisional_widening_is_taken_back(infer):
    """`t = s * h[i]` is float64 while `s` is only 0.0, and float32 once `s` is known to be."""

    def mixed(a, h):
        s = 0.0
        t = 0.0
        for i in range(len(a)):
            t = s * h[i]
            s = a[i]
        return t

    inferred = infer(mixed, F32, I16)
    assert inferred.returned == types.float32
    assert types.float64 not in inferred.variables["t"]


def test_provisional_widening_is_taken_back_through_several_variables(infer):
    """However long the chain of variables computed from the first."""

    def chain(a, h):
        s = 0.0
        t = u = v = 0.0
        for i in range(len(a)):
            v = u + h[i]
            u = t * 2
            t = s * h[i]
            s = a[i]
        return v

    assert infer(chain, F32, I16).returned == types.float32


def test_provisional_widening_is_taken_back_in_tuples(infer):
    """A tuple's members become strong as other variables do."""

    def pair(a, h):
        p = (0, 0.0)
        t = 0
        for i in range(len(a)):
            t = p[1] * h[i]
            p = (h[i], a[i])
        return t

    assert infer(pair, F32, I16).returned == types.float32


def test_widening_that_holds_itself_up_stays(infer):
    """Variables that are float64 because of each other, as NumPy's first step makes them, stay so."""

    def knot(a, h):
        x = y = 0
        z = 0.0
        for i in range(10):
            x, y, z = y, z * h[i], a[i] * x
        return x

    assert infer(knot, F32, I16).returned == types.float64


def test_branches_unify(infer):
    """A variable assigned in both branches has the type that holds both."""

    def choose(a, b, flag):
        if flag:
            x = a[0]
        else:
            x = b[0]
        return x

    assert infer(choose, F32, F32, types.boolean).returned == types.float32
    assert infer(choose, F32, I32, types.boolean).returned == types.float64

    def clip(a, flag):
        return a[0] if flag else 0

    assert infer(clip, F32, types.boolean).returned == types.float32


def test_versions_of_a_variable_have_types_of_their_own(infer):
    """Reassignment without a join makes a new variable."""

    def reuse(a):
        x = a[0]
        y = x * 2
        x = (1, x)
        return x, y

    inferred = infer(reuse, F32)
    assert inferred.returned == types.Tuple([types.Tuple([weak_int, types.float32]), types.float32])


def test_literals_globals_and_closures_are_weak(infer):
    """Python's numbers are weak wherever they come from; NumPy's are strong."""
    half, strong_half = 0.5, np.float64(0.5)

    def scaled(a):
        return a[0] * 2, a[0] * SCALE, a[0] * half, a[0] * strong_half, OFFSETS[0] + a[0]

    assert infer(scaled, F32).returned == types.Tuple(
        [types.float32, types.float32, types.float32, types.float64, types.float32]
    )


def test_python_numbers_alone_stay_weak(infer):
    """An expression of Python's numbers is Python's."""

    def numbers():
        return 1 + 2, 1 / 2, 1 * 2.0, 3 < 4, True and False, not 1, -True

    wanted = [weak_int, weak_float, weak_float, weak_bool, weak_bool, weak_bool, weak_int]
    assert list(infer(numbers).returned.types) == wanted


def test_ids_and_ranges_are_weak(infer):
    """Indices take the type of the other operand."""

    def item_queries(item, a):
        i = item.get_id(0)
        n = item.get_range(dim=0)
        last = item.get_linear_range() - 1
        return i, n, last, a[i] * i, item.dimensions

    weak = [weak_int, weak_int, weak_int, types.float32, weak_int]
    assert list(infer(item_queries, ItemType(2), F32).returned.types) == weak


def test_groups_come_from_nd_items(infer):
    """An NdItem's group has as many dimensions."""

    def group_queries(item):
        group = item.get_group()
        return group, group.get_group_id(1), group.leader, group.dimensions

    inferred = infer(group_queries, NdItemType(2))
    assert list(inferred.returned.types) == [GroupType(2), weak_int, weak_bool, weak_int]


def test_array_attributes_are_weak(infer):
    """Shapes and sizes are Python ints."""

    def attributes(a):
        return a.shape, a.shape[1], a.ndim, a.size, a.itemsize, a.nbytes, len(a), a.dtype.itemsize

    shape, *others = infer(attributes, F32_2D).returned.types
    assert shape == types.UniTuple(weak_int, 2)
    assert set(others) == {weak_int}


def test_dtype_type_converts(infer):
    """`a.dtype.type(x)` and `numpy.float32(x)` are strong."""

    def zero(a):
        return a.dtype.type(0), np.int8(a[0]), float(a[0]), int(a[0]), bool(a[0]), round(a[0])

    wanted = [types.float32, types.int8, weak_float, weak_int, weak_bool, weak_int]
    assert list(infer(zero, F32).returned.types) == wanted


def test_elements_of_local_memory_are_strong(infer):
    """Local memory is an array as any other."""

    def load(tile):
        return tile[0] * 2

    assert infer(load, LOCAL).returned == types.float32


@pytest.mark.parametrize("ndim", range(7))
def test_arrays_of_rank_0_to_6_are_indexed_by_tuples(infer, ndim):
    """One integer for each axis, none for rank 0."""
    index = ", ".join(["0"] * ndim) + ("," if ndim == 1 else "")
    namespace = {}
    exec(f"def load(a):\n    return a[({index})]\n", namespace)
    assert infer(namespace["load"], ArrayType(types.int32, ndim, "A")).returned == types.int32


def test_range_takes_any_integers(infer):
    """One to three of them, of any type; the variable is a Python int."""

    def loops(a, n):
        s = 0
        for i in range(n):
            s += i
        for i in range(n, 10):
            s += i
        for i in range(10, n, -2):
            s += i
        return s

    assert infer(loops, F32, types.uint8).returned == weak_int


def test_loops_over_tuples_of_one_type(infer):
    """Each member in turn."""

    def over(a):
        s = a[0]
        for x in (a[1], a[2]):
            s += x
        for n in (1, 2, 3):
            s *= n
        return s

    assert infer(over, F32).returned == types.float32


def test_mathematics_keeps_float32(infer):
    """No double appears in a float32 kernel."""

    def norm(a):
        return math.sqrt(a[0] * a[0] + a[1] * a[1]) * math.pi, math.floor(a[0])

    inferred = infer(norm, F32)
    assert list(inferred.returned.types) == [types.float32, weak_int]


def test_while_loops_and_early_returns(infer):
    """Every return counts for the type of what is returned."""

    def first_above(a, limit):
        i = 0
        while i < len(a):
            if a[i] > limit:
                return a[i]
            i += 1
        return -1

    assert infer(first_above, F32, weak_float).returned == types.float32


def test_local_functions_are_inlined(infer):
    """A closure and a lambda compile with the function that they stand in."""

    def outer(a):
        def twice(x):
            return x * 2

        thrice = lambda x: x * 3  # noqa: E731
        return twice(a[0]) + thrice(a[1])

    assert infer(outer, F32).returned == types.float32


def test_kernel_returns_none(infer):
    """With no value returned, a function is a kernel."""

    def kernel(item, a):
        a[item.get_id(0)] = 1

    assert infer(kernel, ItemType(1), F32, returns=types.none).returned == types.none


@pytest.mark.parametrize(
    ("first", "second"), [("a", "1"), ("(1, 2)", "1"), ("(1, 2)", "(1, 2, 3)"), ("a", "b"), ("None", "1")]
)
def test_variables_of_two_kinds_are_refused(infer, first, second):
    """An array is no number, and a pair no triple."""
    source = f"def f(a, b, flag):\n    x = {first}\n    if flag:\n        x = {second}\n    y = x\n    return y\n"
    namespace = {}
    exec(source, namespace)
    with pytest.raises(ProblemsFound, match="a variable must have one type throughout a kernel, got "):
        infer(namespace["f"], F32, I32, types.boolean)


def test_assigning_an_array_of_another_layout_forgets_it(infer):
    """A variable that is a C or an F array is one with strides."""

    def either(a, b, flag):
        x = a
        if flag:
            x = b
        return x[0, 0]

    inferred = infer(either, F32_2D, ArrayType(types.float32, 2, "F"), types.boolean)
    assert ArrayType(types.float32, 2, "A") in inferred.variables["x"]


def test_literals_of_64_bits_are_unsigned(infer):
    """An integer that needs the 64th bit is an unsigned Python int; with other operands it takes their type."""

    def mask(a, b):
        wide = 9223372036854775808
        return 18446744073709551615, 9223372036854775807, a[0] & wide, b[0] * wide, b[0] if b[0] else wide, 0.5 * wide

    wanted = [wide_int, weak_int, types.uint64, types.float32, types.float32, weak_float]
    arrays = ArrayType(types.uint64, 1, "C"), ArrayType(types.float32, 1, "C")
    assert list(infer(mask, *arrays).returned.types) == wanted


def loads_of(source, names):
    """The function of a source, and the offset in its bytecode of the first load of each name."""
    namespace = {}
    exec(source, namespace)
    loads = {}
    for instruction in dis.get_instructions(namespace["f"]):
        if instruction.opname.startswith("LOAD_FAST") and instruction.argval in names:
            loads.setdefault(instruction.argval, instruction.offset)
    return namespace["f"], [loads[name] for name in names]


def test_variables_whose_names_end_with_digits_share_no_temporary(infer):
    """`v` loaded at 1704 and `v1` loaded at 704 are two values."""

    def source(before, between, copies):
        added, copied = "    t += x[0]\n", "    t = 1.5\n"
        return (
            f"def f(x, v1, v):\n    t = 0.5\n{added * before}    u = x[0] if x[0] > 0 else v1\n{added * between}"
            f"{copied * copies}    if x[1] > 0:\n        t = 2.5\n    v[0] += 1\n    return v[0], u\n"
        )

    found = 0
    for before in range(5, 60, 25):
        for between in range(30, 80):
            for copies in range(12):
                function, (first, second) = loads_of(source(before, between, copies), ["v1", "v"])
                if second - first >= 1000:
                    break
            if second - first == 1000 and 100 <= first:
                found += 1
                assert infer(function, F32, types.float64, I32).returned == types.Tuple([types.int32, types.float64])
                break
    assert found > 1
