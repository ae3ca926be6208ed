"""Arrays in another byte order than the processor's: an error by name, whatever Numba has compiled before."""

import contextlib
import warnings
from collections import namedtuple

import numba
import numpy as np
import pytest
from numba import prange

import kapi_runtime
from kapi_numba_offload import OffloadFallbackWarning
from kapi_sim.errors import DtypeError
from kapi_sim.testing.reports import raises

Pair = namedtuple("Pair", ["first", "second"])
CODES = ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "U3", "M8[s]", "m8[s]", "record", "text")
FORMS = {
    "array": lambda a: a,
    "tuple": lambda a: (a, a),
    "named tuple": lambda a: Pair(a, a),
    "nested tuple": lambda a: (1, (a, 2.0)),
}


def size_of(a):
    return len(a)


def first_of(a):
    return a[0]


def shifted(a):
    return a + a


def negated_in_place(a):
    for i in prange(a.shape[0]):
        a[i] = -a[i]


def varied(*args):
    return len(args[0])


def native_array(code):
    if code == "record":
        return np.zeros(4, [("n", "f8"), ("m", "i4")])
    if code == "text":
        return np.zeros(4, [("t", "U3")])
    return np.arange(4).astype(code)


def swapped_copy(a):
    return a.astype(a.dtype.newbyteorder("S"))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("function", [size_of, first_of, shifted, negated_in_place, varied], ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_swapped_bytes_are_an_error_first_and_later(form, function, code):
    compiled, make, native = numba.njit(function), FORMS[form], native_array(code)
    with kapi_runtime.device_context("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadFallbackWarning)
        messages = []
        for _ in range(3):
            with raises(DtypeError, "argument-dtype", words=False) as raised:
                compiled(make(swapped_copy(native)))
            messages.append(str(raised.value))
            with contextlib.suppress(Exception):  # of what this function cannot do with such a value
                compiled(make(native.copy()))
    assert len(set(messages)) == 1


def test_records_of_arrays_with_swapped_bytes_are_an_error():
    compiled = numba.njit(first_of)
    native = np.zeros(2, [("t", "U3")])
    compiled_record = numba.njit(lambda record: record.t)
    with kapi_runtime.device_context("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadFallbackWarning)
        compiled(native)
        compiled_record(native[0])
        for call, value in ((compiled, swapped_copy(native)), (compiled_record, swapped_copy(native)[0])):
            with raises(DtypeError, "argument-dtype", words=False):
                call(value)


def test_swapped_bytes_are_an_error_where_arrays_are_copied(in_context):
    for function in (first_of, shifted, negated_in_place):
        compiled, native = numba.njit(function), np.arange(4.0)
        for _ in range(2):
            with raises(DtypeError, "argument-dtype", words=False):
                in_context(compiled, swapped_copy(native))
            in_context(compiled, native)


def test_keywords_and_defaults_are_checked():
    @numba.njit
    def added(a, b=1.0):
        return a[0] + b

    native = np.arange(4.0)
    with kapi_runtime.device_context("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadFallbackWarning)
        assert added(a=native) == 1
        assert added(native + 1, b=2.0) == 3
        for words in ({}, {"b": 2.0}):
            with raises(DtypeError, "argument-dtype", words=False) as raised:
                added(a=swapped_copy(native), **words)
            assert "argument `a` of added() must be in the processor's byte order" in str(raised.value)
