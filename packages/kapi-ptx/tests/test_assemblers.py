"""Faults of LLVM's back end and of NVIDIA's assembler, and the code that is emitted instead."""

from __future__ import annotations

import math
import re

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba import types

from kapi_lowering.emission.pipeline import run_pass
from kapi_ptx import PtxTarget
from kapi_ptx.emission.legalize.shift_counts import mask_shift_counts
from kapi_ptx.emission.optimize.early_loads import schedule_loads_early
from kapi_ptx.emission.workarounds.saturations import hide_ones
from kapi_ptx.emission.workarounds.signs import write_signs_out
from kapi_ptx.emission.workarounds.truncating_stores import store_bits
from kapi_types import ArrayType, ItemType

TARGET = PtxTarget(90)


def negative(item, x, y):
    i = item.get_id(0)
    y[i] = -x[i]


def absolute(item, x, y):
    i = item.get_id(0)
    y[i] = abs(x[i])


def by_a_negative_power(item, x, y):
    i = item.get_id(0)
    y[i] = x[i] * np.int16(-8)


@pytest.mark.parametrize("kernel", [negative, absolute, by_a_negative_power])
def test_negatives_of_16_bits_are_none_that_the_assembler_widens_wrongly(assembled_compile, kernel):
    """PTX of `-x[i]`, once it had ``neg.s16``; -(-32768) was stored as 32768."""
    ptx = assembled_compile(kernel, "item1, int16[:], int32[:]", target=TARGET).ptx
    assert "cvt.s32.s16" in ptx
    assert "neg.s16" not in ptx
    assert "abs.s16" not in ptx


def remainder_of_absolute(item, x, y):
    i = item.get_id(0)
    y[i] = abs(x[i]) % 9


@pytest.mark.parametrize("type_", ["int8", "int16", "int32", "int64"])
def test_absolute_values_may_be_negative_for_the_assembler(assembled_compile, type_):
    """The least integer's is itself; once the assembler left out what `%` does for a negative number."""
    ptx = assembled_compile(remainder_of_absolute, f"item1, {type_}[:], {type_}[:]", target=TARGET).ptx
    assert len(re.findall(r"abs\.s(?:16|64)|abs\.s32 \t%r\d", ptx)) == 0
    assert "xor.b" in ptx or type_ in ("int8", "int16")


PACKED = np.dtype([("flag", np.uint8), ("x", np.float32), ("y", np.float64)])


def test_a_float_without_alignment_is_stored_by_bits_of_a_register_of_their_own(assembled_compile):
    """Of 1.5 the assembler stored the byte 1 in front, the float as an integer."""

    def halves(item, records, y):
        i = item.get_id(0)
        records[i].x = y[i] * np.float32(0.5)
        records[i].y = np.float64(y[i]) * 0.5

    array = ArrayType(numba.from_dtype(PACKED), 1, "C", aligned=False)
    ptx = assembled_compile(halves, [ItemType(1), array, ArrayType(types.float32, 1, "C")], target=TARGET).ptx
    assert ptx.count("st.global.b8") == 12
    assert not re.search(r"st\.\S*b8 *\t\[\S+\], %r", ptx)


@pytest.mark.parametrize(
    ("store", "registers"),
    [
        ("st.global.b8 \t[%rd1+3], %r7", 1),
        ("@%p1 st.shared.b16 \t[%rd1], %r7", 1),
        ("st.v2.b8 \t[%rd1], {%rs1, %rs2}", 2),
        ("st.b8 \t[%rd1], %rs1", 1),
        ("st.global.b16 \t[%rd1], %rs1", 0),
        ("st.global.b32 \t[%rd1], %r1", 0),
        ("ld.global.b8 \t%rs1, [%rd1]", 0),
    ],
)
def test_stores_of_a_part_of_a_register_are_of_a_copy(store, registers):
    text = f"\t{store};\n"
    assert store_bits(text).count("mov.b") == registers
    assert (store_bits(text) == text) == (registers == 0)


def test_instructions_of_other_types_stay():
    text = "\tneg.s32 \t%r1, %r2;\n\tabs.s16x2 \t%r1, %r2;\n\tneg.f16 \t%rs1, %rs2;\n"
    assert write_signs_out(text) == text
    assert write_signs_out("\tneg.s16 \t%rs1, %rs2;\n") == "\tmul.lo.s16 \t%rs1, %rs2, -1;\n"


@pytest.mark.parametrize("word", ["np.right_shift", "np.left_shift"])
@pytest.mark.parametrize("types", ["uint32[:], uint64[:], uint64[:]", "int64[:], int64[:], int64[:]"])
def test_counts_of_shifts_are_compared_in_all_their_bits(assembled_compile, word, types):
    """Once the count's lower half was all that the shift saw, and 2**32 positions were none."""
    names = {"np": np}
    exec(f"def kernel(item, x, n, y):\n    i = item.get_id(0)\n    y[i] = {word}(x[i], n[i])", names)
    ptx = assembled_compile(names["kernel"], f"item1, {types}", target=TARGET).ptx
    assert "setp.lt.u64" in ptx or "setp.gt.u64" in ptx or "min.u64" in ptx
    assert re.search(r"ld\.global\.b32 \t%r\d", ptx) is None  # of half a count


def power(item, x, y):
    i = item.get_id(0)
    y[i] = x[i] ** y[i]


def test_shifts_of_libdevice_go_beyond_the_width_as_in_ptx(assembled_compile):
    """Its `pow` finds out whether an exponent is even by such a shift; by a masked count, 2.0**63 was odd."""
    ptx = assembled_compile(power, "item1, float64[:], float64[:]", target=TARGET).ptx
    (count,) = re.findall(r"shl\.b64 \t%rd\d+, %rd\d+, (%r\d+);", ptx)
    (masked,) = re.findall(rf"and\.b32 \t{count}, (%r\d+), 63;", ptx)
    assert re.search(rf"setp\.lt\.u32 \t%p\d+, {masked}, 64;", ptx)


def shifted_with_libdevice(item, x, y):
    i = item.get_id(0)
    x[i] = x[i] >> y[i]
    x[i + 1] = np.int64(math.pow(x[i], 0.3))


def test_counts_are_masked_with_functions_of_libdevice_too(assembled_compile):
    """LLVM optimises once more when these are linked, and takes masks for needless with a comparison."""
    ptx = assembled_compile(shifted_with_libdevice, "item1, uint64[:], uint64[:]", target=TARGET).ptx
    (count,) = re.findall(r"shr\.u64 \t%rd\d+, %rd\d+, (%r\d+);", ptx)
    assert re.search(rf"and\.b32 \t{count}, %r\d+, 63;", ptx)


SHIFTS = """\
define void @f(i64 %x, i64 %n, i32 %y) {
  %low = trunc i64 %n to i32
  %kept = and i64 %n, 31
  %a = lshr exact i64 %x, %n
  %b = shl i32 %y, %low
  %c = lshr i32 %y, %y
  %d = shl i64 %x, %kept
  %e = shl i64 %x, 5
  %g = ashr i64 %x, %n
  ret void
}
"""


def test_only_counts_that_may_lose_bits_are_masked():
    masked = run_pass(mask_shift_counts, SHIFTS)
    llvm.parse_assembly(masked).verify()
    assert re.search(r"(%\d+) = and i64 %n, 63\n  %a = lshr exact i64 %x, \1\n", masked)
    assert re.search(r"(%\d+) = and i32 %low, 31\n  %b = shl i32 %y, \1\n", masked)
    assert masked.count(" = ") == SHIFTS.count(" = ") + 2


NUMBERED = """\
declare float @llvm.sqrt.f32(float)

define float @f(ptr addrspace(1) %0, float %1) {
  %3 = call float @llvm.sqrt.f32(float %1)
  br label %4

4:                                                ; preds = %2
  %5 = call float @llvm.sqrt.f32(float %3)
  %6 = load float, ptr addrspace(1) %0, align 4
  %7 = fadd float %5, %6
  ret float %7
}
"""


def test_values_with_numbers_are_numbered_anew_where_instructions_are_moved():
    """LLVM refuses numbers that are not in order."""
    moved = run_pass(schedule_loads_early, NUMBERED)
    assert moved.index(" = load ") < moved.index("float @llvm.sqrt.f32(float %3)")
    llvm.parse_assembly(moved).verify()


def held_between_0_and_1(item, a, out):
    i = item.get_id(0)
    out[i] = np.fmax(np.fmin(a[i], 1), 0)
    out[i] += max(a.dtype.type(0), min(a.dtype.type(1), a[i]))


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_minima_do_not_show_their_one(assembled_compile, bits):
    """With a maximum with 0, once the assembler made one instruction of them that gives 0 for nan."""
    signature = f"item1, float{bits}[:], float{bits}[:]"
    ptx = assembled_compile(held_between_0_and_1, signature, target=TARGET).ptx
    minima = re.findall(rf"min\.f{bits}\s+\S+, \S+, (\S+);", ptx)
    assert len(minima) == 2
    for operand in minima:
        assert re.search(rf"ld\.const\.\w+\s+{operand}, \[kapi_one_f{bits}\];", ptx)


def test_other_choices_and_minima_stay():
    text = "\tmin.f32 \t%r1, %r2, 0f40000000;\n\tselp.f32 \t%r1, %r2, %r3, %p1;\n\tmov.b16 \t%rs1, 0x3C00;\n"
    assert hide_ones(text) == text
