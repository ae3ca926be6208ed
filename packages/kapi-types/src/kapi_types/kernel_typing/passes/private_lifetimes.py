"""Private arrays that a loop makes anew while an earlier one is still needed: both would be the same memory.

In Python each iteration's array is another one.  A device has no memory of varying size: each statement that makes a
private array has memory of its own, once, so that an iteration's array overwrites that of the iteration before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_types._numba_compat import compute_cfg_from_blocks, ir
from kapi_types.kernel_typing.calls.device_functions import holds_private_array
from kapi_types.kernel_typing.problems.problems import problem_at

__all__ = ["private_array_problems"]

_TEXT = (
    "a PrivateArray must not be made anew in a loop while that of an earlier iteration is still used, for both are the "
    "same memory: make each above the loop"
)


def private_array_problems(state: Any) -> list[KernelProblem]:
    """Each statement that makes a private array where one that it made before is still read or written later.

    - `state`: that of a compiler whose types are inferred.
    """
    blocks = state.func_ir.blocks
    held = {name for name, type_ in state.typemap.items() if holds_private_array(type_)}
    sites = [
        (label, statement)
        for label, block in blocks.items()
        for statement in block.find_insts(ir.Assign)
        if statement.target.name in held and getattr(statement.value, "op", "") == "call"
    ]
    if not sites:
        return []
    graph = compute_cfg_from_blocks(blocks)
    looped = {label for loop in graph.loops().values() for label in loop.body}
    sites = [(label, statement) for label, statement in sites if label in looped]
    if not sites:
        return []
    live_after = _live_after(blocks, graph)
    return [
        problem_at(statement.loc, "private-array-in-loop", _TEXT)
        for label, statement in sites
        if _live_before(blocks[label], statement, live_after[label]) & _reached(blocks, statement.target.name, held)
    ]


def _reached(blocks: dict[int, Any], name: str, held: set[str]) -> set[str]:
    """The variables that may hold what this one is given, or a part of it."""
    reached = {name}
    size = 0
    while size != len(reached):
        size = len(reached)
        for block in blocks.values():
            for statement in block.find_insts(ir.Assign):
                if statement.target.name in held and getattr(statement.value, "op", "") != "call":
                    if any(each in reached for each in _values(statement.value)):
                        reached.add(statement.target.name)
    return reached


def _live_after(blocks: dict[int, Any], graph: Any) -> dict[int, set[str]]:
    """The variables that are needed after each block."""
    after: dict[int, set[str]] = {label: set() for label in blocks}
    for block in blocks.values():  # a phi node reads at the end of the block that it comes from
        for phi in block.find_exprs("phi"):
            for origin, value in zip(phi.incoming_blocks, phi.incoming_values, strict=True):
                if isinstance(value, ir.Var):
                    after[origin].add(value.name)
    before = {label: _live_before(block, None, after[label]) for label, block in blocks.items()}
    pending = list(blocks)
    while pending:
        label = pending.pop()
        for origin, _ in graph.predecessors(label):
            if not before[label] <= after[origin]:
                after[origin] |= before[label]
                before[origin] = _live_before(blocks[origin], None, after[origin])
                pending.append(origin)
    return after


def _live_before(block: Any, first: Any, after: set[str]) -> set[str]:
    """The variables that are needed before a statement of a block, or before all of it."""
    live = set(after)
    for statement in reversed(block.body):
        if isinstance(statement, ir.Del):
            continue
        if isinstance(statement, ir.Assign):
            live.discard(statement.target.name)
            if getattr(statement.value, "op", "") != "phi":
                live.update(_values(statement.value))
        else:
            live.update(each.name for each in statement.list_vars())
        if statement is first:
            break
    return live


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, ir.Var):
        yield value.name
    elif isinstance(value, ir.Expr):
        yield from (each.name for each in value.list_vars())
