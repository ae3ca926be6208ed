"""Operations that introduce floats of a width that a device may lack: the lines to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_types._numba_compat import ir, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.problems.problems import problem_at, spell_type
from kapi_types.weak import WeakFloat

__all__ = ["float_introductions"]

_HINTS = {64: "convert to numpy.float32 first", 16: "use numpy.float32"}


def float_introductions(state: Any, bits: int) -> list[KernelProblem]:
    """Each parameter, and each operation on operands without floats of `bits` bits, that has such floats.

    Parameters
    ----------
    state : numba.core.compiler.StateDict
        A compilation after type inference.
    bits : int
        64 or 16. A Python float is computed in 64 bits, and counts as such.
    """
    found = [*_parameters(state, bits), *_operations(state, bits)]
    return list(dict.fromkeys(found))


def _parameters(state: Any, bits: int) -> Iterator[KernelProblem]:
    code = f"needs-fp{bits}"
    for name, type_ in zip(state.func_ir.arg_names, state.args, strict=True):
        if isinstance(type_, WeakFloat) and bits == 64:
            yield problem_at(
                state.func_ir.loc, code, f"argument `{name}` is a Python float, of 64 bits: pass numpy.float32"
            )
        elif _has_width(type_, bits):
            yield problem_at(
                state.func_ir.loc, code, f"argument `{name}` is a {spell_type(type_)}: convert it to float32"
            )


def _operations(state: Any, bits: int) -> Iterator[KernelProblem]:
    for block in state.func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            result = state.typemap.get(statement.target.name)
            if not isinstance(statement.value, ir.Expr) or not _has_width(result, bits):
                continue
            operands = [state.typemap.get(each.name) for each in statement.value.list_vars()]
            scalars = [each for each in operands if isinstance(each, (types.Number, types.Boolean))]
            if any(_has_width(each, bits) for each in operands) or statement.value.op in ("cast", "exhaust_iter"):
                continue
            given = ", ".join(spell_type(each) for each in scalars)
            made = f"made of {given}" if given else "made here"
            yield problem_at(statement.loc, f"needs-fp{bits}", f"{spell_type(result)} is {made}: {_HINTS[bits]}")


def _has_width(type_: Any, bits: int) -> bool:
    if isinstance(type_, ArrayType):
        return _has_width(type_.dtype, bits)
    if isinstance(type_, types.BaseTuple):
        return any(_has_width(each, bits) for each in type_.types)
    if isinstance(type_, types.Complex):
        return bool(type_.bitwidth == 2 * bits)
    return isinstance(type_, types.Float) and bool(type_.bitwidth == bits)
