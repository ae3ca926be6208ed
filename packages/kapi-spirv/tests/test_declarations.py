"""Functions that passes declare, each once."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

import kapi_sim as kapi
from kapi_lowering.emission.pipeline import run_pass
from kapi_spirv.emission.legalize.ldexp import lower_ldexp
from kapi_spirv.emission.legalize.wide_products import lower_wide_products
from kapi_spirv.emission.optimize.float_remainders import lower_frem


def test_remainder_after_a_broadcast_of_a_linear_group(validated_compile):
    def kernel(item, x, y):
        i = item.get_global_linear_id()
        first = kapi.group_broadcast(item.get_group(), np.int16(3), 0)
        y[i] = x[i] % y[i] + first

    validated_compile(kernel, "nd_item2, float32[:], float32[:]")


@pytest.mark.parametrize(
    ("each", "body", "declared"),
    [
        (lower_frem, "%r = frem float %a, %b", "float @_Z4fmodff(float, float)"),
        (lower_ldexp, "%r = call float @llvm.ldexp.f32.i32(float %a, i32 3)", "float @_Z5ldexpfi(float, i32)"),
        (
            lower_wide_products,
            "%x = zext i64 %n to i128\n  %p = mul i128 %x, %x\n  %h = lshr i128 %p, 64\n  %r = trunc i128 %h to i64",
            "i64 @_Z6mul_himm(i64, i64)",
        ),
    ],
)
def test_functions_are_declared_once(each, body, declared):
    function = "define void @{}(float %a, float %b, i64 %n) {{\n  {}\n  ret void\n}}\n"
    text = function.format("f", body) + function.format("g", body) + "declare float @llvm.ldexp.f32.i32(float, i32)\n"
    changed = run_pass(each, text)
    llvm.parse_assembly(changed).verify()
    assert changed.count(f"\ndeclare spir_func {declared}") == 1
    assert " i128 " not in changed
