"""The type of USM arrays, and the protocol that it is read from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from kapi_sim import AddressSpace
from kapi_types import ArrayType, DeviceArrayType, UsmArrayType, array_fields, array_type, is_usm_array


def test_array_fields_of_a_plain_array(usm_array):
    """A C-contiguous array has the strides that its shape implies."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    fields = array_fields(usm_array(array, queue="the queue"))
    assert (fields.shape, fields.strides, fields.layout) == ((3, 4), (4, 1), "C")
    assert fields.dtype == np.float32
    assert fields.pointer == array.__array_interface__["data"][0]
    assert fields.owner == "the queue"
    assert not fields.readonly


def test_array_fields_of_a_view_point_to_its_first_element(usm_array):
    """The protocol gives the allocation and an offset in elements; the pointer is where the view begins."""
    view = np.arange(20, dtype=np.int16)[7::3]
    fields = array_fields(usm_array(view))
    assert fields.pointer == view.__array_interface__["data"][0]
    assert (fields.shape, fields.strides, fields.layout) == ((5,), (3,), "A")


def test_array_fields_of_negative_strides_point_to_element_zero(usm_array):
    """Of a reversed array, element 0 is the last in memory."""
    array = np.arange(6, dtype=np.int32)
    fields = array_fields(usm_array(array[::-1]))
    assert fields.strides == (-1,)
    assert fields.pointer == array.__array_interface__["data"][0] + 5 * 4


def test_array_fields_of_a_readonly_array(usm_array):
    """An array that its owner made read-only is so in the type too."""
    array = np.zeros(3)
    array.flags.writeable = False
    fields = array_fields(usm_array(array))
    assert fields.readonly
    assert not array_type(fields).mutable


def test_array_fields_refuse_what_has_no_protocol():
    """The message names the attribute and the remedy."""
    with pytest.raises(TypeError, match="array must have __sycl_usm_array_interface__, got list; dpnp arrays have it"):
        array_fields([1, 2])


@pytest.mark.parametrize(
    ("shape", "strides", "layout"),
    [
        ((), (), "C"),
        ((5,), (1,), "C"),
        ((5,), (2,), "A"),
        ((5,), (-1,), "A"),
        ((5,), (0,), "A"),
        ((3, 4), (4, 1), "C"),
        ((3, 4), (1, 3), "F"),
        ((3, 4), (5, 1), "A"),
        ((3, 4), (0, 1), "A"),
        ((1, 4), (99, 1), "C"),
        ((4, 1), (1, 99), "C"),
        ((3, 1, 4), (1, 7, 3), "F"),
        ((1, 1), (0, 0), "C"),
        ((0, 4), (9, 9), "C"),
        ((2, 3, 4), (12, 4, 1), "C"),
        ((2, 3, 4), (1, 2, 6), "F"),
        ((2, 3, 4), (4, 8, 1), "A"),
    ],
)
def test_layout_by_shape_and_strides(usm_array, shape, strides, layout):
    """An axis of length 1 steps nowhere, and an empty array has nothing to step over."""
    double = usm_array(np.zeros(1))
    double.__sycl_usm_array_interface__ |= {"shape": shape, "strides": strides}
    assert array_fields(double).layout == layout


@given(st.data())
def test_layout_agrees_with_numpy(data):
    """For every view of an array, C and F are what NumPy's flags say, C first."""
    from numpy.lib.stride_tricks import as_strided

    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    strides = tuple(data.draw(st.sampled_from([-6, -1, 0, 1, 2, 3, 4, 6, 9])) for _ in shape)
    flags = as_strided(np.zeros(1), shape, [8 * stride for stride in strides]).flags
    interface = {
        "data": (4096, False),
        "shape": shape,
        "strides": strides,
        "typestr": "<f8",
        "version": 1,
        "syclobj": 0,
    }
    double = type("Double", (), {"__sycl_usm_array_interface__": interface})()
    assert array_fields(double).layout == ("C" if flags.c_contiguous else "F" if flags.f_contiguous else "A")


def test_is_usm_array_asks_for_the_protocol_only(usm_array):
    """A NumPy array speaks another protocol."""
    assert is_usm_array(usm_array(np.zeros(2)))
    assert not is_usm_array(np.zeros(2))


def test_array_type_has_no_strides_where_the_shape_implies_them(usm_array):
    """Only "C" is implied: an "F" array brings its strides as any other."""
    plain = np.zeros((3, 4))
    assert not array_type(array_fields(usm_array(plain))).has_strides
    assert array_type(array_fields(usm_array(plain.T))).has_strides
    assert array_type(array_fields(usm_array(plain[:, ::2]))).has_strides


def test_array_type_of_rank_zero(usm_array):
    """Rank 0 is C-contiguous."""
    type_ = array_type(array_fields(usm_array(np.array(3.0))))
    assert (type_.ndim, type_.layout, type_.dtype) == (0, "C", types.float64)


@pytest.mark.parametrize("dtype", [[("a", "i4")], "M8[s]", "U3", "S2", "O"], ids=str)
def test_array_type_refuses_what_is_no_number(usm_array, dtype):
    """Structures, dates, texts and objects have no meaning in a kernel."""
    with pytest.raises(TypeError, match="array dtype must be a number or bool, got"):
        array_type(array_fields(usm_array(np.zeros(2, dtype))))


@pytest.mark.parametrize("dtype", ["g", ">f4"])
def test_array_type_refuses_numbers_that_kernels_lack(usm_array, dtype):
    """No device has the host's extended floats, nor foreign byte order."""
    with pytest.raises(TypeError, match="array dtype must be one that kernels have, got"):
        array_type(array_fields(usm_array(np.zeros(2, dtype))))


def test_array_type_does_not_depend_on_the_queue(usm_array):
    """Arrays of two queues share compiled code."""
    array = np.zeros(3)
    assert array_type(array_fields(usm_array(array, "one"))) == array_type(array_fields(usm_array(array, "two")))


VARIANTS = [
    UsmArrayType(types.float32, 1, "C"),
    UsmArrayType(types.float64, 1, "C"),
    UsmArrayType(types.float32, 2, "C"),
    UsmArrayType(types.float32, 1, "A"),
    UsmArrayType(types.float32, 1, "C", readonly=True),
    UsmArrayType(types.float32, 1, "C", usm_type="device"),
    UsmArrayType(types.float32, 1, "C", usm_type="shared"),
    DeviceArrayType("cupy", types.float32, 1, "C"),
    DeviceArrayType("cupy", types.float32, 1, "C", readonly=True),
    DeviceArrayType("torch", types.float32, 1, "C"),
    ArrayType(types.float32, 1, "C"),
    ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL),
    ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL, extents=(4,)),
]


def test_usm_array_types_differ_in_each_property():
    """Element, rank, layout, access, USM kind and address space each make another type."""
    assert len(set(VARIANTS)) == len(VARIANTS)
    assert len({repr(each) for each in VARIANTS}) == len(VARIANTS)


@pytest.mark.parametrize("type_", VARIANTS, ids=repr)
def test_usm_array_type_survives_pickle(type_, pickled):
    """A copy is equal, hashes equally, and keeps what distinguishes it."""
    copy = pickled(type_)
    assert copy == type_
    assert hash(copy) == hash(type_)
    assert vars(copy).keys() - {"_hash"} == vars(type_).keys() - {"_hash"}
    assert (copy.address_space, copy.extents, copy.mutable) == (type_.address_space, type_.extents, type_.mutable)


def test_usm_array_type_is_no_numpy_array_type():
    """Neither equality nor conversion lets a USM array pass for a NumPy array."""
    usm, numpy = UsmArrayType(types.float32, 1, "C"), types.Array(types.float32, 1, "C")
    assert usm != numpy
    assert usm.can_convert_to(None, numpy) is None


def test_usm_array_type_copy_replaces_and_keeps():
    """A copy changes what is named, and keeps the memory's kind."""
    type_ = UsmArrayType(types.float32, 2, "A", readonly=True, usm_type="device")
    copy = type_.copy(ndim=1, layout="C")
    assert copy == UsmArrayType(types.float32, 1, "C", readonly=True, usm_type="device")


def test_usm_array_type_in_kernel_forgets_the_usm_kind():
    """Code of a kernel does not depend on how memory was allocated."""
    kinds = [UsmArrayType(types.float32, 1, "C", usm_type=kind).in_kernel() for kind in ("device", "shared", "host")]
    assert set(kinds) == {ArrayType(types.float32, 1, "C")}
    assert {type(each) for each in kinds} == {ArrayType}


def test_arrays_of_kernels_keep_address_space_and_extents():
    """They unify to the weaker layout among themselves, and never with what the host has."""
    local = ArrayType(types.float32, 2, "C", address_space=AddressSpace.LOCAL, extents=(4, 2))
    assert local.in_kernel() is local
    assert repr(local) == "local_array(float32, 4 x 2, C)"
    assert local.copy(dtype=types.int32).extents == (4, 2)
    assert local.copy(ndim=1).extents is None
    weaker = local.unify(None, ArrayType(types.float32, 2, "F", address_space=AddressSpace.LOCAL))
    assert weaker == ArrayType(types.float32, 2, "A", address_space=AddressSpace.LOCAL)
    assert ArrayType(types.float32, 1, "C").unify(None, UsmArrayType(types.float32, 1, "C")) is None
    assert ArrayType(types.float32, 1, "C").can_convert_to(None, UsmArrayType(types.float32, 1, "C")) is None


def test_usm_array_types_unify_to_the_weaker_layout():
    """A variable that is either of two arrays has strides, and is writable if both are."""
    first = UsmArrayType(types.float32, 2, "C")
    second = UsmArrayType(types.float32, 2, "F", readonly=True)
    assert first.unify(None, second) == UsmArrayType(types.float32, 2, "A", readonly=True)
    assert first.unify(None, first) == first


@pytest.mark.parametrize(
    "other",
    [
        UsmArrayType(types.float64, 2, "C"),
        UsmArrayType(types.float32, 1, "C"),
        ArrayType(types.float32, 2, "C"),
        ArrayType(types.float32, 2, "C", address_space=AddressSpace.LOCAL),
        types.float32,
    ],
    ids=repr,
)
def test_usm_array_types_do_not_unify_across_elements_ranks_or_memories(other):
    """One pointer cannot be of two kinds."""
    assert UsmArrayType(types.float32, 2, "C").unify(None, other) is None
