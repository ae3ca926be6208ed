"""The functions of Python's `math`, as LLVM intrinsics where LLVM can fold them and as OpenCL built-ins elsewhere.

References
----------
OpenCL C 3.0 specification, section 6.15.2, "Math Functions".
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from kapi_sim.spec.intrinsics import Intrinsic, rows
from kapi_spirv._numba_compat import LoweringRegistry, types
from kapi_spirv.lowering.builtins import call_builtin, call_intrinsic
from kapi_spirv.lowering.conversion import convert
from kapi_types.kernel_typing.language import intrinsic_function
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "registry"]

registry = LoweringRegistry("kapi mathematics")

LOWERED: set[str] = set()
"""Keys of the table's rows that are lowered here; a test compares it with the table."""

_INTRINSICS = {"fabs", "sqrt", "floor", "ceil", "trunc", "copysign", "exp", "log", "log2", "log10", "pow", "sin", "cos"}
_OPENCL_NAMES = {"gamma": "tgamma"}
_FACTORS = {"degrees": 180.0 / math.pi, "radians": math.pi / 180.0}


def _compute(builder: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
    """The float result of the function `name`, all operands being of one float type."""
    type_ = args[0].type
    if name in _FACTORS:
        return builder.fmul(args[0], type_(_FACTORS[name]))
    if name == "fmod":
        return builder.frem(*args)
    if name in _INTRINSICS:
        return call_intrinsic(builder, name, args)
    return call_builtin(builder, _OPENCL_NAMES.get(name, name), type_, args)


def _classify(builder: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
    """`isnan`, `isinf` or `isfinite`, as comparisons that LLVM understands."""
    if name == "isnan":
        return builder.fcmp_unordered("uno", value, value)
    magnitude = call_intrinsic(builder, "fabs", [value])
    infinity = value.type(float("inf"))
    return builder.fcmp_ordered("==" if name == "isinf" else "<", magnitude, infinity)


def _register(row: Intrinsic) -> None:
    operands = [types.Float] * len(row.parameters)

    @registry.lower(intrinsic_function(row), *operands)
    def implement(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
        if row.returns == "bool":
            return _classify(builder, row.name, args[0])
        value = _compute(builder, row.name, list(args))
        return convert(builder, value, sig.args[0], weak_int) if row.returns == "weak int" else value

    LOWERED.add(row.key)


for _row in rows(owner="math"):
    _register(_row)
