"""Float types that a target lacks: refused with the lines that bring them in, and only if the module needs them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import types

from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises
from kapi_spirv import SpirvTarget, compile_spirv
from kapi_types import ArrayType, ItemType
from kapi_types.weak import weak_float, weak_int

WITHOUT = SpirvTarget(has_fp64=False, has_fp16=False)
F4, F8, I4 = (ArrayType(type_, 1, "C") for type_ in (types.float32, types.float64, types.int32))


def third(x):
    return x / 3


def test_target_without_fp64_takes_weak_floats_that_join_float32(validated_compile):
    """Literals, loops over them and conversions leave no double in the module."""

    def mean(item, a, n):
        i = item.get_id(0)
        total = 0.0
        for k in range(n):
            total += a[k] * 0.5 * k + math.pi
        a[i] = total / np.float32(n) + math.sqrt(np.float32(2.0))

    module = validated_compile(mean, [ItemType(1), F4, weak_int], target=WITHOUT)
    assert "Float64" not in module.capabilities


def test_target_without_fp64_names_each_line(validated_compile):
    """Divisions and functions of integers, mixtures, and arguments; also in device functions."""

    def wide(item, a, n, d, s):
        i = item.get_id(0)
        a[i] = n[i] / n[0]
        a[i] += third(n[i])
        a[i] += math.sqrt(n[i])
        a[i] += a[i] * n[i]
        a[i] += d[i] + s
        a[i] += a[i] * 0.25

    with pytest.raises(KernelCompilationError) as caught:
        validated_compile(wide, [ItemType(1), F4, I4, F8, weak_float], target=WITHOUT)
    text = str(caught.value)
    first = wide.__code__.co_firstlineno
    assert f"wide ({__file__}:{first}) uses float64, which the device does not have:" in text
    for line, said in (
        (third.__code__.co_firstlineno + 1, "float64 is made of int32, Python int: convert to numpy.float32 first"),
        (first, "argument `d` is a float64 array of rank 1: convert it to float32"),
        (first, "argument `s` is a Python float, of 64 bits: pass numpy.float32"),
        (first + 2, "float64 is made of int32, int32: convert to numpy.float32 first"),
        (first + 3, "float64 is made of int32"),
        (first + 4, "float64 is made of int32"),
        (first + 5, "float64 is made of float32, int32"),
    ):
        assert f":{line}: {said}" in text
    assert "    a[i] = n[i] / n[0]" in text
    assert f":{first + 7}:" not in text


def test_target_without_fp16_names_the_conversion(validated_compile):
    """The same for float16, where it is computed in."""

    def rounded(item, a):
        i = item.get_id(0)
        a[i] = np.float16(a[i]) * np.float16(3.0)

    with raises(KernelCompilationError, "needs-fp16"):
        validated_compile(rounded, [ItemType(1), F4], target=WITHOUT)


def test_device_function_is_held_to_its_target():
    """Functions for other modules, too."""
    assert compile_spirv(third, [types.float32], device_function=True, target=WITHOUT)[1] == types.float32
    with raises(KernelCompilationError, "needs-fp64"):
        compile_spirv(third, [types.int32], device_function=True, target=WITHOUT)
