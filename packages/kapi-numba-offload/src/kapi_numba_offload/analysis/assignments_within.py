"""Assignments within expressions, `(x := value)`, as statements before those that hold them."""

from __future__ import annotations

import ast
import copy

__all__ = ["with_assignments_before"]

_MOST_COPIED = 500  # nodes of an `else` that is written once for each condition


def with_assignments_before(statement: ast.stmt) -> list[ast.stmt]:
    """The statement with its assignments within as statements of their own, where that means the same.

    The condition of a `while` loop is then tested in its body.
    """
    if not any(isinstance(each, ast.NamedExpr) for each in _expressions(statement)):
        return [statement]
    made: list[ast.stmt] | None = None
    if isinstance(statement, ast.While):
        made = None if statement.orelse else _loop(statement)
    elif isinstance(statement, ast.If):
        made = _branch(statement)
    elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)) and statement.value is not None:
        parts = [] if isinstance(statement, (ast.Expr, ast.Return)) else _targets(statement)
        before = _before(statement.value, parts)
        if before is not None:
            statement.value = before.value
            made = [*before.statements, statement]
    if made is None:
        return [statement]
    return [ast.fix_missing_locations(ast.copy_location(each, statement) if not hasattr(each, "lineno") else each)
            for each in made]  # fmt: skip


def _expressions(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement's own expressions, without the statements in it."""
    found: list[ast.AST] = []
    for each in ast.iter_child_nodes(statement):
        if isinstance(each, ast.expr):
            found += ast.walk(each)
    return found


def _targets(statement: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _loop(statement: ast.While) -> list[ast.stmt] | None:
    tests: list[ast.stmt] = []
    for each in _all_of(statement.test):
        before = _before(each, [])
        if before is None:
            return None
        end = ast.If(ast.UnaryOp(ast.Not(), before.value), [ast.Break()], [])
        tests += [*before.statements, ast.copy_location(end, each)]
    return [ast.copy_location(ast.While(ast.Constant(True), [*tests, *statement.body], []), statement)]


def _branch(statement: ast.If) -> list[ast.stmt] | None:
    whole = _before(statement.test, [])
    if whole is not None:
        statement.test = whole.value
        return [*whole.statements, statement]
    tests = _all_of(statement.test)
    if statement.orelse and sum(1 for each in statement.orelse for _ in ast.walk(each)) * len(tests) > _MOST_COPIED:
        return None
    made = statement.body
    for each in reversed(tests):
        before = _before(each, [])
        if before is None:
            return None
        branch = ast.If(before.value, made, copy.deepcopy(statement.orelse))
        made = [*before.statements, ast.copy_location(branch, each)]
    return made


def _all_of(test: ast.expr) -> list[ast.expr]:
    return list(test.values) if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


class _Taken(ast.NodeTransformer):
    """Takes assignments out of an expression, those that are done first first."""

    def __init__(self) -> None:
        self.statements: list[ast.stmt] = []
        self.value: ast.expr

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        self.generic_visit(node)
        self.statements.append(ast.copy_location(ast.Assign([node.target], node.value), node))
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)


def _before(value: ast.expr, others: list[ast.expr]) -> _Taken | None:
    """The assignments of an expression and what is left of it; None if what stands before one could tell.

    Parameters
    ----------
    value : ast.expr
        The expression.
    others : list of ast.expr
        What else the statement evaluates.
    """
    nodes = list(ast.walk(value))
    taken = [each for each in nodes if isinstance(each, ast.NamedExpr)]
    names = [each.target.id for each in taken]
    unsure = [part for each in nodes for part in _not_always_done(each)]
    if len(set(names)) != len(names) or any(
        isinstance(each, ast.NamedExpr) for part in unsure for each in ast.walk(part)
    ):
        return None
    if any(isinstance(each, ast.Name) and each.id in names for other in others for each in ast.walk(other)):
        return None
    for each in taken:
        inner = {id(part) for part in ast.walk(each)}
        earlier = [part for part in nodes if isinstance(part, ast.expr) and id(part) not in inner
                   and (part.lineno, part.col_offset) < (each.lineno, each.col_offset)
                   and not any(other is each for other in ast.walk(part))]  # fmt: skip
        if any(isinstance(part, ast.Name) and part.id == each.target.id for part in earlier):
            return None
        calls = any(isinstance(part, ast.Call) for part in ast.walk(each.value))
        if any(isinstance(part, ast.Call) or (calls and isinstance(part, (ast.Subscript, ast.Name)))
               for part in earlier if not _is_called(part, nodes)):  # fmt: skip
            return None
    made = _Taken()
    made.value = made.visit(value)
    return made


def _is_called(part: ast.expr, nodes: list[ast.AST]) -> bool:
    """Whether an expression names the function of a call, as `np.sqrt` does."""
    return any(isinstance(each, ast.Call) and any(inner is part for inner in ast.walk(each.func)) for each in nodes)


def _not_always_done(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.BoolOp):
        return list(node.values[1:])
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Compare):
        return list(node.comparators[1:])
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [node]
    return []
