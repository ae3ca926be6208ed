"""Weak types and the values of the kernel language."""

from __future__ import annotations

import pytest
from numba import types

from kapi_sim import MemoryScope
from kapi_types import (
    GroupType,
    ItemType,
    NdItemType,
    WeakBool,
    WeakFloat,
    WeakInt,
    WideInt,
    is_weak,
    weak_bool,
    weak_float,
    weak_int,
    wide_int,
)
from kapi_types.kernel_api import ConstantType, EnumerationType


@pytest.mark.parametrize(
    ("weak", "strong"),
    [(weak_int, types.int64), (wide_int, types.uint64), (weak_float, types.float64), (weak_bool, types.boolean)],
)
def test_weak_types_are_not_the_strong_types_of_their_size(weak, strong):
    """Held alike, but of no NumPy type."""
    assert weak != strong
    assert strong != weak
    assert is_weak(weak)
    assert not is_weak(strong)


def test_weak_types_are_values(pickled):
    """Each is one type, however it was made."""
    assert WeakInt() == weak_int != wide_int == WideInt()
    assert WeakFloat() == weak_float
    assert WeakBool() == weak_bool
    assert [pickled(each) for each in (weak_int, wide_int, weak_bool)] == [weak_int, wide_int, weak_bool]


def test_weak_types_cast_python_values():
    """The type that a constant is converted to."""
    assert weak_int.cast_python_value(True) == 1
    assert wide_int.cast_python_value(2**64 - 1) == 2**64 - 1
    assert weak_float.cast_python_value(2) == 2.0


@pytest.mark.parametrize("class_", [ItemType, NdItemType, GroupType])
def test_index_space_types_have_one_to_three_dimensions(class_, pickled):
    """SYCL's limit; each number of dimensions is a type of its own."""
    assert len({class_(1), class_(2), class_(3)}) == 3
    assert pickled(class_(2)) == class_(2)
    with pytest.raises(ValueError, match="ndim must be 1, 2 or 3, got 4"):
        class_(4)


def test_index_space_types_differ_by_owner():
    """An Item is no NdItem."""
    assert len({ItemType(1), NdItemType(1), GroupType(1)}) == 3


def test_constant_types_say_which_constant():
    """The type alone is the value."""
    assert ConstantType(MemoryScope.DEVICE) == ConstantType(MemoryScope.DEVICE)
    assert ConstantType(MemoryScope.DEVICE) != ConstantType(MemoryScope.WORK_GROUP)
    assert ConstantType(1) != ConstantType(True)
    assert EnumerationType(MemoryScope).name == "enumeration(MemoryScope)"
