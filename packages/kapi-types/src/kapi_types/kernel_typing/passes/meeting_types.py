"""Variables and results of functions to which the ways of a kernel give numbers of different types: one is told.

A compiled kernel has one type for a variable, and NumPy's rules go on from there. Python goes on from what was
assigned. The simulator tells of types that met; only the compiler knows those of ways that no work-item took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kapi_types._numba_compat import FunctionPass, ir, register_pass, types
from kapi_types.kernel_typing.problems.problems import spell_type
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import is_weak, weak_float

__all__ = ["FindMixedTypes"]


@register_pass(mutates_CFG=False, analysis_only=True)
class FindMixedTypes(FunctionPass):
    """Leaves a text, file and line for each variable, choice and result whose ways have different types."""

    _name = "kapi_find_mixed_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        found: dict[str, tuple[str, str, int]] = {}
        for name, loc, given, result in _meetings(state.func_ir, state.typemap):
            mixed = _mixed(given)
            if mixed and name not in found:
                first, second = sorted(map(spell_type, mixed))
                text = (
                    f"{name} is {first} on one way and {second} on another: on a device it is {spell_type(result)} on "
                    "all ways; convert one, or start with the other"
                )
                found[name] = text, loc.filename, loc.line
        state["kapi_mixed_types"] = list(found.values())
        return False


def _meetings(func_ir: Any, typemap: dict[str, types.Type]) -> Iterator[tuple[str, Any, list[types.Type], types.Type]]:
    """What is called how and where, the types that come there, and the one that it has."""
    returned: list[tuple[Any, types.Type, types.Type]] = []
    for block in func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            value = statement.value
            if not isinstance(value, ir.Expr) or value.op not in ("phi", "cast"):
                continue
            result = typemap[statement.target.name]
            if value.op == "cast":
                returned.append((statement.loc, typemap[value.value.name], result))
                continue
            name = statement.target.name
            shown = "what a choice gives" if name.startswith("$") else f"variable `{name.split('.')[0]}`"
            incoming = [each for each in value.incoming_values if isinstance(each, ir.Var)]
            loc = next((each.loc for each in block.body if each.loc.line > 0), statement.loc)
            yield shown, loc, [typemap[each.name] for each in incoming], result
    if len(returned) > 1:
        yield "what the function returns", returned[-1][0], [given for _, given, _ in returned], returned[0][2]


def _mixed(given: Iterable[types.Type]) -> tuple[types.Type, types.Type] | None:
    """Two types of numbers of which neither takes the other's place."""
    numbers = [each for each in given if is_scalar(each)]
    strong = list(dict.fromkeys(each for each in numbers if not is_weak(each)))
    if len(strong) > 1:
        return strong[0], strong[1]
    if strong and isinstance(strong[0], (types.Integer, types.Boolean)) and weak_float in numbers:
        return strong[0], weak_float
    return None
