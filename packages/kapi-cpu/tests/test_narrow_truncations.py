"""Arithmetic that is cut off to 16 bits or fewer: the results are those of 64 bits."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes

import kapi_sim as kapi
from kapi_cpu import host_target
from kapi_cpu.emission.narrow_truncations import narrow_truncations
from kapi_lowering.emission.pipeline import run_pass


def pixels(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    x, y = int(a[i]), int(b[i])
    out[i, 0] = (66 * x + 129 * y - 300) >> 8
    out[i, 1] = x * y * 77 - (x << 3) * y
    out[i, 2] = ((x * 515 - y) >> 3) ^ (y | -200)
    out[i, 3] = ((x - 300) * (y + 7) & 4095) >> 4
    out[i, 4] = x * 3 - y if x > y else (y - x) * 70000
    out[i, 5] = (x * y) >> 9
    out[i, 6] = ((x + y) >> 1) + (x * y > 1000)
    out[i, 7] = max(x * y, 5) + x * y


def in_numpy(a, b, out):
    x, y = a.astype(np.int64), b.astype(np.int64)
    columns = (
        (66 * x + 129 * y - 300) >> 8,
        x * y * 77 - (x << 3) * y,
        ((x * 515 - y) >> 3) ^ (y | -200),
        ((x - 300) * (y + 7) & 4095) >> 4,
        np.where(x > y, x * 3 - y, (y - x) * 70000),
        (x * y) >> 9,
        ((x + y) >> 1) + (x * y > 1000),
        np.maximum(x * y, 5) + x * y,
    )
    for number, column in enumerate(columns):
        out[:, number] = column.astype(out.dtype)


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("stored", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_lower_bits_are_those_of_64_bits(dtype, stored, shape):
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    a, b = (rng.integers(info.min, info.max, 300, dtype=dtype, endpoint=True) for _ in range(2))
    a[:4], b[2:6] = info.min, info.max
    out, right = np.zeros((300, 8), stored), np.zeros((300, 8), stored)
    in_numpy(a, b, right)
    Cpu(replace(host_target(), **SHAPES[shape])).call(kapi.kernel(pixels), kapi.Range(300), a, b, out)
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize(
    ("shift", "last", "is_narrow"),
    [
        (8, "i8", True),
        (9, "i8", False),  # the eighth bit is the 17th of the product
        (1, "i16", False),
        (0, "i16", True),
    ],
)
def test_a_shift_needs_as_many_more_bits(shift, last, is_narrow):
    text = f"""
define {last} @f(i8 %a, i16 %b) {{
  %x = zext i8 %a to i32
  %y = sext i16 %b to i32
  %p = mul nsw i32 %x, %y
  %q = ashr exact i32 %p, {shift}
  %r = trunc i32 %q to {last}
  ret {last} %r
}}
"""
    found = run_pass(narrow_truncations, text)
    assert ("mul i16" in found, "mul nsw i32" in found) == (is_narrow, not is_narrow)


def test_results_with_further_users_keep_their_width():
    text = """
define i8 @f(i8 %a, ptr %p) {
  %x = zext i8 %a to i32
  %s = mul i32 %x, %x
  store i32 %s, ptr %p
  %t = add i32 %s, 7
  %r = trunc i32 %t to i8
  ret i8 %r
}
"""
    assert "i16" not in run_pass(narrow_truncations, text)
