"""Integers of 64 bits that fit in 32: the results are those of 64 bits."""

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu.emission.narrow_integers import narrow_integers
from kapi_lowering.emission.pipeline import run_pass


def mixed(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    x, y, z = int(a[i]), int(b[i]), int(out[i, 0])
    out[i, 0] = (66 * x + 129 * y + 128) >> 8
    out[i, 1] = x * y * 65536 - (x << 20) * 255
    out[i, 2] = (x & -8) ^ (y | -200)
    out[i, 3] = (x - 300) // (y | 1) + (x - 300) % 7
    out[i, 4] = min(x, y) - max(x, -y) if x > y else (z & 1023) * y
    out[i, 5] = ((x * x * x) >> 3) * (x * y) + (z & 255) * (z & 65535)
    out[i, 6] = float(x - y) / 4 > (x * 3 - 7)
    out[i, 7] = (z >> 33) + ((z & 0xFFFFFFFF) >> 3) + (x << 31)


def in_numpy(a, b, out):
    x, y, z = a.astype(np.int64), b.astype(np.int64), out[:, 0].copy()
    out[:, 0] = (66 * x + 129 * y + 128) >> 8
    out[:, 1] = x * y * 65536 - (x << 20) * 255
    out[:, 2] = (x & -8) ^ (y | -200)
    out[:, 3] = (x - 300) // (y | 1) + (x - 300) % 7
    out[:, 4] = np.where(x > y, np.minimum(x, y) - np.maximum(x, -y), (z & 1023) * y)
    out[:, 5] = ((x * x * x) >> 3) * (x * y) + (z & 255) * (z & 65535)
    out[:, 6] = (x - y) / 4 > (x * 3 - 7)
    out[:, 7] = (z >> 33) + ((z & 0xFFFFFFFF) >> 3) + (x << 31)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_results_are_those_of_64_bits(dtype):
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    a, b = (rng.integers(info.min, info.max, 100, dtype=dtype, endpoint=True) for _ in range(2))
    a[:4], b[2:6] = info.min, info.max
    out = rng.integers(-(2**62), 2**62, (100, 8))
    right = out.copy()
    with np.errstate(over="ignore"):
        in_numpy(a, b, right)
    Cpu().call(kapi.kernel(mixed), kapi.Range(100), a, b, out)
    np.testing.assert_array_equal(out, right)


def test_what_may_be_larger_keeps_its_width():
    text = """
define i64 @f(i8 %a, i16 %b, i64 %c) {
  %x = zext i8 %a to i64
  %y = sext i16 %b to i64
  %p = mul i64 %x, %y
  %q = mul i64 %p, 256
  %r = mul i64 %q, 2
  %m = and i64 %c, 255
  %s = add i64 %m, %c
  %t = add i64 %r, %s
  ret i64 %t
}
"""
    found = run_pass(narrow_integers, text)
    assert found.count("mul i32") == 2
    assert found.count("and i32") == 1
    assert [line.count("i64") > 0 for line in found.splitlines() if " add " in line or " mul i64" in line] == [True] * 3
