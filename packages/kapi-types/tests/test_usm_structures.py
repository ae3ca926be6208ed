"""The structure of dpnp's arrays is read only where a class has shown that it has it."""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numpy as np
import pytest

from kapi_types import typeof_usm_array
from kapi_types.usm import structures

FIELDS = ("ndim", "_pointer", "shape", "strides", "dtype", "flags", "usm_data", "sycl_queue", "usm_type")


def test_other_classes_are_read_by_their_protocol(usm_array):
    """A class of another library is asked once, and has no key."""
    array = usm_array(np.zeros(3))
    assert not structures.learn(array)
    assert structures.struct_key(array) is None
    assert not structures.learn(array)


@pytest.mark.parametrize("value", [None, 3, np.zeros(3)])
def test_struct_key_of_other_values_is_none(value):
    """Nothing is read of a class that is not known."""
    assert structures.struct_key(value) is None


def make_moved():
    """A class of the name and the size that is known, whose fields are elsewhere."""

    class usm_ndarray:
        __slots__ = FIELDS

        @property
        def __sycl_usm_array_interface__(self):
            return {"data": (4096, False), "shape": (2,), "typestr": "<f8", "version": 1, "syclobj": "a queue"}

    array = usm_ndarray()
    array.ndim, array._pointer, array.shape, array.strides = 1, 4096, (2,), (1,)
    array.dtype, array.sycl_queue, array.usm_type, array.usm_data = np.dtype("f8"), "a queue", "device", None
    array.flags = SimpleNamespace(c_contiguous=True, f_contiguous=True, writable=True)
    return array


def test_class_with_moved_fields_is_read_by_its_protocol():
    """Name and size are not enough: the fields of an array have to be where they are looked for."""
    array = make_moved()
    assert type(array).__basicsize__ == 88
    assert not structures.learn(array)
    assert str(typeof_usm_array(array)) == "usm_array(float64, 1d, C, device)"


def test_compiled_code_reads_a_class_with_moved_fields_by_its_protocol(registered):
    """Native code asks for the class as well."""
    shape = numba.njit(lambda array: (array.shape, array))
    array = make_moved()
    assert shape(array)[0] == (2,)
    assert shape(array)[1] is array
