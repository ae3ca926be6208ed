"""Functions that passes declare: each on a line of its own, whatever stood at the end of the module."""

from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_spirv.emission.back_end.products import name_products
from kapi_spirv.emission.speed.remainders import name_remainders


def test_remainder_after_a_broadcast_of_a_linear_group(validated_compile):
    def kernel(item, x, y):
        i = item.get_global_linear_id()
        first = kapi.group_broadcast(item.get_group(), np.int16(3), 0)
        y[i] = x[i] % y[i] + first

    validated_compile(kernel, "nd_item2, float32[:], float32[:]")


def test_last_line_need_not_end():
    remainder = "  %r = frem float %a, %b\n}\ndeclare void @last()"
    product = (
        "define i64 @f(i64 %a, i64 %b) {\n  %x = zext i64 %a to i128\n  %y = zext i64 %b to i128\n"
        "  %p = mul nuw i128 %x, %y\n  %h = lshr i128 %p, 64\n  %r = trunc nuw i128 %h to i64\n  ret i64 %r\n}\n"
        "declare void @last()"
    )
    for named, text in ((name_remainders, remainder), (name_products, product)):
        assert "\ndeclare spir_func" in named(text)
