"""The compiled module and the layout of its one by-value argument."""

from __future__ import annotations

import ctypes
import dataclasses
import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from kapi_sim import AddressSpace
from kapi_spirv import PackedLayout, SpirvTarget
from kapi_types import ArrayType, ItemType, NdItemType, weak_bool, weak_float, weak_int

CTYPES = {
    "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16, "i": ctypes.c_int32,
    "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "e": ctypes.c_uint16, "f": ctypes.c_float,
    "d": ctypes.c_double,
}  # fmt: skip
F32 = ArrayType(types.float32, 1, "C")


@given(st.lists(st.sampled_from(sorted(CTYPES)), min_size=1, max_size=12))
def test_layout_is_that_of_a_c_structure(codes):
    """Offsets and size are what a C compiler gives, rounded up to 8 bytes."""
    layout = PackedLayout.of([(f"p{index}", "value", code) for index, code in enumerate(codes)])
    fields = [(f"p{index}", CTYPES[code]) for index, code in enumerate(codes)]
    structure = type("Args", (ctypes.Structure,), {"_fields_": fields})
    assert [field.offset for field in layout.fields] == [getattr(structure, name).offset for name, _ in fields]
    assert layout.size == -(-ctypes.sizeof(structure) // 8) * 8
    assert struct.calcsize(layout.format) == layout.size


def test_layout_packs_what_a_structure_holds():
    """The same bytes as ctypes writes."""
    layout = PackedLayout.of([("a", "value", "b"), ("b", "value", "d"), ("c", "value", "H"), ("d", "pointer", "Q")])
    fields = [("a", ctypes.c_int8), ("b", ctypes.c_double), ("c", ctypes.c_uint16), ("d", ctypes.c_uint64)]
    structure = type("Args", (ctypes.Structure,), {"_fields_": fields})
    assert layout.pack([-3, 0.1, 65535, 2**63]) == bytes(structure(-3, 0.1, 65535, 2**63))


def test_layout_without_fields_is_one_word():
    """OpenCL has no empty structures."""
    layout = PackedLayout.of([])
    assert (layout.size, layout.format, layout.pack([])) == (8, "<8x", bytes(8))


def test_layout_refuses_what_does_not_fit():
    """More values than fields, or a value out of its field's range."""
    layout = PackedLayout.of([("n", "value", "i")])
    with pytest.raises(struct.error, match="pack expected 1 items for packing"):
        layout.pack([1, 2])
    with pytest.raises(struct.error):
        layout.pack([2**31])


def everything(item, a, f, s, tile, n, x, flag, h):
    a[0] = n


SIGNATURE = [
    ItemType(2),
    F32,
    ArrayType(types.int64, 2, "F"),
    ArrayType(types.int8, 1, "A"),
    ArrayType(types.float64, 2, "C", address_space=AddressSpace.LOCAL),
    weak_int,
    weak_float,
    weak_bool,
    types.int16,
]


def test_layout_of_a_kernel_follows_its_parameters(validated_compile):
    """The range, then for each parameter pointer, shape and strides, or its value."""
    module = validated_compile(everything, SIGNATURE)
    assert [(field.owner, field.role, field.code) for field in module.layout.fields] == [
        ("range", "range", "q"),
        ("range", "range", "q"),
        ("a", "pointer", "Q"),
        ("a", "shape", "q"),
        ("f", "pointer", "Q"),
        ("f", "shape", "q"),
        ("f", "shape", "q"),
        ("f", "stride", "q"),
        ("f", "stride", "q"),
        ("s", "pointer", "Q"),
        ("s", "shape", "q"),
        ("s", "stride", "q"),
        ("tile", "shape", "q"),
        ("tile", "shape", "q"),
        ("n", "value", "q"),
        ("x", "value", "d"),
        ("flag", "value", "B"),
        ("h", "value", "h"),
    ]
    kinds = [(parameter.name, parameter.kind, parameter.has_strides) for parameter in module.parameters]
    assert kinds == [
        ("a", "array", False),
        ("f", "array", True),
        ("s", "array", True),
        ("tile", "local", False),
        ("n", "scalar", False),
        ("x", "scalar", False),
        ("flag", "scalar", False),
        ("h", "scalar", False),
    ]


def test_layout_of_an_nd_item_kernel_has_no_range(validated_compile):
    """Such a kernel is submitted exactly and asks the device."""
    module = validated_compile(lambda item, a: None, [NdItemType(2), F32])
    assert [field.role for field in module.layout.fields] == ["pointer", "shape"]
    assert (module.index_space, module.ndim) == ("nd_item", 2)


@pytest.mark.parametrize(
    ("type_", "code"),
    [
        (types.int8, "b"),
        (types.int16, "h"),
        (types.int32, "i"),
        (types.int64, "q"),
        (types.uint8, "B"),
        (types.uint16, "H"),
        (types.uint32, "I"),
        (types.uint64, "Q"),
        (types.float32, "f"),
        (types.float64, "d"),
        (types.boolean, "B"),
        (weak_int, "q"),
        (weak_float, "d"),
        (weak_bool, "B"),
    ],
    ids=str,
)
def test_layout_of_scalars(validated_compile, type_, code):
    """Each scalar type as an argument, stored to an array that takes it."""

    def store(item, a, x):
        a[item.get_id(0)] = x

    module = validated_compile(store, [ItemType(1), ArrayType(types.float32, 1, "C"), type_])
    assert module.layout.fields[-1].code == code


def test_module_survives_pickle(validated_compile):
    """With all that a launch needs, as a disk cache stores it."""
    module = validated_compile(everything, SIGNATURE)
    copy = pickle.loads(pickle.dumps(module))
    assert copy == module
    assert copy.layout.pack(range(len(module.layout.fields))) == module.layout.pack(range(len(module.layout.fields)))


def test_module_describes_itself(validated_compile):
    """Names for messages and for the driver, and what a device must have."""
    module = validated_compile(everything, SIGNATURE)
    assert (module.name, module.entry_point) == ("everything", "kapi_everything")
    assert (module.index_space, module.ndim, module.target) == ("item", 2, SpirvTarget())
    assert {"Kernel", "Addresses", "Int64"} <= set(module.capabilities)
    assert module.extensions == ()
    assert module.entry_point.encode() in module.code
    assert "code" not in repr(module)


def test_module_cannot_be_changed(validated_compile):
    """It is shared by all launches."""
    module = validated_compile(everything, SIGNATURE)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'code'"):
        module.code = b""
