"""Syntax that a kernel of numba.cuda's cannot hold, on whatever control-flow path it stands."""

from __future__ import annotations

import ast

from kapi_sim.errors import Finding
from kapi_sim.language.attributes import bound_names

__all__ = ["refused_statements", "unset_variables"]

_WITH = Finding("with-in-kernel", "kernels have no with statement: enter the context around the launch")
_YIELD = Finding("yield-or-await", "kernels cannot yield or await: write a loop")
_IMPORT = Finding("import-in-kernel", "a kernel cannot import: move the import out of the kernel")
_MATCH = Finding("match-pattern", "patterns of `match` must be constants in a kernel: write `if` for others")
_REFUSED: dict[type[ast.AST], Finding] = {
    ast.With: _WITH,
    ast.AsyncWith: _WITH,
    ast.AsyncFor: _YIELD,
    ast.AsyncFunctionDef: _YIELD,
    ast.Yield: _YIELD,
    ast.YieldFrom: _YIELD,
    ast.Await: _YIELD,
    ast.Import: _IMPORT,
    ast.ImportFrom: _IMPORT,
    ast.ClassDef: Finding("class-in-kernel", "a kernel cannot define a class: define it outside"),
    ast.Delete: Finding("del-in-kernel", "kernels have no del: leave it out"),
    ast.GeneratorExp: Finding("generator", "kernels have no generators: write a loop"),
    ast.Nonlocal: Finding(
        "outer-variable-changed", "a local function cannot assign a variable of the kernel: return the value"
    ),
    ast.MatchSequence: _MATCH,
    ast.MatchMapping: _MATCH,
    ast.MatchClass: _MATCH,
    ast.MatchStar: _MATCH,
}


def refused_statements(tree: ast.FunctionDef) -> list[tuple[int, Finding]]:
    """Return what the source of a function cannot hold, with the lines; functions in it are looked at when called."""
    found: list[tuple[int, Finding]] = []
    changed = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop(0)
        line = getattr(node, "lineno", tree.lineno)
        if type(node) in _REFUSED:
            found.append((line, _REFUSED[type(node)]))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in changed:
            found.append(
                (line, Finding("global-changed", "a kernel cannot assign a global variable: write to an array"))
            )
        elif isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store):
            found.append((line, Finding("starred-name", "a kernel cannot assign a starred name: name each value")))
        elif isinstance(node, ast.Raise) and node.cause is not None:
            found.append((line, Finding("raise-from", "a kernel cannot raise with `from`: leave it out")))
        elif isinstance(node, ast.keyword) and node.arg is None:
            found.append(
                (node.value.lineno, Finding("call-star", "a call cannot have ** in a kernel: name each argument"))
            )
        pending += _parts(node)
    return found


def _parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that Python compiles as parts of the same function."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return []
    if isinstance(node, (ast.If, ast.While)) and isinstance(node.test, ast.Constant):
        return [*(node.body if node.test.value else node.orelse)]
    return list(ast.iter_child_nodes(node))


def unset_variables(tree: ast.FunctionDef) -> list[tuple[int, Finding]]:
    """Return the variables that are read before the source sets them, in the order in which it is compiled."""
    given = {each.arg for each in ast.walk(tree.args) if isinstance(each, ast.arg)}
    order = _Order(bound_names(tree) - given)
    for statement in tree.body:
        order.visit(statement)
    return [
        (line, Finding("variable-unset", f"variable {name!r} has no value here: assign it before"))
        for name, line in order.unset.items()
    ]


class _Order(ast.NodeVisitor):
    """Goes through a function as Python's compiler does.

    Parameters
    ----------
    local : set of str
        Names of its variables, without its parameters.
    """

    def __init__(self, local: set[str]) -> None:
        self._local = local
        self._set: set[str] = set()
        self.unset: dict[str, int] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._set.add(node.id)
        elif node.id in self._local - self._set:
            self.unset.setdefault(node.id, node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        self.visit(node.value)
        self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self._set.add(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            self._set.add(node.name)

    def visit_alias(self, node: ast.alias) -> None:
        self._set.add((node.asname or node.name).split(".")[0])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._set.add(node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in node.args.defaults:
            self.visit(default)
        self._set.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in node.args.defaults:
            self.visit(default)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """Leave out the variables of a comprehension, which are its own."""

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # type: ignore[assignment]
