"""Normal form of a function: assignments within expressions hoisted, arguments by position, array idioms desugared."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.counted_loops import CountedLoops
from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import (
    conjuncts,
    expression,
    index_of,
    located,
    names_in,
    nodes_in,
    targets_of,
)

__all__ = [
    "count_loops_over_elements",
    "desugar_array_idioms",
    "given_arguments",
    "normalised",
    "with_assignments_before",
    "with_calls_by_position",
]


def normalised(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The definition, changed in place.

    What stands in the `else` of a loop without `break` stands after the loop, and `assert` is left out where Python
    leaves it out (``python -O``). A variable for ``a.flat`` that is only indexed is written as ``a.flat``. Functions
    within the function are given all their arguments by position. What is assigned within an expression is assigned
    before it.
    """
    with_calls_by_position(definition)
    definition.body = _block(_with_flat_written_out(definition))
    return definition


def _with_flat_written_out(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The body without variables for the `flat` of arrays whose names always mean the same."""
    names = [each for each in ast.walk(definition) if isinstance(each, ast.Name)]
    stored = [each.id for each in names if not isinstance(each.ctx, ast.Load)]
    parameters = {each.arg for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    indexed = {id(each.value) for each in ast.walk(definition) if isinstance(each, ast.Subscript)}
    has_scopes = any(isinstance(each, (*_SCOPES, ast.Global, ast.Nonlocal)) for each in _below(definition))
    kept: list[ast.stmt] = []
    for statement in definition.body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.Attribute(ast.Name(array), "flat") as flat) if not has_scopes:
                reads = [each for each in names if each.id == name and isinstance(each.ctx, ast.Load)]
                is_fixed = array in parameters and array not in stored
                is_fixed = is_fixed and stored.count(name) == 1 and name not in parameters
                if is_fixed and all(id(each) in indexed for each in reads):
                    _write_out(definition, name, flat)
                    continue
        kept.append(statement)
    return kept or [ast.Pass()]


_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _below(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    return (each for statement in definition.body for each in ast.walk(statement))


def _write_out(definition: ast.FunctionDef, name: str, flat: ast.Attribute) -> None:
    for each in _below(definition):
        if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id == name:
            each.value = ast.copy_location(copy.deepcopy(flat), each.value)


def _block(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Assert) and not __debug__:
            continue
        for field, value in ast.iter_fields(statement):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(statement, field, _block(value) or ([] if field == "orelse" else [ast.Pass()]))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = _block(part.body) or [ast.Pass()]
        after: list[ast.stmt] = []
        if isinstance(statement, (ast.For, ast.While)) and not has_break(statement):
            after, statement.orelse = statement.orelse, []
        made += [*with_assignments_before(statement), *after]
    return [ast.fix_missing_locations(each) for each in made]


def given_arguments(parameters: ast.arguments, call: ast.Call) -> dict[str, ast.expr] | None:
    """Argument of each parameter, by position, by name or as its default; None if that is not known."""
    if parameters.vararg or parameters.kwarg or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    by_position = [each.arg for each in (*parameters.posonlyargs, *parameters.args)]
    by_name = {each.arg: each.value for each in call.keywords if each.arg is not None}
    names = [*by_position, *(each.arg for each in parameters.kwonlyargs)]
    if len(by_name) != len(call.keywords) or len(call.args) > len(by_position):
        return None
    defaults = dict(zip(reversed(by_position), reversed(parameters.defaults), strict=False))
    defaults |= {each.arg: value for each, value in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
                 if value is not None}  # fmt: skip
    positional = dict(zip(by_position, call.args, strict=False))
    known = {name: value for name, value in defaults.items() if _is_number(value)}
    found = {**known, **positional, **by_name}
    is_full = set(found) == set(names) and not positional.keys() & by_name.keys()
    return {name: copy.deepcopy(found[name]) for name in names} if is_full else None


def _is_number(node: ast.expr) -> bool:
    """Whether a default is the same wherever it is read."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, complex))


def with_calls_by_position(definition: ast.FunctionDef) -> None:
    """Write all arguments of calls of functions within the function by position, defaults included.

    Numba gives a function within another one what is given by name as if it were given by position.
    """
    nodes = list(ast.walk(definition))
    stored = Counter(names_in(nodes, ast.Store))
    named = Counter(each.name for each in nodes if isinstance(each, (ast.FunctionDef, ast.ClassDef)))
    parameters = {each.arg for each in nodes if isinstance(each, ast.arg)}
    known: dict[str, ast.arguments] = {}
    for each in nodes:
        if isinstance(each, ast.FunctionDef) and each is not definition and not each.decorator_list:
            known[each.name] = each.args
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda):
            known |= {target.id: each.value.args for target in each.targets if isinstance(target, ast.Name)}
    for call in nodes:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        name = call.func.id
        if name not in known or stored[name] + named[name] != 1 or name in parameters or known[name].kwonlyargs:
            continue
        given = given_arguments(known[name], call)
        if given is not None:
            call.args, call.keywords = list(given.values()), []


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
        parts = [] if isinstance(statement, (ast.Expr, ast.Return)) else targets_of(statement)
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


def _loop(statement: ast.While) -> list[ast.stmt] | None:
    tests: list[ast.stmt] = []
    for each in conjuncts(statement.test):
        before = _before(each, [])
        if before is None:
            return None
        end = ast.If(ast.UnaryOp(ast.Not(), before.value), [ast.Break()], [])
        tests += [*before.statements, ast.copy_location(end, each)]
    return [ast.copy_location(ast.While(ast.Constant(True), [*tests, *statement.body], []), statement)]


def _branch(statement: ast.If) -> list[ast.stmt] | None:
    full = _before(statement.test, [])
    if full is not None:
        statement.test = full.value
        return [*full.statements, statement]
    tests = conjuncts(statement.test)
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
    """The assignments of an expression and the rest of it; None if an operand before one could see the difference."""
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


def desugar_array_idioms(definition: ast.FunctionDef, names: Scope, kinds: Kinds) -> None:
    """Desugar outer products of vectors to products of a column and a row, `len(a.flat)` to `a.size`, fills to stores.

    - `definition`: the function, changed in place.
    - `kinds`: the kinds of its expressions; those of what is written out are added.
    """
    idioms = _ArrayIdioms(names, kinds)
    definition.body = [idioms.visit(each) for each in definition.body]


def count_loops_over_elements(definition: ast.FunctionDef, names: Scope, kinds: Kinds) -> bool:
    """Write loops over the elements of device arrays as loops over indices, in place; whether there were some.

    Those are the loops of `CountedLoops` over arrays that have a name, and over `np.ndindex(a.shape)`.
    """
    loops = _LoopsOverArrays(definition, names, kinds)
    definition.body = [loops.visit(each) for each in definition.body]
    if loops.count:
        ast.fix_missing_locations(definition)
    return bool(loops.count)


class _LoopsOverArrays(CountedLoops, ast.NodeTransformer):
    """Rewrites loops.

    - `count`: how many it has rewritten.
    """

    def __init__(self, definition: ast.FunctionDef, names: Scope, kinds: Kinds) -> None:
        super().__init__(names)
        self._kinds, self.count, self._counters = kinds, 0, 0
        self._parallel = {
            id(inner) for each in ast.walk(definition)
            if isinstance(each, ast.For) and isinstance(each.iter, ast.Call)
            and getattr(names.value(each.iter.func), "__name__", "") == "prange"
            for inner in ast.walk(each)
        }  # fmt: skip

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        # The lowering of a kernel's body does it for the others.
        made = self._over_indices(node) or self.counted(node) if id(node) not in self._parallel else None
        self.count += made is not None
        return node if made is None else made

    def lengths(self, value: ast.expr, loop: ast.For, *, is_flat: bool) -> list[ast.expr] | None:
        """The lengths of a device array that has a name of its own in all of a loop, or of `range(n)`."""
        stored = set(names_in(nodes_in(loop.body), ast.Store, ast.Del))
        match value:
            case ast.Name(name) if name not in stored:
                kind = self._kinds.kind(value)
                rank = kind.ndim or 0 if isinstance(kind, ArrayKind) and kind.usm else 0
                return [expression(f"{name}.shape[{axis}]") for axis in range(rank)] if is_flat or rank == 1 else None
            case ast.Call(called, [length], []) if self.names.value(called) is range:
                nodes = list(ast.walk(length))
                has_name = not stored.isdisjoint(names_in(nodes, ast.Load))
                return None if has_name or any(isinstance(each, ast.Call) for each in nodes) else [length]
        return None

    def item(self, value: ast.expr, at: Sequence[ast.expr]) -> ast.expr:
        """The element of an array, or the number of a `range`."""
        if isinstance(value, ast.Call):
            return at[0]
        return ast.Subscript(copy.deepcopy(value), copy.deepcopy(index_of(at)), ast.Load())

    def new_counter(self) -> str:
        """A variable that counts from 0."""
        self._counters += 1
        return f"kapi_each{self._counters}"

    def over(
        self, loop: ast.For, targets: Sequence[ast.expr], values: Sequence[ast.expr], counted: Sequence[ast.expr] = ()
    ) -> ast.For | None:
        """A loop over the elements of arrays of one axis, or over a `range` beside them."""
        has_arrays = not all(isinstance(each, ast.Call) for each in values)
        return super().over(loop, targets, values, counted) if has_arrays else None

    def _over_indices(self, node: ast.For) -> ast.For | None:
        """Loops in each other over all indices of an array, whose tuple is an index only; None for other loops."""
        match node:
            case ast.For(ast.Name(name), ast.Call(called, [ast.Attribute(array, "shape")], [])):
                lengths = self.lengths(array, node, is_flat=True) if self.names.value(called) is np.ndindex else None
            case _:
                return None
        nodes = nodes_in(node.body)
        subscripts = [each for each in nodes if isinstance(each, ast.Subscript)]
        at_index = [each for each in subscripts if isinstance(each.slice, ast.Name) and each.slice.id == name]
        uses = [each for each in nodes if isinstance(each, ast.Name) and each.id == name]
        if not lengths or has_break(node) or node.orelse or len(uses) > len(at_index):
            return None

        def first(at: list[ast.expr]) -> list[ast.stmt]:
            for each in at_index:
                each.slice = copy.deepcopy(index_of(at))
            return []

        return self.nested(node, lengths, first)


class _ArrayIdioms(ast.NodeTransformer):
    def __init__(self, names: Scope, kinds: Kinds) -> None:
        self._names, self._kinds = names, kinds

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        function = self._names.value(node.func)
        if node.keywords:
            self._leave_out_quicksort(node)
            return node
        if function is len and len(node.args) == 1:
            return self._length(node, node.args[0])
        if len(node.args) == 2 and numpy_name(function) == "outer" and all(map(self._is_vector, node.args)):
            return self._product(node, *node.args)
        return node

    def _leave_out_quicksort(self, node: ast.Call) -> None:
        """Leave out ``kind="quicksort"``, NumPy's default, which array libraries do not take."""
        name = numpy_name(self._names.value(node.func)) or getattr(node.func, "attr", None)
        if name in ("sort", "argsort"):
            node.keywords = [
                each for each in node.keywords
                if not (each.arg == "kind" and isinstance(each.value, ast.Constant) and each.value.value == "quicksort")
            ]  # fmt: skip

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Write ``a.fill(3)`` as ``a[:] = 3``: dpnp's own may begin before earlier work has read a strided array."""
        self.generic_visit(node)
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "fill":
            return node
        kind = self._kinds.kind(call.func.value)
        is_filled = isinstance(kind, ArrayKind) and kind.usm and bool(kind.ndim)
        if not is_filled or call.keywords or len(call.args) != 1 or self._kinds.kind(call.args[0]) != SCALAR:
            return node
        target = ast.Subscript(call.func.value, ast.Slice(), ast.Store())
        return located(ast.Assign([target], call.args[0]), node)

    def _length(self, node: ast.Call, value: ast.expr) -> ast.expr:
        is_flat = isinstance(value, ast.Attribute) and value.attr == "flat"
        kind = self._kinds.kind(value.value) if is_flat else None  # type: ignore[attr-defined]  # it is an attribute
        if not isinstance(kind, ArrayKind) or not kind.usm:
            return node
        return self._noted(ast.Attribute(value.value, "size", ast.Load()), SCALAR, node)  # type: ignore[attr-defined]

    def _is_vector(self, node: ast.expr) -> bool:
        return self._kinds.kind(node) == ArrayKind(True, 1)

    def _product(self, node: ast.Call, column: ast.expr, row: ast.expr) -> ast.expr:
        index = ast.Tuple([ast.Slice(), ast.Constant(None)], ast.Load())
        matrix = ArrayKind(True, 2)
        upright = self._noted(ast.Subscript(column, index, ast.Load()), matrix, node)
        return self._noted(ast.BinOp(upright, ast.Mult(), row), matrix, node)

    def _noted(self, made: ast.expr, kind: Any, where: ast.expr) -> ast.expr:
        self._kinds.note(made, kind)
        return located(made, where)
