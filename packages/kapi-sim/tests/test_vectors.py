"""Small vectors: their rules on the host, what is refused, and the checks of each element in memory."""

from __future__ import annotations

import math
import operator
import pickle

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

V = kapi.Vec(np.float32(1), 2, 3.5)
KINDS = (np.bool_, np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32, np.float64, bool, int, float)
OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.ge, operator.eq, operator.ne,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_number_goes_with_each_element_on_either_side(kind):
    """A number of NumPy's on the left leaves the operation to the vector."""
    number = kind(1)
    for applied in OPERATORS:
        for made, wanted in (
            (applied(V, number), [applied(element, number) for element in V]),
            (applied(number, V), [applied(number, element) for element in V]),
        ):
            assert type(made) is kapi.Vec
            assert list(made) == wanted
            assert [type(each) for each in made] == [type(each) for each in wanted]


@pytest.mark.parametrize(
    ("elements", "kind"),
    [
        ((1, 2), int),
        ((True, 2), int),
        ((1, 2.0), float),
        ((1, 2j), complex),
        ((np.int8(1), 2), np.int8),
        ((np.int8(1), np.uint8(2)), np.int16),
        ((np.int32(1), 0.5), np.float64),
        ((np.float16(1), np.int8(1)), np.float16),
        ((np.float32(1), 1j), np.complex64),
    ],
)
def test_elements_become_the_type_that_holds_them_all(elements, kind):
    assert {type(each) for each in kapi.Vec(*elements)} == {kind}


def test_vector_is_a_value():
    assert hash(V) == hash(tuple(V))
    assert tuple(pickle.loads(pickle.dumps(V))) == tuple(V)
    assert tuple(kapi.Vec(V.xy, V.zx)[1:]) == (2, 3.5, 1)
    assert tuple(divmod(kapi.Vec(7, -7), 2)[1]) == (1, 1)


def test_functions_of_numpy_take_vectors_on_the_host():
    assert tuple(np.maximum(V, 2)) == (2, 2, 3.5)
    assert type(np.sqrt(V).x) is np.float32
    chosen = np.where(V > 1.5, V, 0)
    assert (type(chosen), tuple(chosen), type(chosen.x)) == (kapi.Vec, (0, 2, 3.5), np.float32)
    assert tuple(np.clip(V, 1.5, 3)) == (1.5, 2, 3)
    assert np.stack([V, V]).shape == (2, 3)
    with pytest.raises(TypeError, match="without names"):
        np.clip(V, a_min=0, a_max=1)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: kapi.Vec(1), "vector-length"),
        (lambda: kapi.Vec(1, 2, 3, 4, 5), "vector-length"),
        (lambda: kapi.Vec(*range(8))[1:6], "vector-length"),
        (lambda: kapi.Vec.load(np.zeros((2, 5)), 0, 5), "vector-length"),
        (lambda: kapi.Vec("ab", 1), "vector-element"),
        (lambda: kapi.Vec((1, 2), 1), "vector-element"),
        (lambda: V + kapi.Vec(1, 2), "vector-lengths"),
        (lambda: np.minimum(V, kapi.Vec(1, 2)), "vector-lengths"),
        (lambda: kapi.Vec.load(np.zeros(5), 0, 3), "too-many-indices"),
        (lambda: V.store(np.zeros((5, 3)), (0, 0)), "too-many-indices"),
        (lambda: kapi.Vec.load(3, 0, 3), "vector-array"),
        (lambda: kapi.dot(V, 2), "vector-missing"),
        (lambda: bool(V < 2), "array-as-condition"),
        (lambda: V.astype(int), "call-arguments"),
    ],
)
def test_misuse_is_refused(call, code):
    with raises(kapi.KernelCompilationError, code):
        call()


def test_vector_does_not_go_with_tuples_and_arrays():
    for other in ((1, 2, 3), np.zeros(3)):
        for call in (lambda: V + other, lambda: other + V):  # noqa: B023  # called at once
            with pytest.raises(TypeError, match="a vector does not go with"):
                call()


def run(kernel, *arguments, n=2):
    kapi.call_kernel(kapi.kernel(kernel), kapi.NdRange(n, n), *arguments)


def condition(nd_item, a):
    if kapi.Vec.load(a, 0, 3) > 1:
        a[0, 0] = 1


def lengths(nd_item, a):
    (kapi.Vec.load(a, 0, 3) * kapi.Vec.load(a, 0, 2)).store(a, 0)


def with_tuple(nd_item, a):
    (kapi.Vec.load(a, 0, 3) + (1, 2, 3)).store(a, 0)  # noqa: RUF005  # not joined


def no_element(nd_item, a):
    a[0, 0] = kapi.Vec.load(a, 0, 2).z


def assigned(nd_item, a):
    v = kapi.Vec.load(a, 0, 2)
    v[0] = a[0, 0]


def two_elements(nd_item, a):
    kapi.cross(kapi.Vec.load(a, 0, 2), kapi.Vec(1, 2)).store(a, 0)


def least(nd_item, a):
    a[0, 0] = min(kapi.Vec.load(a, 0, 3), kapi.Vec.load(a, 1, 3)).x


def letter_assigned(nd_item, a):
    v = kapi.Vec(a[0, 0], 1)
    v.x = 1


@pytest.mark.parametrize(
    ("kernel", "code", "line"),
    [
        (condition, "array-as-condition", "if kapi.Vec.load"),
        (lengths, "vector-lengths", "kapi.Vec.load(a, 0, 2)"),
        (with_tuple, "operator-operands", "+ (1, 2, 3)"),
        (no_element, "attribute-unknown", ".z"),
        (two_elements, "call-arguments", "kapi.cross("),
        (least, "call-arguments", "min("),
        (letter_assigned, "tuple-changed", "v.x = 1"),
        (assigned, "tuple-changed", "v[0] = a"),
    ],
)
def test_misuse_in_a_kernel_names_its_line(kernel, code, line):
    with raises(kapi.KernelCompilationError, code, line=line):
        run(kernel, np.ones((2, 3), np.float32))


def test_literal_must_fit_the_elements():
    def kernel(nd_item, a):
        (kapi.Vec.load(a, 0, 2) + 300).store(a, 0)

    with raises(kapi.DtypeError, "number-unfit", line="+ 300"):
        run(kernel, np.ones((2, 3), np.int8))


def test_integers_are_not_divided_by_zero():
    def kernel(nd_item, a):
        (kapi.Vec.load(a, 0, 2) // kapi.Vec.load(a, 1, 2)).store(a, 0)

    with raises(kapi.DivisionByZeroError, "division-by-zero", line="//"):
        run(kernel, np.array([[1, 2], [3, 0]]))


def shifted(nd_item, a):
    """Row k is read by the work-item before it while its own writes it, the last element alone."""
    k = nd_item.get_local_id(0)
    if k == 0:
        kapi.Vec.load(a, 1, 4).store(a, 0)
    else:
        a[1, 3] = 5


def test_race_is_one_of_an_element():
    with raises(kapi.DataRaceError, "data-race") as caught:
        run(shifted, np.zeros((2, 4)))
    assert "a[1, 3]" in str(caught.value)
    assert "kapi.Vec.load(a, 1, 4).store(a, 0)" in str(caught.value)


def test_neighbouring_elements_are_no_race():
    def kernel(nd_item, a):
        k = nd_item.get_local_id(0)
        kapi.Vec(k, k).store(a[k], ())

    a = np.zeros((2, 3))
    run(kernel, a)
    assert a.tolist() == [[0, 0, 0], [1, 1, 0]]


def test_element_that_nobody_wrote_is_found():
    def kernel(nd_item, out):
        row = kapi.PrivateArray((2, 3), np.float32)
        kapi.Vec(1, 2).store(row, 1)
        out[0, 0] = kapi.length(kapi.Vec.load(row, 1, 2))
        out[0, 1] = kapi.Vec.load(row, 1, 3).x

    with raises(kapi.UninitializedReadError, "read-before-write", line="kapi.Vec.load(row, 1, 3)") as caught:
        run(kernel, np.zeros((1, 2)), n=1)
    assert "row[1, 2]" in str(caught.value)


@pytest.mark.parametrize(
    ("index", "n", "code"), [(2, 3, "index-out-of-bounds"), (0, 4, "index-out-of-bounds"), (-1, 3, "negative-index")]
)
def test_bounds_are_those_of_each_element(index, n, code):
    def kernel(nd_item, a, k):
        v = kapi.Vec.load(a, k, n)
        a[0, 0] = v.x

    with raises(kapi.OutOfBoundsError, code, line="kapi.Vec.load(a, k, n)"):
        run(kernel, np.ones((2, 3)), index)


@kapi.kernel
def two_paths(item: kapi.Item, a, b):
    i = item.get_id(0)
    v = kapi.Vec.load(a, i, 2)
    if i > 0:
        v = kapi.Vec.load(b, i, 2)
    (v * 2).store(a, i)


def test_variable_has_one_kind_of_vector():
    with pytest.warns(kapi.MixedTypesWarning, match="float32 on one path and int32"):
        kapi.call_kernel(two_paths, kapi.Range(2), np.ones((2, 2), np.float32), np.ones((2, 2), np.int32))


@kapi.kernel
def two_lengths(item: kapi.Item, a):
    i = item.get_id(0)
    v = kapi.Vec.load(a, i, 2)
    if i > 0:
        v = kapi.Vec.load(a, i, 3)
    a[i, 0] = (v * 2).x


def test_variable_has_one_length_of_vectors():
    with raises(kapi.KernelCompilationError, "variable-types"):
        kapi.call_kernel(two_lengths, kapi.Range(2), np.ones((2, 3), np.float32))


def test_length_is_what_math_gives():
    v = kapi.Vec(np.float32(0.1), 0.2, 0.7)
    assert type(kapi.length(v)) is np.float32
    assert kapi.length(kapi.Vec(np.int8(3), 4)) == np.float64(5)
    assert math.isclose(float(kapi.length(kapi.normalize(v))), 1, rel_tol=1e-6)
