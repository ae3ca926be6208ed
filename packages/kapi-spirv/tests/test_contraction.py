"""Permission to contract, in modules for drivers that take it."""

from __future__ import annotations

import pytest
from numba import types

from kapi_sim.language import KernelOptions
from kapi_spirv import SpirvTarget, contraction
from kapi_types import ArrayType, ItemType

F32 = ArrayType(types.float32, 1, "C")
TARGET = SpirvTarget(extensions=(contraction.EXTENSION,))


def saxpy(item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


def count(item, a, x, y):
    i = item.get_id(0)
    y[i] = i


@pytest.fixture
def plain(validated_compile):
    return validated_compile(saxpy, (ItemType(1), types.float32, F32, F32), target=TARGET)


def test_contraction_is_not_permitted_unless_asked_for(plain):
    assert contraction.EXTENSION not in plain.extensions
    assert "FPFastMathModeINTEL" not in plain.capabilities


@pytest.mark.parametrize("flags", [{"contract"}, {"contract", "nsz"}, {"reassoc"}, True], ids=str)
def test_contraction_is_declared_and_valid(validated_compile, flags):
    options = KernelOptions.of(fastmath=flags)
    module = validated_compile(saxpy, (ItemType(1), types.float32, F32, F32), target=TARGET, options=options)
    assert module.extensions == (contraction.EXTENSION,)
    assert "FPFastMathModeINTEL" in module.capabilities


def test_contraction_needs_an_extension_that_the_target_names(validated_compile):
    module = validated_compile(
        saxpy, (ItemType(1), types.float32, F32, F32), options=KernelOptions.of(fastmath={"contract"})
    )
    assert module.extensions == ()


def test_contraction_leaves_modules_without_floats_as_they_are(validated_compile):
    options = KernelOptions.of(fastmath={"contract"})
    integers = ArrayType(types.int64, 1, "C")
    module = validated_compile(count, (ItemType(1), types.float32, integers, integers), target=TARGET, options=options)
    assert module.extensions == ()


def test_contraction_leaves_other_flags_alone(plain):
    assert contraction.allow(plain.code, {"nsz", "nnan"}) == plain.code
    assert contraction.allow(plain.code, {"contract"}) != plain.code
