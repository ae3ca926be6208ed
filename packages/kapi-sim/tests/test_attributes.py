"""Attributes of values in kernels: those that a device has."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

Pair = namedtuple("Pair", "x count")


def stored(value, dtype=np.float64):
    """Result of a kernel that stores `value(a[i], a)`, with `value` a function of the kernel language."""
    function = kapi.device_func(value)

    @kapi.kernel
    def kernel(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = function(a[i], a)

    a = np.array([0.5, -2.5, np.inf, np.nan], dtype)
    out = np.zeros(4)
    kapi.call_kernel(kernel, kapi.Range(4), a, out)
    return out.tolist()


def rounded(x, a):
    return x.round()


def of_dtype(x, a):
    return a.dtype.num


def of_tuple(x, a):
    return (1, 2).count(1)


def replaced(x, a):
    return Pair(x, 1)._replace(x=2).x


def of_integer(x, a):
    return len(a.shape).numerator


@pytest.mark.parametrize("value", [rounded, of_dtype, of_tuple, replaced, of_integer])
def test_attribute_that_devices_do_not_have_is_refused(value):
    with raises(kapi.KernelCompilationError, "attribute-unknown"):
        stored(value)


def test_fields_of_named_tuples_may_have_names_of_methods():
    def second(x, a):
        return Pair(1, 2).count

    assert stored(second) == [2.0] * 4


def test_types_under_other_names_hold_floats_to_their_range():
    ends = [0.0, -2.0, 2.0**31 - 1, 0.0]
    kind = np.int32

    def renamed(x, a):
        own = kind
        return own(x)

    def converted(x, a):
        return x.astype(np.int32)

    assert stored(renamed) == ends
    assert stored(converted) == ends


def test_what_a_number_is_converted_to_must_be_a_type_of_numpy():
    def converted(x, a):
        return x.astype(int)

    with raises(kapi.KernelCompilationError, "call-arguments"):
        stored(converted)


def test_number_is_not_indexed():
    def indexed(x, a):
        return x[()]

    with raises(kapi.KernelCompilationError, "indexed-value"):
        stored(indexed)


def test_tuple_is_not_indexed_by_a_truth_value_in_a_variable():
    def chosen(x, a):
        pair = (1.0, 2.0)
        is_positive = x > 0 and x < 5
        return pair[is_positive]

    with raises(kapi.KernelCompilationError, "indexed-value"):
        stored(chosen)


NAME = "ndim"


def test_name_of_an_attribute_is_that_at_the_launch(monkeypatch):
    def named(x, a):
        own = lambda NAME: NAME + 1  # noqa: E731  a parameter of the same name
        return getattr(a, NAME) + own(x) * 10

    seen = []
    for name in ("ndim", "size", "ndim"):
        monkeypatch.setitem(globals(), "NAME", name)
        seen.append(stored(named)[0])
    assert seen == [1 + 15, 4 + 15, 1 + 15]


def test_name_of_an_attribute_must_be_a_constant():
    def computed(x, a):
        return getattr(a, x)

    with raises(kapi.KernelCompilationError, "function-unknown"):
        stored(computed)
