"""Vectors are typed by their elements, and misuse is a problem with the code that the simulator has."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_types import ArrayType, ItemType, weak_bool, weak_float, weak_int
from kapi_types.kernel_api import VecType
from kapi_types.kernel_typing import ProblemsFound, spell_type

A = ArrayType(types.float32, 2, "C")
B = ArrayType(types.int8, 2, "C")
READONLY = ArrayType(types.float32, 2, "C", readonly=True)
Z = VecType(types.complex64, 2)
F, I = VecType(types.float32, 3), VecType(types.int8, 3)  # noqa: E741


@pytest.mark.parametrize(
    ("function", "args", "wanted"),
    [
        (lambda v: v + 1, (F,), F),
        (lambda v: 0.5 * v, (F,), F),
        (lambda v, w: v + w, (F, I), F),
        (lambda v: v / 2, (I,), VecType(types.float64, 3)),
        (lambda v, w: v < w, (F, I), VecType(types.boolean, 3)),
        (lambda v: kapi.Vec(1, 2.5), (F,), VecType(weak_float, 2)),
        (lambda v: kapi.Vec(1, 2) * v.xy, (F,), VecType(types.float32, 2)),
        (lambda v: kapi.Vec(1, 2) == 1, (F,), VecType(weak_bool, 2)),
        (lambda v: kapi.Vec(v.yx, 1, 2), (I,), VecType(types.int8, 4)),
        (lambda v: v[1:], (F,), VecType(types.float32, 2)),
        (lambda v: v.z, (F,), types.float32),
        (lambda v: len(v), (F,), weak_int),
        (lambda v: v.astype(np.int32), (F,), VecType(types.int32, 3)),
        (lambda v, w: np.where(v > 0, v, w), (F, I), F),
        (lambda v: abs(v), (VecType(types.complex64, 2),), VecType(types.float32, 2)),
        (lambda v: kapi.length(v), (I,), types.float64),
        (lambda v, w: kapi.dot(v, w), (I, I), types.int8),
        (lambda a: kapi.Vec.load(a, 0, 4), (B,), VecType(types.int8, 4)),
    ],
)
def test_operation_has_the_type_that_its_elements_have(infer, function, args, wanted):
    assert infer(function, *args).returned == wanted


def test_vector_is_spelled_by_its_elements():
    assert spell_type(F) == "Vec of 3 float32"
    assert spell_type(VecType(weak_int, 2)) == "Vec of 2 Python int"


def of_one(item, a, b, r, z):
    kapi.Vec(a[0, 0]).store(a, 0)


def of_five(item, a, b, r, z):
    kapi.Vec.load(a, 0, 5).store(a, 0)


def of_array(item, a, b, r, z):
    kapi.Vec(a, 1).store(a, 0)


def lengths(item, a, b, r, z):
    (kapi.Vec.load(a, 0, 2) + kapi.Vec.load(a, 0, 3)).store(a, 0)


def lengths_of_function(item, a, b, r, z):
    np.minimum(kapi.Vec.load(a, 0, 2), kapi.Vec.load(a, 0, 3)).store(a, 0)


def lengths_of_dot(item, a, b, r, z):
    a[0, 0] = kapi.dot(kapi.Vec.load(a, 0, 2), kapi.Vec.load(a, 0, 3))


def dot_of_number(item, a, b, r, z):
    a[0, 0] = kapi.dot(kapi.Vec.load(a, 0, 2), 3)


def cross_of_two(item, a, b, r, z):
    kapi.cross(kapi.Vec.load(a, 0, 2), kapi.Vec.load(a, 0, 2)).store(a, 0)


def computed_length(item, a, b, r, z):
    kapi.Vec.load(a, 0, b[0, 0]).store(a, 0)


def index_of_all_axes(item, a, b, r, z):
    kapi.Vec.load(a, (0, 0), 2).store(a, 0)


def float_index(item, a, b, r, z):
    kapi.Vec.load(a, 0.5, 2).store(a, 0)


def from_number(item, a, b, r, z):
    kapi.Vec.load(3, 0, 2).store(a, 0)


def to_readonly(item, a, b, r, z):
    kapi.Vec.load(a, 0, 2).store(r, 0)


def imaginary(item, a, b, r, z):
    z.store(a, 0)


def with_tuple(item, a, b, r, z):
    (kapi.Vec.load(a, 0, 2) + (1, 2)).store(a, 0)  # noqa: RUF005  # not joined


def shifted_floats(item, a, b, r, z):
    (kapi.Vec.load(a, 0, 2) << 1).store(a, 0)


def condition(item, a, b, r, z):
    if kapi.Vec.load(a, 0, 2):
        a[0, 0] = 1


def no_element(item, a, b, r, z):
    a[0, 0] = kapi.Vec.load(a, 0, 2).z


def long_slice(item, a, b, r, z):
    kapi.Vec.load(a, 0, 8)[1:].store(a, 0)


def assigned(item, a, b, r, z):
    v = kapi.Vec.load(a, 0, 2)
    v[0] = 1


def two_lengths(item, a, b, r, z):
    v = kapi.Vec(1.0, 2.0)
    if b[0, 0] > 0:
        v = kapi.Vec(1.0, 2.0, 3.0)
    a[0, 0] = v.x


def tuple_or_vector(item, a, b, r, z):
    v = kapi.Vec(1.0, 2.0) if b[0, 0] > 0 else (1.0, 2.0)
    a[0, 0] = v[0]


def unfit_operand(item, a, b, r, z):
    (kapi.Vec.load(b, 0, 2) + 300).store(b, 0)


def unfit_argument(item, a, b, r, z):
    np.minimum(kapi.Vec.load(b, 0, 2), 300).store(b, 0)


def unfit_element(item, a, b, r, z):
    kapi.Vec(b[0, 0], 300).store(b, 0)


def negative_power(item, a, b, r, z):
    (kapi.Vec.load(b, 0, 2) ** -1).store(a, 0)


def several_results(item, a, b, r, z):
    a[0, 0] = np.modf(kapi.Vec.load(a, 0, 2))[0].x


def letter_assigned(item, a, b, r, z):
    v = kapi.Vec(1.0, 2.0)
    v.x = 1.0


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (of_one, "vector-length"),
        (of_five, "vector-length"),
        (of_array, "vector-element"),
        (lengths, "vector-lengths"),
        (lengths_of_function, "vector-lengths"),
        (lengths_of_dot, "vector-lengths"),
        (dot_of_number, "vector-missing"),
        (cross_of_two, "call-arguments"),
        (computed_length, "shape-unknown"),
        (index_of_all_axes, "too-many-indices"),
        (float_index, "index-type"),
        (from_number, "vector-array"),
        (to_readonly, "argument-read-only"),
        (imaginary, "imaginary-part"),
        (with_tuple, "operator-operands"),
        (shifted_floats, "operator-operands"),
        (condition, "array-as-condition"),
        (no_element, "attribute-unknown"),
        (long_slice, "vector-length"),
        (assigned, "tuple-changed"),
        (letter_assigned, "tuple-changed"),
        (two_lengths, "variable-types"),
        (tuple_or_vector, "variable-types"),
        (unfit_operand, "number-unfit"),
        (unfit_argument, "number-unfit"),
        (unfit_element, "number-unfit"),
        (negative_power, "negative-exponent"),
        (several_results, "call-arguments"),
    ],
)
def test_misuse_is_one_problem(infer, kernel, code):
    with pytest.raises(ProblemsFound) as caught:
        infer(kernel, ItemType(1), A, B, READONLY, Z, returns=types.none)
    assert [problem.code for problem in caught.value.problems] == [code]
    assert caught.value.problems[0].filename == __file__
