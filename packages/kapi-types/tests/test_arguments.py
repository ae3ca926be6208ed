"""From a kernel's argument to its type."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from numba import types

from kapi_sim import AddressSpace, LocalAccessor
from kapi_sim.errors import DtypeError
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, typeof_argument, weak_bool, weak_float, weak_int
from kapi_types.kernel_api import ConstantType


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, weak_bool),
        (3, weak_int),
        (-(2**63), weak_int),
        (2**63 - 1, weak_int),
        (0.5, weak_float),
        (np.bool_(True), types.boolean),
        (np.int8(1), types.int8),
        (np.uint64(2**64 - 1), types.uint64),
        (np.float16(1), types.float16),
        (np.float32(1), types.float32),
        (np.float64(1), types.float64),
        (np.complex64(1), types.complex64),
    ],
    ids=repr,
)
def test_typeof_argument_of_numbers(value, type_):
    """Python's numbers are weak and NumPy's strong; float64, a subclass of float, is NumPy's."""
    assert typeof_argument(value) == type_


def test_typeof_argument_of_arrays(usm_array):
    """An array's type says its element, rank and layout."""
    array = np.zeros((3, 4), np.float32)
    assert typeof_argument(usm_array(array)) == ArrayType(types.float32, 2, "C")
    assert typeof_argument(usm_array(array.T)) == ArrayType(types.float32, 2, "F")
    assert typeof_argument(usm_array(array[::2])) == ArrayType(types.float32, 2, "A")


@pytest.mark.parametrize("value", [None, test_typeof_argument_of_numbers], ids=["None", "function"])
def test_typeof_argument_of_constants(value):
    """A kernel is compiled for each, so the type says which."""
    assert typeof_argument(value) == ConstantType(value)
    assert typeof_argument(value) != ConstantType(len)


def test_typeof_argument_of_local_memory():
    """Local memory is contiguous, in its own address space, and of a known shape."""
    wanted = ArrayType(types.int64, 2, "C", address_space=AddressSpace.LOCAL, extents=(4, 8))
    assert typeof_argument(LocalAccessor((4, 8), np.int64)) == wanted


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_typeof_argument_refuses_ints_of_more_than_64_bits(value):
    """The message shows the type that holds the upper half."""
    with raises(DtypeError, "integer-too-wide"):
        typeof_argument(value)


def test_typeof_argument_refuses_members_of_enumerations():
    """Those of an IntEnum are integers; of others the value is passed."""
    colour = enum.Enum("Colour", "RED")
    with raises(DtypeError, "argument-type"):
        typeof_argument(colour.RED)


def test_typeof_argument_refuses_numpy_arrays():
    """No device owns NumPy memory; the message says how to copy it."""
    with raises(DtypeError, "array-on-host"):
        typeof_argument(np.zeros(3))


@pytest.mark.parametrize("value", ["text", [1], object()], ids=["text", "list", "object"])
def test_typeof_argument_refuses_everything_else(value):
    """The message lists what kernels take."""
    with raises(DtypeError, "argument-type"):
        typeof_argument(value)


@pytest.mark.parametrize("value", [np.datetime64("2020-01-01"), np.str_("a"), np.void(b"ab")], ids=repr)
def test_typeof_argument_refuses_scalars_that_are_no_numbers(value):
    """Dates, text and raw bytes have no meaning in a kernel."""
    with raises(DtypeError, "argument-dtype"):
        typeof_argument(value)


def test_typeof_argument_refuses_wide_floats():
    """No device has the extended floats of the host; Windows and Apple's processors have none either."""
    if np.dtype(np.longdouble).itemsize == 8:
        assert str(typeof_argument(np.longdouble(1))) == "float64"
        return
    with raises(DtypeError, "argument-dtype"):
        typeof_argument(np.longdouble(1))


def test_typeof_argument_refuses_arrays_of_structures(usm_array):
    """An unsupported array is a DtypeError, as for a scalar."""
    with raises(DtypeError, "argument-dtype"):
        typeof_argument(usm_array(np.zeros(2, dtype=[("a", "i4")])))
