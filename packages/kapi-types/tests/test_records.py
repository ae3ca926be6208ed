"""Records are typed by their fields, and misuse is a problem with the code that the simulator has."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim import AddressSpace
from kapi_sim.language.array_memory import ArrayFields
from kapi_types import ArrayType, ItemType, typeof_argument
from kapi_types.kernel_typing import ProblemsFound, spell_type
from kapi_types.records import RecordRefType

INNER = np.dtype([("w", "f8")])
PACKED = np.dtype([("k", "i1"), ("x", "f4"), ("v", "f4", 3), ("inner", INNER)])
ALIGNED = np.dtype(PACKED.descr, align=True)


def array_of(dtype, *, readonly=False):
    return typeof_argument(ArrayFields(64, (2,), (1,), dtype, readonly, None))


A, OF_ALIGNED, READONLY = array_of(PACKED), array_of(ALIGNED), array_of(PACKED, readonly=True)
VALUE = typeof_argument(np.zeros((), PACKED)[()])


@pytest.mark.parametrize(
    ("function", "args", "wanted"),
    [
        (lambda a: a[0], (A,), RecordRefType(VALUE, AddressSpace.GLOBAL, True, True)),
        (lambda a: a[0].x, (A,), types.float32),
        (lambda a: a[0]["k"], (A,), types.int8),
        (lambda a: a[0].v[1], (A,), types.float32),
        (lambda a: a[0].inner.w, (A,), types.float64),
        (lambda a: a[0].copy(), (A,), VALUE),
        (lambda a: a[0].copy().v, (A,), types.UniTuple(types.float32, 3)),
        (lambda p: p.inner["w"], (VALUE,), types.float64),
        (lambda a: np.void((1, 2.5, (1, 2, 3), a[0].inner), PACKED), (A,), VALUE),
    ],
)
def test_what_is_taken_of_a_record_has_its_type(infer, function, args, wanted):
    assert infer(function, *args).returned == wanted


def test_fields_know_whether_they_are_aligned(infer):
    packed, aligned = (infer(lambda a: a[0], each).returned for each in (A, OF_ALIGNED))
    assert not packed.is_aligned("x")
    assert not packed.field("v").aligned
    assert aligned.is_aligned("x")
    assert aligned.field("v").aligned
    assert aligned.field("inner").aligned
    dense = infer(lambda a: a[0], array_of(np.dtype([("x", "f4"), ("v", "f4", 3)]))).returned
    assert dense.is_aligned("x")
    assert dense.field("v").aligned


def test_record_is_spelled_by_its_fields():
    assert spell_type(VALUE) == "record (k, x, v, inner)"
    assert spell_type(A) == "record (k, x, v, inner) array of rank 1"


def unknown_field(item, a, r, p):
    a[0].mass = 1


def unknown_name(item, a, r, p):
    a[0].x = a[0]["mass"]


def of_value(item, a, r, p):
    p.x = 1


def of_copy(item, a, r, p):
    a[0].copy()["x"] = 1


def of_no_record(item, a, r, p):
    item.x = 1


def of_readonly(item, a, r, p):
    r[0].x = 1


def short_tuple(item, a, r, p):
    a[0] = (1, 2)


def number(item, a, r, p):
    a[0] = 1


def number_for_parts(item, a, r, p):
    a[0].v = 1


def record_for_number(item, a, r, p):
    a[0].x = a[1]


def other_record(item, a, r, p):
    a[0].inner = a[1]


def imaginary(item, a, r, p):
    a[0].x = 1j


def unfit(item, a, r, p):
    a[0].k = 300


def unfit_by_name(item, a, r, p):
    a[0]["k"] = 300


def unfit_in_a_tuple(item, a, r, p):
    a[0] = (300, 1.5, (1, 2, 3), (4.5,))


def unfit_in_a_tuple_of_values(item, a, r, p):
    a[0] = (300, a[1].x, (1, 2, 3), a[1].inner)


def unfit_in_a_record(item, a, r, p):
    a[0] = np.void((-129, 1.5, (1, 2, 3), (4.5,)), PACKED)


def compared(item, a, r, p):
    a[0].x = a[0] == a[1]


def field_of_array(item, a, r, p):
    a["x"][0] = 1


def no_record_made(item, a, r, p):
    a[0].x = np.void((1, 2), np.float32).x


def odd_atomic(item, a, r, p):
    kapi.AtomicRef(a[0], "x").fetch_add(1)


def odd_atomic_of_part(item, a, r, p):
    kapi.AtomicRef(a[0].v, 1).fetch_add(1)


def atomic_of_parts(item, a, r, p):
    kapi.AtomicRef(a[0], "v").fetch_add(1)


def reference_or_value(item, a, r, p):
    q = a[0] if a[0].k > 0 else p
    a[1].x = q.x


def private_returned(item, a, r, p):
    a[0] = made()


def made():
    return kapi.PrivateArray(1, PACKED)[0]


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        (unknown_field, "attribute-unknown"),
        (unknown_name, "attribute-unknown"),
        (of_value, "record-value-changed"),
        (of_copy, "record-value-changed"),
        (of_no_record, "attribute-assigned"),
        (of_readonly, "argument-read-only"),
        (short_tuple, "stored-value"),
        (number, "stored-value"),
        (number_for_parts, "stored-value"),
        (record_for_number, "stored-value"),
        (other_record, "stored-value"),
        (imaginary, "stored-value"),
        (unfit, "number-unfit"),
        (unfit_by_name, "number-unfit"),
        (unfit_in_a_tuple, "number-unfit"),
        (unfit_in_a_tuple_of_values, "number-unfit"),
        (unfit_in_a_record, "number-unfit"),
        (compared, "operator-operands"),
        (field_of_array, "field-of-all"),
        (no_record_made, "call-arguments"),
        (odd_atomic, "atomic-ref"),
        (odd_atomic_of_part, "atomic-ref"),
        (atomic_of_parts, "atomic-ref"),
        (reference_or_value, "variable-types"),
        (private_returned, "private-array-returned"),
    ],
)
def test_misuse_is_one_problem(infer, kernel, code):
    with pytest.raises(ProblemsFound) as caught:
        infer(kernel, ItemType(1), A, READONLY, VALUE, returns=types.none)
    assert [problem.code for problem in caught.value.problems] == [code]
    assert caught.value.problems[0].filename == __file__


def test_element_that_joins_a_value_is_to_be_copied(infer):
    with pytest.raises(ProblemsFound, match=r"`a\[i\]\.copy\(\)` makes a value"):
        infer(reference_or_value, ItemType(1), A, READONLY, VALUE, returns=types.none)


def test_arrays_that_begin_at_odd_addresses_are_refused():
    fields = ArrayFields(66, (2,), (1,), np.dtype([("x", "f4")]), False, None)
    with pytest.raises(kapi.DtypeError, match="must begin at a multiple of 4 bytes"):
        typeof_argument(fields)
    assert isinstance(typeof_argument(ArrayFields(66, (2,), (1,), PACKED, False, None)), ArrayType)
