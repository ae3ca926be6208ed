"""Atomic updates: elements that several iterations of a parallel loop may update, or the loop is no kernel."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kapi_numba_offload.analysis.syntax import (
    expression,
    indices_of,
    located,
    nodes_in,
    statements,
    substituted,
    variable,
)
from kapi_numba_offload.loops.body.index_analysis import IndexFacts
from kapi_numba_offload.loops.body.state import NotInKernelError
from kapi_numba_offload.loops.body.views import ArrayFacts, ArrayPart, FixedAxis
from kapi_numba_offload.loops.updates import (
    IN_ANY_ORDER,
    Extremum,
    added_terms,
    added_values,
    as_update,
    extremum_of,
)

__all__ = ["AtomicUpdates"]

_METHODS: dict[type[ast.operator], str] = {
    ast.Add: "fetch_add", ast.Sub: "fetch_sub", ast.BitAnd: "fetch_and", ast.BitOr: "fetch_or", ast.BitXor: "fetch_xor",
    ast.Mult: "fetch_mul",
}  # fmt: skip
"""The methods of `AtomicRef` by the operators of updates; quotients are stored until nobody else was faster."""
_OF_FLOATS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


class _Update(NamedTuple):
    """An update of an element.

    - `indices`: the axes of the array that have one index.
    - `kind`: those of one kind give the same numbers in any order, but for rounding. Empty if there is no atomic
      operation for it.
    - `is_atomic`: whether an atomic operation does the same with these values.
    """

    statement: ast.AugAssign | ast.Assign | ast.If
    array: str
    indices: Mapping[int, ast.expr]
    kind: str
    is_atomic: bool
    dtype: str

    def may_alias(self, other: _Update) -> bool:
        """Whether both may be of one element of one array."""
        pairs = [(each, other.indices.get(axis)) for axis, each in self.indices.items()]
        numbers = [(one.value, two.value) for one, two in pairs
                   if isinstance(one, ast.Constant) and isinstance(two, ast.Constant)]  # fmt: skip
        return self.array == other.array and all(one == two for one, two in numbers)


class AtomicUpdates:
    """Finds the updates that several iterations may do to one element, and makes them atomic.

    - `made`: what is assigned to variables that the author has not.
    """

    def __init__(
        self, arrays: Mapping[str, ArrayFacts], facts: IndexFacts, made: Mapping[str, Sequence[ast.expr]]
    ) -> None:
        self._arrays, self._facts, self._made = arrays, facts, made
        self._updates: dict[int, _Update] = {}
        self._stores: list[tuple[ast.stmt, ArrayPart]] = []
        self._reads: list[ArrayPart] = []

    def add_update(
        self, statement: ast.AugAssign | ast.Assign, view: ArrayPart, values: Sequence[ast.expr], *, reads_itself: bool
    ) -> None:
        """Note a statement that updates an element of `view` with values, as their author wrote them.

        - `reads_itself`: whether the values are computed of what is updated, so that the order of updates shows.
        """
        operation = type(statement.op) if isinstance(statement, ast.AugAssign) else ast.Add
        suits_floats, has_integers = operation in _OF_FLOATS, all(map(self._facts.is_integer, values))
        kind = "" if reads_itself else IN_ANY_ORDER.get(operation, "")
        self._add(statement, view, kind, lambda dtype: (
            has_integers and operation is not ast.Div if dtype.kind in "iu" else suits_floats))  # fmt: skip

    def add_extremum(self, statement: ast.If, view: ArrayPart, extremum: Extremum) -> None:
        """Note a statement that keeps the larger or the smaller one of an element of `view` and a value."""
        self._add(statement, view, extremum.kind, lambda dtype: (
            not extremum.is_of_integers if dtype.kind == "f" else self._is_held(extremum.value, dtype)))  # fmt: skip

    def _add(self, statement: Any, view: ArrayPart, kind: str, suits: Callable[[np.dtype[Any]], bool]) -> None:
        facts = self._arrays.get(view.array)
        if facts is not None and facts.dtype is not None:
            is_atomic = bool(kind) and facts.dtype.name in _DTYPES and suits(facts.dtype)
            self._updates[id(statement)] = _Update(
                statement, view.array, _fixed(view), kind, is_atomic, facts.dtype.name
            )

    def _is_held(self, value: ast.expr, dtype: np.dtype[Any]) -> bool:
        """Whether an integer type surely holds a value: what wraps around is no extremum."""
        if not self._facts.is_integer(value):
            return False
        if dtype.name == "int64":
            return True
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            return bool(np.iinfo(dtype).min <= value.value <= np.iinfo(dtype).max)
        owner = value.value if isinstance(value, ast.Subscript) else None
        facts = self._arrays.get(owner.id) if isinstance(owner, ast.Name) else None
        return facts is not None and facts.dtype == dtype

    def read(self, view: ArrayPart) -> None:
        """Note that the body reads the element that `view` is."""
        self._reads.append(view)

    def store(self, statement: ast.stmt, view: ArrayPart) -> None:
        """Note a statement that stores to the element that `view` is, and is no update of `add_update`."""
        if view.array in self._arrays:
            self._stores.append((statement, view))

    def check_plain_stores(self, body: Sequence[ast.stmt], value_of: Callable[[ast.expr], Any]) -> None:
        """Refuse stores to elements that the body reads, and other iterations may store to, but for updates."""
        nodes = nodes_in(body)
        updates = {
            id(stored)
            for each in nodes
            if isinstance(each, (ast.Assign, ast.If)) and extremum_of(each, value_of) is not None
            for stored in (each, *getattr(each, "body", ()))
        }
        subscripts = [each for each in nodes if isinstance(each, ast.Subscript)]
        reads = {ast.unparse(each) for each in subscripts if isinstance(each.ctx, ast.Load)}
        other = {id(each.value) for each in subscripts if isinstance(each.ctx, ast.Store)}
        other |= {id(each.value) for each in nodes if isinstance(each, ast.Attribute) and each.attr in _EXTENTS}
        used = {each.id for each in nodes if isinstance(each, ast.Name) and id(each) not in other}
        for each in nodes:
            match each:
                case ast.Assign([ast.Subscript(ast.Name(name)) as target]) if name in self._arrays:
                    if id(each) in updates or as_update(each) is not None or added_values(each):
                        continue
                    fixed = [axis for axis in indices_of(target) if not isinstance(axis, ast.Slice)]
                    if self._facts.may_collide(fixed) and ast.unparse(target) in reads:
                        raise NotInKernelError(_LOST.format(name), each)
                    if name in used and self._facts.is_common(fixed):
                        raise NotInKernelError(_COMMON.format(name), each)

    def make_atomic(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The lowered body, with atomics where updates of several iterations may be of one element."""
        for each in self._updates.values():
            if not each.kind and self._may_collide(each.indices):
                raise NotInKernelError(_LOST.format(each.array), each.statement)
        reads = {self._element(each) for each in self._reads}
        for statement, view in self._stores:
            # It may be read first, in a statement of its own.
            if self._element(view) in reads and self._may_collide(_fixed(view)):
                raise NotInKernelError(_LOST.format(view.array), statement)
        updates = {key: each for key, each in self._updates.items() if each.kind}
        shared = {name for name in {each.array for each in updates.values()} if not self._is_disjoint(name)}
        updates = {key: each for key, each in updates.items() if each.array in shared}
        for one, other in itertools.combinations(updates.values(), 2):
            if one.kind != other.kind and one.may_alias(other):  # their order shows
                raise NotInKernelError(_LOST.format(one.array), other.statement)
        return _Atomics(updates).block(statements)

    def _may_collide(self, indices: Mapping[int, ast.expr]) -> bool:
        return self._facts.may_collide(list(self._source_indices(indices).values()))

    def _source_indices(self, indices: Mapping[int, ast.expr]) -> dict[int, ast.expr]:
        """Indices in the source's variables, as far as these have one value each."""
        return {axis: _inlined(each, self._made) for axis, each in indices.items()}

    def _element(self, view: ArrayPart) -> tuple[str, str]:
        return view.array, ", ".join(map(ast.unparse, self._source_indices(_fixed(view)).values()))

    def _is_disjoint(self, name: str) -> bool:
        """Whether for each loop variable all updates of the array have one index in common that is injective in it."""
        updates = [
            self._source_indices(each.indices) for each in self._updates.values() if each.array == name and each.kind
        ]
        common = [
            index
            for axis, index in updates[0].items()
            if len({ast.unparse(each[axis]) if axis in each else None for each in updates}) == 1
        ]
        return all(
            any(self._facts.is_injective(each, variable) for each in common) for variable in self._facts.parallel
        )


def _fixed(view: ArrayPart) -> dict[int, ast.expr]:
    """The axes of the array that have one index."""
    return {number: axis.index for number, axis in enumerate(view.axes) if isinstance(axis, FixedAxis)}


def _inlined(node: ast.expr, made: Mapping[str, Sequence[ast.expr]]) -> ast.expr:
    """Expressions instead of variables that the author has not."""

    def value(name: ast.Name) -> ast.expr | None:
        values = made.get(name.id, ())
        if len(set(map(ast.unparse, values))) != 1:
            return None
        return _inlined(values[0], {each: own for each, own in made.items() if each != name.id})

    return substituted(copy.deepcopy(node), value)


class _Atomics(ast.NodeTransformer):
    """Writes updates as atomic ones."""

    def __init__(self, updates: Mapping[int, _Update]) -> None:
        self._updates = updates
        self._count = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made = self.visit(ast.Module(list(statements), []))
        assert isinstance(made, ast.Module)
        return made.body

    def visit(self, node: ast.AST) -> Any:
        update = self._updates.get(id(node))
        if update is None:
            return self.generic_visit(node) if isinstance(node, (ast.stmt, ast.Module)) else node
        made = self._atomic(update) if update.is_atomic else []
        if not made:
            raise NotInKernelError(_LOST.format(update.array), node)
        return [located(each, node) for each in made]

    def _atomic(self, update: _Update) -> list[ast.stmt]:
        node = update.statement
        match node:
            case ast.AugAssign(target, ast.Div(), value):
                self._count += 1
                return _divided(target, update.dtype, value, self._count)
            case ast.AugAssign(target, operation, value):
                return _called(target, _METHODS[type(operation)], value)
            case ast.Assign([target], value):
                added = added_terms(value, ast.unparse(target))
                return [
                    each for operation, value in added for each in _called(target, _METHODS[type(operation)], value)
                ]
            case ast.If(ast.Compare(_, [order]) as test, [ast.Assign([target], value)]):
                # An element that is not a number stays one: no comparison with it says yes.
                (load,) = _called(target, "load", None)
                test.comparators = [load.value]  # type: ignore[attr-defined]
                node.body = _called(target, "fetch_max" if isinstance(order, ast.Gt) else "fetch_min", value)
                return [node]
        return []


_EXTENTS = ("shape", "size", "ndim", "dtype")
_COMMON = "all iterations store to the same elements of {0}, which they read: make it in the loop, as by `np.empty(n)`"
_LOST = "an update of elements of {} that several iterations may have, and no atomic operation for it"


def _called(target: ast.expr, method: str, value: ast.expr | None) -> list[ast.stmt]:
    """A call of a method of an element's atomic reference."""
    call = ast.Call(ast.Attribute(_reference(target), method, ast.Load()), [] if value is None else [value], [])
    return [ast.Expr(call)]


def _reference(target: ast.expr) -> ast.Call:
    assert isinstance(target, ast.Subscript)
    return ast.Call(variable("kapi_AtomicRef"), [copy.deepcopy(target.value), copy.deepcopy(target.slice)], [])


_DIVIDED = """
SEEN = kapi_PrivateArray(1, DTYPE)
X = VALUE
SEEN[0] = REFERENCE.load()
while not REFERENCE.compare_exchange(SEEN, DTYPE(SEEN[0] / X)):
    pass
"""


def _divided(target: ast.expr, dtype: str, value: ast.expr, number: int) -> list[ast.stmt]:
    """Statements that divide an element, until no other work-item has changed it meanwhile."""
    names = {each: f"kapi_{each.lower()}_of_update{number}" for each in ("SEEN", "X")}
    return statements(
        _DIVIDED, **names, DTYPE=expression(f"kapi_np.{dtype}"), VALUE=value, REFERENCE=_reference(target)
    )
