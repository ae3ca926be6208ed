"""Numbers of lanes that are known only at run time stay within their vectors, wherever LLVM moves their use."""

from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest
from cpu_backend import SHAPES, Cpu, shapes

import kapi_sim as kapi
from kapi_cpu import host_target
from kapi_cpu.emission.lane_numbers import bound_lane_numbers, has_lane_numbers


def ends(item: kapi.Item, a, out):
    i = item.get_id(0)
    if i == 2**31 + 7:
        out[0] = i
    if i == item.get_range(0) - 1:
        out[1] = i
    if a[i] == 3:
        out[2] = i


def picked(item: kapi.NdItem, a, mask, out):
    i, group = item.get_global_id(0), item.get_sub_group()
    out[i] = -1
    if mask != 0:
        out[i] = kapi.select_from_group(group, a[i], 63 - kapi.clz(mask))


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("size", [1, 64, 100, 1024, 2048, 5000])
def test_few_work_items_store_their_numbers(shape, size):
    a, out = np.zeros(size, np.int64), np.zeros(3, np.int64)
    a[size // 2] = 3
    Cpu(replace(host_target(), **SHAPES[shape])).call(kapi.kernel(ends), kapi.Range(size), a, out)
    np.testing.assert_array_equal(out, [0, size - 1, size // 2])


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("mask", [0, 1, 2])
def test_lane_of_a_mask_is_counted_only_if_there_is_one(shape, mask):
    a, out = np.arange(64) + 10, np.zeros(64, np.int64)
    backend = Cpu(replace(host_target(), **SHAPES[shape]))
    backend.call(kapi.kernel(picked), kapi.NdRange(64, 64), a, np.int64(mask), out)
    lanes = backend.lanes[0]
    first = a - np.arange(64) % lanes
    np.testing.assert_array_equal(out, [np.full(64, -1), first, first + min(1, lanes - 1)][mask])


TEXT = """
define i64 @f(<6 x i64> %a, <4 x ptr> %"b c", i64 %lane, i32 %1) {
  %x = extractelement <6 x i64> %a, i64 %lane, !kapi !0
  %3 = extractelement <4 x ptr> %"b c", i32 %1
  %4 = extractelement <4 x ptr> <ptr null, ptr null, ptr null, ptr null>, i32 %1
  %5 = extractelement <6 x i64> %a, i64 2
  ret i64 %x
}

!0 = !{}
"""


def test_numbers_are_frozen_and_bounded():
    text = bound_lane_numbers(TEXT)
    llvm.parse_assembly(text).verify()
    assert text.count(" = freeze i64 %lane") == 1
    assert text.count(" = freeze i32 %1") == 2
    assert text.count(", 7\n") == 1
    assert text.count(", 3\n") == 2
    assert has_lane_numbers(TEXT)
    assert not has_lane_numbers("\n".join(TEXT.split("\n")[-6:]))
