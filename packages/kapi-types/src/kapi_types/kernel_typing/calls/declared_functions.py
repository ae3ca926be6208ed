"""Device functions with signatures: conversions of their arguments and results, in their own code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.launchables.declared_signatures import (
    Signature,
    array_parameter,
    best_signature,
    described_type,
    signatures_of,
)
from kapi_sim.language.launchables.signature_parser import ParameterType
from kapi_types._numba_compat import FunctionPass, as_dtype, ir, register_pass, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.problems.problems import problem_at

__all__ = ["ConvertDeclared", "declared_for"]


def declared_for(function: Any, args: Sequence[types.Type]) -> Signature | None:
    """The signature of a device function that fits arguments best; None if none takes them."""
    return best_signature(signatures_of(function), [_described(each) for each in args], is_call=True)


def _described(type_: types.Type) -> ParameterType | None:
    if isinstance(type_, ArrayType):
        return array_parameter(as_dtype(type_.dtype), type_.ndim, type_.layout, not type_.mutable)
    try:
        return described_type(type_)
    except KernelCompilationError:
        return None


@register_pass(mutates_CFG=False, analysis_only=False)
class ConvertDeclared(FunctionPass):
    """Converts the arguments of a function to the numbers that its signature says, and its results."""

    _name = "kapi_convert_declared"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_id.func
        signature = declared_for(function, state.args) if signatures_of(function) else None
        if signature is None:
            return False
        func_ir = state.func_ir
        for block in func_ir.blocks.values():
            for statement in list(block.find_insts(ir.Assign)):
                if isinstance(statement.value, ir.Arg):
                    wanted = signature.parameters[statement.value.index]
                    if wanted.kind == "scalar":
                        given = block.scope.redefine("$kapi_given", statement.loc)
                        block.body.insert(block.body.index(statement), ir.Assign(statement.value, given, statement.loc))
                        func_ir._definitions[given.name] = [statement.value]
                        _convert(func_ir, block, statement, wanted, given)
            if isinstance(block.terminator, ir.Return) and signature.result is not None:
                self._convert_result(state, block, signature.result)
        return True

    def _convert_result(self, state: Any, block: Any, wanted: ParameterType) -> None:
        """Convert what a block returns; Numba's IR casts it right before."""
        returned = block.terminator.value.name
        cast = next(each for each in block.find_insts(ir.Assign) if each.target.name == returned)
        given = cast.value.value
        made = state.func_ir._definitions[given.name]
        is_none = len(made) == 1 and isinstance(made[0], ir.Const) and made[0].value is None
        if is_none != (wanted.kind == "none"):
            text = (
                f"result of device function `{state.func_id.func_name}` must be {wanted.text}, as its signature says, "
                f"got {'no value' if is_none else 'a value'}"
            )
            state["kapi_problems"].append(problem_at(cast.loc, "return-types", text))
        elif not is_none:
            converted = block.scope.redefine("$kapi_result", cast.loc)
            statement = ir.Assign(given, converted, cast.loc)
            block.body.insert(block.body.index(cast), statement)
            _convert(state.func_ir, block, statement, wanted, given)
            cast.value = ir.Expr.cast(converted, cast.loc)
            state.func_ir._definitions[returned] = [cast.value]


def _convert(func_ir: Any, block: Any, statement: Any, wanted: ParameterType, given: Any) -> None:
    """Assign the converted value of a variable."""
    assert wanted.dtype is not None
    kind = block.scope.redefine("$kapi_type", statement.loc)
    named = ir.FreeVar(0, wanted.text, wanted.dtype.type, statement.loc)
    block.body.insert(block.body.index(statement), ir.Assign(named, kind, statement.loc))
    func_ir._definitions[kind.name] = [named]
    statement.value = ir.Expr.call(kind, [given], (), statement.loc)
    func_ir._definitions[statement.target.name] = [statement.value]
