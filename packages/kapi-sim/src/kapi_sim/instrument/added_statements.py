"""Statements that the rewriter adds: they count the iterations of loops, and record each line in a trace."""

from __future__ import annotations

import ast

from kapi_sim.instrument.wait_loops import SpinLoops
from kapi_sim.memory.infinite_loops import IDLE_ITERATIONS, SPIN

__all__ = ["ITERATION", "counted_loop", "holds_convergent_call", "mark_lines", "numbered_loop"]

ITERATION = "_kapi_iteration_"
"""The prefix of variables that number the iterations of the loops around a convergence point."""

_ADDED = "_kapi_is_added"


def counted_loop(node: ast.While, file: str, number: int, hands_over: bool, waiting: SpinLoops) -> list[ast.stmt]:
    """Return a loop that counts its iterations, and gives up or hands over when they are too many.

    - `node`: the loop, changed in place.
    - `file`: where its source stands.
    - `number`: tells its counter from others of the function.
    - `hands_over`: whether it yields to other work-items; else it ends with an error.
    - `waiting`: what its course depends on.
    """
    first, last = node.lineno, node.end_lineno or node.lineno
    location = f"({file!r}, {first}, {last})"
    iterations = f"_kapi_iterations_{number}"
    start = f"{iterations} = 0"
    count, is_idle = f"{iterations} += 1", ""
    if waiting.idles:
        # An iteration in which nothing was written is like the one before: others need not wait for more of them.
        seen, idle = f"_kapi_seen_{number}", f"_kapi_idle_{number}"
        start += f"\n{seen} = -1\n{idle} = 0"
        count += f"\n{idle} = {idle} + 1 if {seen} == ({seen} := _kapi_changes()) else 0"
        is_idle = f" or {idle} > {0 if hands_over else IDLE_ITERATIONS}"
    if hands_over:
        # Each run of the loop has a number of its own: where it came round to is compared within one run.
        start += f"\n_kapi_loop_{number} = _kapi_loop_number()"
        text = (
            f"{count}\nif {iterations} >= _kapi_hand_over_limit{is_idle}:\n"
            f"    yield {location}, _kapi_loop_{number}, {SPIN}, {iterations}, {waiting.names!r}\n    {iterations} = 0"
        )
    else:
        is_over = f"{iterations} > _kapi_spin_limit"
        text = f"{count}\nif {is_over}{is_idle}:\n    _kapi_spin({location}, {is_over})"
    node.body = [*_parsed(text, node), *node.body]
    return [*_parsed(start, node), node]


def numbered_loop(node: ast.For | ast.While, variable: str) -> list[ast.stmt]:
    """Return a loop that numbers its iterations: a barrier is another one in each.

    - `node`: the loop, changed in place.
    - `variable`: holds the number of the iteration, from 1.
    """
    # A work-item that has left the loop is in no iteration of it, and so in its `else`.
    reset = f"{variable} = 0"
    node.body = [*_parsed(f"{variable} += 1", node), *node.body]
    node.orelse = [*_parsed(reset, node), *node.orelse] if node.orelse else []
    return [*_parsed(reset, node), node, *_parsed(reset, node)]


def holds_convergent_call(node: ast.AST) -> bool:
    """Return whether a rewritten loop yields by itself, not only where it runs for long."""
    return any(isinstance(part, (ast.Yield, ast.YieldFrom)) and not hasattr(part, _ADDED) for part in ast.walk(node))


def _parsed(text: str, node: ast.AST) -> list[ast.stmt]:
    return [_placed(statement, node) for statement in ast.parse(text).body]


def mark_lines(tree: ast.FunctionDef, file: str) -> None:
    """Put a call before each statement of `tree` that tells its line."""
    first = tree.lineno
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        pending.extend(ast.iter_child_nodes(node))
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [made for statement in block for made in _marked(statement, file, first)])


def _marked(statement: ast.stmt, file: str, first: int) -> list[ast.stmt]:
    # What was added here is no line of the user's.
    is_own = hasattr(statement, _ADDED) or isinstance(statement, (ast.FunctionDef, ast.Nonlocal, ast.Global))
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    if is_own or is_docstring:
        return [statement]
    call = ast.parse(f"_kapi_line({file!r}, {first}, {statement.lineno})").body[0]
    return [_placed(call, statement), statement]


def _placed(statement: ast.stmt, node: ast.AST) -> ast.stmt:
    """Give all of `statement` the line of `node`: a debugger sees no line of its own."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    # One column wide, so that a traceback has something to mark.
    location = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column + 1}
    for part in ast.walk(statement):
        setattr(part, _ADDED, True)
        for name, value in location.items():
            setattr(part, name, value)
    return statement
