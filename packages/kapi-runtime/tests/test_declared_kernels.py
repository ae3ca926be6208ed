"""Kernels with signatures: compiled for these types alone, to which numbers are converted."""

from __future__ import annotations

import pickle

import dpnp
import numpy as np
import pytest
from numba import float32, int64, types, void

import kapi_runtime
import kapi_sim
from kapi_sim import DtypeError
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, ItemType

FLOATS = "item1, float32[:], float32, float32[:]"
INTEGERS = "item1, int64[:], int64, int64[:]"
OF_FLOATS = ArrayType(float32, 1, "C")
FORMS = {
    "text": FLOATS,
    "text with a result": f"void({FLOATS})",
    "text without the work-item": "float32[:], float32, float32[:]",
    "types": (ItemType(1), OF_FLOATS, float32, OF_FLOATS),
    "types of Numba's arrays": void(float32[::1], float32, float32[:]),
    "types of NumPy's numbers": (OF_FLOATS, np.float32, OF_FLOATS),
    "list": [INTEGERS, FLOATS],
}
WORLDS = pytest.mark.parametrize("kapi", [kapi_runtime, kapi_sim], ids=["runtime", "simulator"])


def scaled(item, a, n, out):
    i = item.get_id(0)
    out[i] = a[i] * n


def launched(kapi, kernel, dtype, n):
    a, out = np.arange(4).astype(dtype), np.zeros(4, dtype)
    kapi.call_kernel(kernel, kapi.Range(4), a, n, out)
    return out.tolist()


@WORLDS
@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_converted_to_the_types_of_a_signature(kapi, form):
    kernel = kapi.kernel(FORMS[form])(scaled)
    for n in (2, 2.0, np.int8(2), np.float64(2), True + 1):
        assert launched(kapi, kernel, np.float32, n) == [0, 2, 4, 6]


@WORLDS
def test_number_has_the_precision_of_its_signature(kapi):
    """A float64 of NumPy's would make the product one of its own."""

    def stored(item, n, out):
        out[item.get_id(0)] = n * 3

    out = np.zeros(1)
    kapi.call_kernel(kapi.kernel("item1, float32, float64[:]")(stored), kapi.Range(1), np.float64(0.1), out)
    assert out[0] == float(np.float32(0.1) * 3)
    assert out[0] != 0.1 * 3


@WORLDS
def test_signature_that_converts_least_counts(kapi):
    def seen(item, n, out):
        out[item.get_id(0)] = n / 2

    kernel = kapi.kernel(["item1, float32, float64[:]", "item1, int64, float64[:]", "item1, float64, float64[:]"])(seen)
    out = np.zeros(1)
    for n, wanted in ((np.int64(3), 1.5), (np.float64(0.1), 0.05), (np.float32(0.1), float(np.float32(0.1) / 2))):
        kapi.call_kernel(kernel, kapi.Range(1), n, out)
        assert out[0] == wanted


@WORLDS
@pytest.mark.parametrize(
    ("dtype", "n"),
    [("f8", 2), ("i8", 2.5), ("i8", 2**63), ("f4", 1j), ("f4", None), ("f4", np.zeros(3, np.float32))],
    ids=["array", "fraction", "wide", "complex", "None", "array for a number"],
)
def test_arguments_of_no_signature_are_refused(kapi, dtype, n):
    kernel = kapi.kernel([FLOATS, INTEGERS])(scaled)
    with raises(DtypeError, "compiled-for-other-arguments"):
        launched(kapi, kernel, dtype, n)


@WORLDS
def test_array_of_a_signature_has_its_layout(kapi):
    def counted(item, a, out):
        out[item.get_id(0)] = a.shape[0] + a[1, 0]

    a, out = np.arange(6.0).reshape(2, 3), np.zeros(1)
    contiguous, strided = (kapi.kernel(f"item1, {word}float64[:, :], float64[:]")(counted) for word in ("", "strided "))
    for each in (a.T, a[:, ::2]):
        kapi.call_kernel(strided, kapi.Range(1), each, out)
        assert out[0] == each.shape[0] + each[1, 0]
        with raises(DtypeError, "compiled-for-other-arguments"):
            kapi.call_kernel(contiguous, kapi.Range(1), each, out)


@WORLDS
def test_index_space_of_no_signature_is_refused(kapi):
    kernel = kapi.kernel(FLOATS)(scaled)
    with raises(kapi.KernelLaunchError, "compiled-for-other-space"):
        kapi.call_kernel(kernel, kapi.Range(2, 2), np.zeros(4, np.float32), 1, np.zeros(4, np.float32))


@WORLDS
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("item1, float32[:]", "signature-count"),
        ("float32(float32[:], float32, float32[:])", "signature-count"),
        ("item1, float99[:], int64, int64[:]", "signature-text"),
        ((1, 2, 3), "signature-form"),
        ([scaled], "signature-form"),
    ],
    ids=["count", "result", "type", "numbers", "function"],
)
def test_signature_that_is_none_is_refused(kapi, given, code):
    with raises(Exception, code):
        kapi.kernel(given)(scaled)


@WORLDS
def test_none_is_a_type_of_a_signature(kapi):
    def shifted(item, a, by):
        if by is not None:
            a[item.get_id(0)] += by

    kernel = kapi.kernel(["item1, float32[:], none", "item1, float32[:], float32"])(shifted)
    a = np.zeros(2, np.float32)
    for by, wanted in ((None, 0), (2, 2)):
        kapi.call_kernel(kernel, kapi.Range(2), a, by)
        assert a.tolist() == [wanted] * 2


@WORLDS
def test_declared_kernel_is_refused_when_it_is_defined(kapi):
    with raises(kapi.KernelCompilationError, "list-in-kernel"):

        @kapi.kernel("item1, float32[:]")
        def with_list(item, a):
            a[0] = [1][0]


def test_declared_kernel_is_compiled_when_it_is_defined():
    kernel = kapi_runtime.kernel([FLOATS, INTEGERS], debug=True)(scaled)
    assert kernel.statistics.modules == 2
    arrays = [dpnp.zeros(4, dtype=dpnp.float32) for _ in range(2)]
    kapi_runtime.call_kernel(kernel, kapi_runtime.Range(4), arrays[0], 1, arrays[1])
    assert kernel.statistics.modules == 2


def test_declared_kernel_is_bound_and_pickled():
    kernel = kapi_runtime.kernel(FLOATS)(scaled)
    a, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    launch = kernel.bind(kapi_runtime.Range(4), a, 1, out)
    launch.replace(n=np.float64(3))
    launch()[0].wait()
    assert out.tolist() == [0, 3, 6, 9]
    with raises(DtypeError, "compiled-for-other-arguments"):
        launch.replace(n=1j)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.signatures == kernel.signatures


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_types_of_arrays_are_those_of_numba(layout):
    described = kapi_sim.kernel((ItemType(2), ArrayType(int64, 2, layout), types.boolean))(lambda item, a, b: None)
    words = {"C": "", "F": "fortran ", "A": "strided "}[layout]
    assert [str(each) for each in described.signatures] == [f"(item2, {words}int64[:, :], bool)"]
