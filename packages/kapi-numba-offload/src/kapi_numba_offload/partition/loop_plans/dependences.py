"""Dependences between the iterations of a plain loop: whether one may read or store what another one stores.

The tests are those of parallelising compilers for affine subscripts, in their simplest form.  An array that is stored
to has an axis on which all accesses to it have one index, and that index is another one in each iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numba

from kapi_numba_offload.analysis.control_flow import may_leave_early
from kapi_numba_offload.analysis.effects import has_effects, is_view, stores_to_given
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind
from kapi_numba_offload.analysis.random_functions import random_name
from kapi_numba_offload.analysis.syntax import indices_of, nodes_in, root_variable, targets_of
from kapi_numba_offload.loops.host.called_functions import CalledFunction
from kapi_numba_offload.loops.host.loop_costs import bound
from kapi_numba_offload.loops.loop_syntax import MOST_AXES, variables_of
from kapi_numba_offload.loops.updates import IN_ANY_ORDER, LAST, SAME, extremum_of
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_functions

__all__ = ["Index", "Nest", "is_counted", "is_kept", "nest_of"]

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Expr, ast.Pass, ast.Continue, ast.Break)
_PARTS_OF_INDICES = (
    ast.expr_context, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name,
)  # fmt: skip
_EXTENTS = ("shape", "size", "ndim")


@dataclass(frozen=True, slots=True)
class Index:
    """An index that differs from iteration to iteration, if it has one sign in all of them.

    - `axis`: the loop of the nest, counted from the outermost one, whose iterations it distinguishes.
    """

    expression: ast.expr
    axis: int


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of a nest whose iterations are independent, or why those of the outermost one may not be.

    - `depth`: how many loops, with nothing between them.
    - `indices`: those that independence rests on.
    - `stored`: the arrays that iterations store to: they must share no memory with each other and with what is read.
    - `dependence`: what one iteration may have of another one; empty if there is nothing.
    - `scattered`: those of the arrays that several iterations may update or store to at one element, whose order
      integers do not show, and the kind of the updates or stores.
    - `order`: which stores have an order; empty if none has.
    """

    depth: int
    indices: list[Index]
    stored: set[str]
    dependence: str = ""
    scattered: dict[str, str] = field(default_factory=dict)
    order: str = ""


class _Access(NamedTuple):
    """One access to an array: the indices of its first axes, whether it stores, and the kind of an update.

    - `stored`: what is stored to a single element, which nothing else stores to in the same statement.
    """

    node: ast.expr
    indices: Sequence[ast.expr]
    stores: bool
    update: str = ""
    stored: ast.expr | None = None


class _Linear(NamedTuple):
    """A multiple of the loop's variable, and what is added to it: a number, and terms that the loop keeps."""

    factor: int
    added: int
    terms: tuple[str, ...]


class _DependenceError(Exception):
    """Iterations may depend on each other; the message says how."""


def nest_of(facts: FunctionInfo, loop: ast.For, *, keeps_order: bool = False) -> Nest:
    """The independent loops of a nest.

    Scalars that iterations carry are left out: those are known by the syntax of parallel loops.

    - `loop`: the outermost loop.
    - `keeps_order`: whether of several stores to one element the last one may be kept.
    """
    indices: list[Index] = []
    stored: set[str] = set()
    scattered: dict[str, str] = {}
    order = ""
    depth, variables, current = 0, set[str](), loop
    while True:
        try:
            found, stored_here, scattered_here, order_here = _independent(facts, current, keeps_order=keeps_order)
        except _DependenceError as error:
            if not depth:
                return Nest(0, [], set(), str(error))
            break
        if depth and scattered_here.keys() - scattered:
            break  # the outer loops tell its elements apart
        indices += [Index(each, depth) for each in found]
        stored |= stored_here
        scattered = scattered_here | scattered  # what is one value in an inner loop may be several
        order = order or order_here
        depth += 1
        assert isinstance(current.target, ast.Name)
        variables.add(current.target.id)
        inner = current.body[0]
        if (
            depth == MOST_AXES
            or len(current.body) > 1
            or not isinstance(inner, ast.For)
            or not is_counted(facts, inner)
        ):
            break
        assert isinstance(inner.iter, ast.Call)
        if variables & variables_of(inner.iter.args, ast.Load):
            break
        current = inner
    return Nest(depth, indices, stored, scattered=scattered, order=order)


def is_counted(facts: FunctionInfo, loop: ast.For) -> bool:
    """Whether a loop counts, between bounds that are known before it runs."""
    return (
        isinstance(loop.target, ast.Name)
        and isinstance(loop.iter, ast.Call)
        and facts.names.value(loop.iter.func) in (range, numba.prange)
        and 1 <= len(loop.iter.args) <= 3
        and not loop.iter.keywords
        and not loop.orelse
        and all(bound(each, facts.names.value, powers=True) is not None for each in loop.iter.args)
    )


def _independent(
    facts: FunctionInfo, loop: ast.For, *, keeps_order: bool
) -> tuple[list[ast.expr], set[str], dict[str, str], str]:
    """The indices that distinguish the iterations of a loop, the arrays that it stores to, and those without an index.

    The last result says which stores have an order; it is empty if none has. Raises `_DependenceError` if iterations
    may depend on each other.
    """
    if not is_counted(facts, loop) or may_leave_early(loop):
        raise _DependenceError("it does not count, or may end early")
    assert isinstance(loop.target, ast.Name)
    nodes = nodes_in(loop.body)
    _require_plain(facts, nodes)
    changed = variables_of(loop.body, ast.Store)
    if loop.target.id in changed:
        raise _DependenceError(f"it assigns its own variable `{loop.target.id}`")
    indices, stored, scattered, order = [], set(), {}, ""
    accesses: dict[str, list[_Access]] = {}
    for name, access in _accesses(facts, loop.body):
        if name not in changed:
            accesses.setdefault(name, []).append(access)
    for each in nodes:
        if isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load):
            owner = root_variable(each)
            if owner is None or (owner not in changed and owner not in accesses):
                raise _DependenceError(f"it is not known where `{ast.unparse(each)}` is stored")
    for name, own in accesses.items():
        store = next((each for each in own if each.stores), None)
        if store is None:
            continue
        stored.add(name)
        try:
            indices.append(_own_index(facts, loop.target.id, changed, own, store))
        except _DependenceError as error:
            kinds = {each.update or _kind_of_stores(facts, each, {loop.target.id, *changed}) for each in own}
            if "" in kinds or (len(kinds) > 1 and any(each.update for each in own)):
                raise
            scattered[name] = kinds.pop() if len(kinds) == 1 else LAST
            if scattered[name].startswith((LAST, SAME)) and not keeps_order:
                raise
            order = order or (str(error) if scattered[name] == LAST else "")
    if order and not all(map(_is_replayed, (each for name in stored for each in accesses[name]))):
        raise _DependenceError(order)
    return indices, stored, scattered, order


def _kind_of_stores(facts: FunctionInfo, access: _Access, changed: set[str]) -> str:
    """The kind of a store that is no update; empty for other accesses."""
    if access.stored is None:
        return ""
    return f"{SAME} {ast.unparse(access.stored)}" if is_kept(facts, access.stored, changed) else LAST


def _is_replayed(access: _Access) -> bool:
    """Whether a loop without this access to an array that it stores to does the same otherwise."""
    return bool(access.update) or access.stored is not None


def _require_plain(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> None:
    """Raise unless the body computes, and does nothing that a reordering shows."""
    called = [
        call for call, each in called_functions(facts, nodes, of_any_type=True).items()
        if not call.keywords and each.dispatcher is None  # its signature would convert numbers
        and (all(facts.kinds.kind(each) == SCALAR for each in call.args) or _only_reads(each))
    ]  # fmt: skip
    for each in nodes:
        if isinstance(each, ast.stmt) and not isinstance(each, _STATEMENTS):
            raise _DependenceError(f"`{ast.unparse(each).splitlines()[0]}` has its place in an order")
        if isinstance(each, ast.stmt) and not isinstance(each, (ast.If, ast.For, ast.While)):
            if has_effects(each, facts.names, called):
                raise _DependenceError(f"`{ast.unparse(each)}` calls a function that may have an effect")
        if isinstance(each, (ast.If, ast.While)) and has_effects(each.test, facts.names, called):
            raise _DependenceError(f"`{ast.unparse(each.test)}` calls a function that may have an effect")
        if isinstance(each, ast.Call) and random_name(facts.names.value(each.func)) is not None:
            raise _DependenceError(f"`{ast.unparse(each)}` draws random numbers in an order")
        if isinstance(each, ast.For) and facts.names.value(getattr(each.iter, "func", each.iter)) is not range:
            raise _DependenceError(f"`{ast.unparse(each.iter)}` is iterated")
        if isinstance(each, ast.BinOp) and isinstance(each.op, (ast.FloorDiv, ast.Mod)) and _may_be_zero(each.right):
            raise _DependenceError(f"`{ast.unparse(each)}` may divide by zero, which is an error on the host")
        if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None and is_view(each.value):
            kind = facts.kinds.kind(each.value)
            is_number = kind == SCALAR or (isinstance(kind, ArrayKind) and (kind.ndim == 0 or kind.may_be_element))
            if not is_number and not all(isinstance(target, ast.Subscript) for target in targets_of(each)):
                raise _DependenceError(f"`{ast.unparse(each)}` gives an array another name")


def _only_reads(called: CalledFunction) -> bool:
    """Whether a function stores to none of the arrays that it is given."""
    return not stores_to_given(called.definition) and all(map(_only_reads, called.called))


def _may_be_zero(divisor: ast.expr) -> bool:
    return not (isinstance(divisor, ast.Constant) and isinstance(divisor.value, (int, float)) and divisor.value)


def _accesses(facts: FunctionInfo, body: Sequence[ast.stmt]) -> Iterator[tuple[str, _Access]]:
    """The accesses to arrays of a loop's body, with their names."""
    kept: dict[int, str] = {}
    nodes = nodes_in(body)
    for statement in [node for node in nodes if isinstance(node, ast.stmt)]:
        extremum = extremum_of(statement, facts.names.value)
        if extremum is not None:
            kind, element = extremum.kind, ast.unparse(extremum.target)
            kept |= {id(node): kind for node in ast.walk(statement) if isinstance(node, ast.Subscript)
                     and ast.unparse(node) == element}  # fmt: skip
    parents = {id(child): each for each in nodes for child in ast.iter_child_nodes(each)}
    for each in nodes:
        if not isinstance(each, ast.Name) or each.id not in facts.usm_names:
            continue
        parent = parents.get(id(each))
        if isinstance(parent, ast.Attribute) and parent.attr in (*_EXTENTS, "dtype"):
            continue
        if not isinstance(parent, ast.Subscript) or parent.value is not each:
            yield each.id, _Access(each, (), not isinstance(each.ctx, ast.Load))
            continue
        outer: ast.AST = parent
        while isinstance(above := parents.get(id(outer)), ast.Subscript) and above.value is outer:
            outer = above
        assert isinstance(outer, ast.Subscript)
        above = parents.get(id(outer))
        is_updated = isinstance(above, ast.AugAssign) and above.target is outer
        update = kept.get(id(outer), "")
        if (
            isinstance(above, ast.AugAssign)
            and is_updated
            and facts.kinds.target(above) in (SCALAR, ArrayKind(True, 0))
        ):
            update = "" if isinstance(above.op, ast.Div) else IN_ANY_ORDER.get(type(above.op), "")
        is_alone = isinstance(above, ast.Assign) and above.targets == [outer]
        is_element = facts.kinds.kind(outer) in (SCALAR, ArrayKind(True, 0))
        stored = above.value if isinstance(above, ast.Assign) and is_alone and is_element else None
        is_stored = is_updated or not isinstance(outer.ctx, ast.Load)
        yield each.id, _Access(parent, indices_of(parent), is_stored, update, stored)


def _own_index(
    facts: FunctionInfo, variable: str, changed: set[str], accesses: Sequence[_Access], store: _Access
) -> ast.expr:
    """The index that all accesses to an array have on one axis, another one in each iteration."""
    least = min(len(each.indices) for each in accesses)
    for axis in range(least):
        found = [_linear(facts, each.indices[axis], variable, changed) for each in accesses]
        before = [index for each in accesses for index in each.indices[: axis + 1]]
        if any(isinstance(each, ast.Starred) or _adds_axes(each) for each in before):
            break
        if found[0] is not None and found[0].factor and all(each == found[0] for each in found):
            return store.indices[axis]
    other = next((each for each in accesses if ast.unparse(each.node) != ast.unparse(store.node)), store)
    where = f"`{ast.unparse(other.node)}`" if other is not store else "it"
    raise _DependenceError(f"one iteration may store `{ast.unparse(store.node)}` where another one has {where}")


def _adds_axes(index: ast.expr) -> bool:
    """Whether an index stands for no axis, or for several."""
    return not isinstance(index, (ast.Name, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Call)) and not (
        isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and type(index.value) is int)
    )


def _linear(facts: FunctionInfo, node: ast.expr, variable: str, changed: set[str]) -> _Linear | None:
    """An index as a linear function of a variable; None if it is none for all that is known."""
    if isinstance(node, ast.Name) and node.id == variable:
        return _Linear(1, 0, ())
    if isinstance(node, ast.Constant):
        return _Linear(0, node.value, ()) if type(node.value) is int else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = (_linear(facts, each, variable, changed) for each in (node.left, node.right))
        if left is None or right is None:
            return None
        sign = 1 if isinstance(node.op, ast.Add) else -1
        others = right.terms if sign == 1 else tuple(_negated(each) for each in right.terms)
        return _Linear(
            left.factor + sign * right.factor, left.added + sign * right.added, tuple(sorted((*left.terms, *others)))
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Constant) and type(one.value) is int and one.value:
                found = _linear(facts, other, variable, changed)
                if found is not None and not found.terms:
                    return _Linear(one.value * found.factor, one.value * found.added, ())
    if is_kept(facts, node, {variable, *changed}):
        return _Linear(0, 0, (f"+{ast.unparse(node)}",))
    return None


def _negated(term: str) -> str:
    return ("-" if term.startswith("+") else "+") + term[1:]


def is_kept(facts: FunctionInfo, node: ast.expr, changed: set[str]) -> bool:
    """Whether an expression is a number, the same in all iterations: it is made of numbers and extents."""
    if facts.kinds.kind(node) != SCALAR:
        return False
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in changed:
            return False
        if isinstance(each, ast.Subscript):
            if not (isinstance(each.value, ast.Attribute) and each.value.attr == "shape"):
                return False
        elif isinstance(each, ast.Attribute):
            if each.attr not in _EXTENTS:
                return False
        elif not isinstance(each, _PARTS_OF_INDICES):
            return False
    return True
