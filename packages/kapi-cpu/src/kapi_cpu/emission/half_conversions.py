"""Conversions of float16: those that processors lack, as functions of the module, and those that LLVM gets wrong.

References
----------
F. Giesen, "Float->half conversion", 2012: rounding to the nearest by integers, and by one addition of subnormals.
"""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Builder, Module, declare, parse_module
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["convert_halves_by_float32", "define_half_conversions"]

_DOUBLE = """
define half @__truncdfhf2(double %x) nounwind memory(none) {
  %bits = bitcast double %x to i64
  %lost = and i64 %bits, 536870911
  %is_inexact = icmp ne i64 %lost, 0
  %sticky = select i1 %is_inexact, i64 536870912, i64 0
  %kept = and i64 %bits, -536870912
  %odd = or i64 %kept, %sticky
  %wide = bitcast i64 %odd to double
  %single = fptrunc double %wide to float
  %half = fptrunc float %single to half
  ret half %half
}
"""
"""By float32, whose last bit says whether a bit was lost, so that nothing is rounded twice."""

_SINGLE = """
define half @__truncsfhf2(float %x) nounwind memory(none) {
  %bits = bitcast float %x to i32
  %magnitude = and i32 %bits, 2147483647
  %sign = and i32 %bits, -2147483648
  %is_nan = icmp ugt i32 %magnitude, 2139095040
  %payload = lshr i32 %magnitude, 13
  %fraction = and i32 %payload, 1023
  %nan = or i32 %fraction, 32256
  %special = select i1 %is_nan, i32 %nan, i32 31744
  %absolute = bitcast i32 %magnitude to float
  %shifted = fadd float %absolute, 0.5
  %shifted.bits = bitcast float %shifted to i32
  %subnormal = sub i32 %shifted.bits, 1056964608
  %last = and i32 %payload, 1
  %rebased = add i32 %magnitude, -939520001
  %rounded = add i32 %rebased, %last
  %normal = lshr i32 %rounded, 13
  %is_small = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is_small, i32 %subnormal, i32 %normal
  %is_large = icmp uge i32 %magnitude, 1199570944
  %found = select i1 %is_large, i32 %special, i32 %finite
  %sign.half = lshr i32 %sign, 16
  %all = or i32 %found, %sign.half
  %narrow = trunc i32 %all to i16
  %half = bitcast i16 %narrow to half
  ret half %half
}

define float @__extendhfsf2(half %x) nounwind memory(none) {
  %narrow = bitcast half %x to i16
  %bits = zext i16 %narrow to i32
  %magnitude = and i32 %bits, 32767
  %sign = and i32 %bits, 32768
  %moved = shl i32 %magnitude, 13
  %normal = add i32 %moved, 939524096
  %special = add i32 %moved, 1879048192
  %scaled = add i32 %moved, 947912704
  %scaled.float = bitcast i32 %scaled to float
  %subnormal.float = fsub float %scaled.float, 0x3F10000000000000
  %subnormal = bitcast float %subnormal.float to i32
  %is_special = icmp uge i32 %magnitude, 31744
  %is_small = icmp ult i32 %magnitude, 1024
  %large = select i1 %is_special, i32 %special, i32 %normal
  %found = select i1 %is_small, i32 %subnormal, i32 %large
  %sign.float = shl i32 %sign, 16
  %all = or i32 %found, %sign.float
  %float = bitcast i32 %all to float
  ret float %float
}
"""


@module_pass
def convert_halves_by_float32(module: Module) -> None:
    """Convert float16 to integers by float32, which is exact and has vector code.

    Where processors have AVX-512 FP16, LLVM 20's own conversion to int16 gives -32768 for nan.
    """
    for function in module.definitions:
        for each in function.instructions():
            if each.callee.startswith("llvm.fpto") and each.callee.endswith(".f16"):
                builder, wide = Builder.before(each), f"{each.callee.removesuffix('f16')}f32"
                declare(function, f"{each.type} @{wide}(float)")
                single = builder.emit("fpext half ? to float", each.arguments[0])
                each.replace_all_uses_with(builder.emit(f"call {each.type} @{wide}(float ?)", single))
                each.erase()


@module_pass
def define_half_conversions(module: Module, features: str) -> None:
    """Define the conversions of float16 that a processor of these features lacks."""
    if not any("x86_64" in line for line in module.header if line.startswith("target triple")):
        return  # other processors have them
    if not any("half" in each.form.text for each in module.instructions()):
        return
    text = _DOUBLE + (_SINGLE if "+f16c" not in features.split(",") else "")
    for name, function in parse_module(text).functions.items():
        function.module = module
        module.functions[name] = function
