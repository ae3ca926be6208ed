"""Device functions with signatures: what they are given, and what they return, is converted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numba import float32, int32, int64

import kapi_runtime
import kapi_sim
from kapi_runtime.build.fingerprint import fingerprint
from kapi_sim.testing.reports import raises

WORLDS = pytest.mark.parametrize("kapi", [kapi_runtime, kapi_sim], ids=["runtime", "simulator"])


def increment(a):
    return a + 1


def stored(kapi, function, value):
    @kapi.kernel
    def store(item: kapi.Item, a, out):
        out[item.get_id(0)] = function(a[item.get_id(0)])

    out = np.zeros(1)
    kapi.call_kernel(store, kapi.Range(1), np.array([value]), out)
    return out[0]


@WORLDS
@pytest.mark.parametrize("given", ["int32(int32)", int32(int32), ["int32(int32)"]], ids=["text", "types", "list"])
def test_argument_is_converted(kapi, given):
    function = kapi.device_func(given)(increment)
    assert stored(kapi, function, 1.5) == 2
    assert stored(kapi, function, 2.0**31 - 1) == -(2**31)  # the sum of int32 wraps around


@WORLDS
def test_types_without_a_result_convert_the_argument_alone(kapi):
    assert stored(kapi, kapi.device_func((float32,))(lambda x: x / 4), 0.1) == float(np.float32(0.1) / 4)


@WORLDS
def test_result_is_converted(kapi):
    function = kapi.device_func("float32(float64)")(lambda x: x / 3)
    assert stored(kapi, function, 1.0) == float(np.float32(1 / 3))


@WORLDS
def test_signature_that_converts_least_counts(kapi):
    function = kapi.device_func([int32(int32), int64(int64)])(increment)
    for dtype, wanted in ((np.int32, -(2**31)), (np.int64, 2**31), (np.uint32, 2**31), (np.int16, 1 - 2**15)):
        largest = 2**31 - 1 if dtype != np.int16 else -(2**15)
        assert stored(kapi, function, dtype(largest)) == wanted


@WORLDS
def test_arguments_of_no_signature_are_refused(kapi):
    function = kapi.device_func("float64(float64)")(lambda x: x)
    with raises(kapi.KernelCompilationError, "call-arguments"):
        stored(kapi, function, 1j)


@WORLDS
@pytest.mark.parametrize("given", ["none(float64)", "float64(float64)"])
def test_result_of_another_kind_is_refused(kapi, given):
    def with_value(x):
        return x

    def without_value(x):
        pass

    function = kapi.device_func(given)(with_value if given.startswith("none") else without_value)
    with raises(kapi.KernelCompilationError, "return-types"):
        stored(kapi, function, 1.0)


@pytest.mark.parametrize(
    ("given", "code"),
    [("int32(int32, int32)", "signature-count"), ("(int32, int32)(int32)", "signature-text"), ((3,), "signature-form")],
    ids=["count", "result", "number"],
)
def test_signature_that_is_none_is_refused(given, code):
    with raises(Exception, code):
        kapi_sim.device_func(given)(increment)


def test_declared_function_is_another_one():
    """It is pickled, called on the host, and known to the disk cache by its signatures."""
    function, plain = kapi_sim.device_func("int32(int32)")(increment), kapi_sim.device_func(increment)
    assert function(1.5) == 2.5
    assert fingerprint(function.py_func) != fingerprint(plain.py_func)
    again = pickle.loads(pickle.dumps(function))
    assert fingerprint(again.py_func) == fingerprint(function.py_func)
