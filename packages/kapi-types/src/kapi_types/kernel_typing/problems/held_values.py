"""Values of variables of Numba's IR that are known before type inference; and calls of `len` on constants."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import FunctionPass, ir, register_pass
from kapi_types.kernel_typing.problems.problems import problem_at

__all__ = ["SettleLengths", "held_value", "is_call_of"]


def held_value(func_ir: Any, variable: Any) -> Any:
    """The constant or global that a variable holds; `None` if it holds none, or several."""
    try:
        made = func_ir.get_definition(variable)
    except KeyError:
        return None
    return made.value if isinstance(made, (ir.Const, ir.Global, ir.FreeVar)) else None


def is_call_of(func_ir: Any, value: Any, function: Any) -> bool:
    """Whether an expression calls just this function, by whatever name."""
    return isinstance(value, ir.Expr) and value.op == "call" and held_value(func_ir, value.func) is function


@register_pass(mutates_CFG=False, analysis_only=False)
class SettleLengths(FunctionPass):
    """Refuses a `len` of other than one value, which Numba's next pass would stumble over."""

    _name = "kapi_settle_lengths"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        is_changed = False
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                call = statement.value
                if not is_call_of(state.func_ir, call, len):
                    continue
                if len(call.args) == 1 and not call.kws and call.vararg is None:
                    continue
                text = "len() must be called with one array or tuple in a kernel, and without its name"
                state["kapi_problems"].append(problem_at(statement.loc, "call-arguments", text))
                statement.value = ir.Const(0, statement.loc, use_literal_type=False)
                state.func_ir._definitions[statement.target.name] = [statement.value]
                is_changed = True
        return is_changed
