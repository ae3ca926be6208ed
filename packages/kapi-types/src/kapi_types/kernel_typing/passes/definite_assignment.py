"""Variables that may have no value where they are read: Python raises UnboundLocalError there, and a device cannot."""

from __future__ import annotations

from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_types._numba_compat import FunctionPass, compute_cfg_from_blocks, ir, register_pass
from kapi_types.kernel_typing.problems.problems import problem_at, without_value

__all__ = ["CheckAssignments"]


@register_pass(mutates_CFG=False, analysis_only=True)
class CheckAssignments(FunctionPass):
    """Collects each variable that is read where a path without an assignment leads.

    A loop over `range` of constants that runs at least once counts as run, for what is read after it.
    """

    _name = "kapi_check_assignments"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state["kapi_problems"] = [*state["kapi_problems"], *_problems(state.func_ir)]
        return False


def _problems(func_ir: Any) -> list[KernelProblem]:
    blocks = func_ir.blocks
    phis = {
        statement.target.name: (label, statement.value)
        for label, block in blocks.items()
        for statement in block.find_insts(ir.Assign)
        if isinstance(statement.value, ir.Expr) and statement.value.op == "phi"
    }
    if not any(ir.UNDEFINED in phi.incoming_values for _, phi in phis.values()):
        return []
    graph = compute_cfg_from_blocks(blocks)
    certain = _loops_that_run(func_ir, graph)
    readers = {name: _readers(blocks, name) for name in phis}
    unset = {
        name
        for name, (label, phi) in phis.items()
        if ir.UNDEFINED in phi.incoming_values
        and not (label in certain and not any(reader in certain[label] for reader, _ in readers[name]))
    }
    # What is unset is so in whatever takes its value.
    pending = list(unset)
    while pending:
        taken = pending.pop()
        for name, (_, phi) in phis.items():
            if name not in unset and any(getattr(each, "name", None) == taken for each in phi.incoming_values):
                unset.add(name)
                pending.append(name)
    found = []
    for name in unset:
        for _, statement in readers[name]:
            found.append(problem_at(statement.loc, *without_value(_written(name))))
    return found


def _written(name: str) -> str:
    """A variable's name as its author wrote it."""
    return name.split(".")[0]


def _readers(blocks: dict[int, Any], name: str) -> list[tuple[int, Any]]:
    """Block and statement of each use of a variable other than by a phi node or its deletion."""
    return [
        (label, statement)
        for label, block in blocks.items()
        for statement in block.body
        if not isinstance(statement, ir.Del)
        and not (isinstance(statement, ir.Assign) and getattr(statement.value, "op", "") == "phi")
        and any(variable.name == name for variable in _read(statement))
    ]


def _read(statement: Any) -> list[Any]:
    if isinstance(statement, ir.Assign):
        value = statement.value
        return [value] if isinstance(value, ir.Var) else value.list_vars() if isinstance(value, ir.Expr) else []
    return list(statement.list_vars())


def _loops_that_run(func_ir: Any, graph: Any) -> dict[int, set[int]]:
    """The blocks inside of each loop over a `range` of constants that is not empty, by the loop's header."""
    found = {}
    for loop in graph.loops().values():
        header = func_ir.blocks[loop.header]
        for statement in header.find_insts(ir.Assign):
            if isinstance(statement.value, ir.Expr) and statement.value.op == "iternext":
                if _runs(func_ir, statement.value.value):
                    found[loop.header] = set(loop.body) - {loop.header}
    return found


def _runs(func_ir: Any, iterator: Any) -> bool:
    try:
        made = func_ir.get_definition(func_ir.get_definition(iterator).value)
        if made.op != "call" or getattr(func_ir.get_definition(made.func), "value", None) is not range:
            return False
        bounds = [func_ir.get_definition(argument).value for argument in made.args]
        return all(type(bound) is int for bound in bounds) and len(range(*bounds)) > 0
    except (KeyError, AttributeError, ValueError, TypeError):
        return False
