"""Integers of odd widths, which LLVM makes of loops, in whole bytes, and reversed bits: Python's integers judge."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest

from kapi_lowering.emission.client import emit
from kapi_lowering.emission.pipeline import run_pass
from kapi_spirv import SpirvTarget
from kapi_spirv.emission.legalize.bit_reversals import expand_bit_reversals
from kapi_spirv.emission.legalize.odd_widths import widen_odd_integers

OPERATIONS = {
    "add": lambda x, y, bits: x + y,
    "add nuw": lambda x, y, bits: x + y if x + y < 2**bits else None,
    "sub": lambda x, y, bits: x - y,
    "mul": lambda x, y, bits: x * y,
    "shl": lambda x, y, bits: x << y if y < bits else None,
    "lshr": lambda x, y, bits: x >> y if y < bits else None,
    "udiv": lambda x, y, bits: x // y if y else None,
    "urem": lambda x, y, bits: x % y if y else None,
    "and": lambda x, y, bits: x & y,
    "or": lambda x, y, bits: x | y,
    "xor": lambda x, y, bits: x ^ y,
}
WIDTHS = [2, 5, 13, 33]
BODY = """
  %x = trunc i64 %a to i{bits}
  %y = trunc i64 %b to i{bits}
  %z = {operation} i{bits} %x, %y
  %c = icmp ugt i{bits} %z, -2
  %s = select i1 %c, i{bits} -1, i{bits} %z
  %r = {extension} i{bits} %s to i64
"""


def run_on_host(text, pairs):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine) as engine:
        engine.finalize_object()
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("f"))
        return [function(*pair) for pair in pairs]


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("extension", ["zext", "sext"])
def test_odd_widths_are_computed_in_bytes(bits, operation, extension):
    body = BODY.format(bits=bits, operation=operation, extension=extension)
    text = run_pass(widen_odd_integers, f"define i64 @f(i64 %a, i64 %b) {{{body}  ret i64 %r\n}}\n")
    assert f"i{bits} " not in text
    numbers = sorted({each % 2**bits for each in (0, 1, 2, 3, 7, -1, -2, 2 ** (bits - 1), 2 ** (bits - 1) - 1)})
    cases = [(x, y, OPERATIONS[operation](x, y, bits)) for x in numbers for y in numbers]
    cases = [(x, y, value % 2**bits) for x, y, value in cases if value is not None]
    # What is cut off has any value.
    found = run_on_host(text, [(x - 2**bits * 3, y + 2**bits) for x, y, _ in cases])
    is_signed = extension == "sext"
    wanted = [value - 2**bits if is_signed and value >= 2 ** (bits - 1) else value for *_, value in cases]
    assert found == wanted


@pytest.mark.parametrize("bits", [1, *WIDTHS, 8, 64])
def test_bits_of_any_width_are_reversed(bits):
    body = f"  %x = trunc i64 %a to i{bits}\n" if bits < 64 else "  %x = or i64 %a, %a\n"
    body += f"  %r = call i{bits} @llvm.bitreverse.i{bits}(i{bits} %x)\n"
    body += f"  %z = zext i{bits} %r to i64\n  ret i64 %z\n" if bits < 64 else "  ret i64 %r\n"
    declared = f"declare i{bits} @llvm.bitreverse.i{bits}(i{bits})\n"
    text = run_pass(expand_bit_reversals, f"{declared}define i64 @f(i64 %a, i64 %b) {{\n{body}}}\n")
    text = run_pass(widen_odd_integers, text)
    assert "call" not in text
    assert bits in (1, 8, 64) or f"i{bits} " not in text.partition("define")[2]
    numbers = sorted({each % 2**bits for each in (0, 1, 2, 6, 11, -1, -2, 2 ** (bits - 1), 0x123456789ABCDEF)})
    found = run_on_host(text, [(number, 0) for number in numbers])
    assert [each % 2**64 for each in found] == [int(f"{number:0{bits}b}"[::-1], 2) for number in numbers]


LOOP = """
define spir_kernel void @k(ptr addrspace(1) %p, i64 %n) {
entry:
  %t = trunc i64 %n to i2
  %start = and i2 %t, 1
  br label %loop
loop:
  %before = phi i2 [ %start, %entry ], [ %i, %loop ]
  %i = add i2 %before, 1
  %wide = zext i2 %i to i64
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %wide
  store i64 %wide, ptr addrspace(1) %at
  %more = icmp ne i2 %i, 0
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


def test_counter_of_two_bits_is_emitted():
    assert emit([LOOP], "k", SpirvTarget()).code
