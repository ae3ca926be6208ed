"""Local functions that a loop calls: their definitions become a part of the loop."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from kapi_numba_offload.analysis.syntax import located, names_in
from kapi_numba_offload.loops.loop_syntax import variables_of
from kapi_numba_offload.partition.function_info import FunctionInfo

__all__ = ["inlined_local_functions"]


def inlined_local_functions(facts: FunctionInfo, captured: Iterable[str]) -> tuple[list[ast.FunctionDef], list[str]]:
    """Definitions of the local functions among variables, and the other variables, with those that they read."""
    waiting, seen, known = sorted(captured), set(captured), set(captured)
    definitions: list[ast.FunctionDef] = []
    while waiting:
        name = waiting.pop(0)
        found = [made for each in facts.local_functions if (made := _local_function(name, each)) is not None]
        if len(found) != 1 or names_in(ast.walk(facts.definition), ast.Store).count(name) > 1:
            continue
        (definition,) = found
        own = {each.arg for each in definition.args.args} | variables_of(definition.body, ast.Store)
        around = (variables_of(definition.body, ast.Load) - own) & facts.names.locals
        definitions.insert(0, definition)
        known = (known | around) - {name}
        waiting += sorted(around - seen)
        seen |= around
    return definitions, sorted(known)


def _local_function(name: str, node: ast.AST) -> ast.FunctionDef | None:
    """A copy of the definition of `name`, its variables renamed; None if the node is none."""
    if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
        made = copy.deepcopy(node)
    elif (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Lambda)
        and [ast.unparse(each) for each in node.targets] == [name]
    ):
        made = ast.FunctionDef(name, copy.deepcopy(node.value.args), [ast.Return(copy.deepcopy(node.value.body))], [])
        located(made, node)
    else:
        return None
    own = {each.arg for each in made.args.args} | variables_of(made.body, ast.Store)
    for each in ast.walk(made):
        if isinstance(each, ast.Name) and each.id in own:
            each.id = f"kapi_own_{each.id}"
        elif isinstance(each, ast.arg):
            each.arg = f"kapi_own_{each.arg}"
    return made
