"""Constant indices: `t[0]` and `a[SIZE]` are accesses whose index is a part of the statement."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from kapi_sim.language.attributes import MISSING
from kapi_types._numba_compat import FunctionPass, ir, register_pass

__all__ = ["FoldConstantIndices"]


@register_pass(mutates_CFG=False, analysis_only=False)
class FoldConstantIndices(FunctionPass):
    """Makes the index of an access a part of it where it is a constant, as members of tuples and fields need it.

    Numba's own rewrites also look for calls of `print` and raised exceptions, which are settled before, and format a
    message with the source line for each index that is none.
    """

    _name = "kapi_fold_constant_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        definitions = state.func_ir._definitions
        for block in state.func_ir.blocks.values():
            for position, statement in enumerate(block.body):
                if isinstance(statement, ir.SetItem):
                    index = _constant(definitions, statement.index)
                    if index is not MISSING:
                        block.body[position] = ir.StaticSetItem(
                            statement.target, index, statement.index, statement.value, statement.loc
                        )
                elif isinstance(statement, ir.Assign) and getattr(statement.value, "op", None) == "getitem":
                    read = statement.value
                    index = _constant(definitions, read.index)
                    if index is not MISSING:
                        statement.value = ir.Expr.static_getitem(read.value, index, read.index, read.loc)
        return True


def _constant(definitions: dict[str, Any], variable: Any) -> Any:
    """The value of a variable that is assigned one constant, or a tuple or slice of constants; else `MISSING`."""
    value: Any = variable
    while isinstance(value, ir.Var):
        found = definitions.get(value.name, ())
        value = found[0] if len(found) == 1 else None
    if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
        return value.value
    match getattr(value, "op", None):
        case "build_tuple":
            return _all(tuple, definitions, value.items)
        case "call" if not value.kws and value.vararg is None and _constant(definitions, value.func) is slice:
            return _all(lambda given: slice(*given), definitions, value.args)
        case "getattr":
            owner = _constant(definitions, value.value)
            return getattr(owner, value.attr, MISSING) if isinstance(owner, (ModuleType, type)) else MISSING
    return MISSING


def _all(make: Any, definitions: dict[str, Any], variables: Any) -> Any:
    """What is made of constants; `MISSING` if one of the variables is none."""
    constants = [_constant(definitions, each) for each in variables]
    return MISSING if any(each is MISSING for each in constants) else make(constants)
