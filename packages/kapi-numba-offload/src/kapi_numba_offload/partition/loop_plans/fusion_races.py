"""Races of Numba's parallel code: statements that it fuses may read elements while it stores to them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kapi_numba_offload.analysis.effects import gives_indices, is_view
from kapi_numba_offload.analysis.kinds import may_have_axes
from kapi_numba_offload.analysis.syntax import indices_of, integer_literal, names_in, root_variable, targets_of
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import has_arrays_of_calls

__all__ = ["races_by_fusion", "stores_rows"]

_Part: TypeAlias = tuple[tuple[int, int], ...] | None
"""Numbers of elements left out at the start and end of each axis, but of entire ones at the end; None where unknown."""

_Names: TypeAlias = dict[str, int]
"""The array that each variable has, by its number."""

_ENTIRE: _Part = ()
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_UNFOLLOWED = (
    ast.NamedExpr, ast.With, ast.Try, ast.Match, ast.FunctionDef, ast.Lambda, ast.Nonlocal, ast.Global, ast.Starred
)  # fmt: skip
_LENGTHS = ("shape", "size", "ndim")


def races_by_fusion(facts: FunctionInfo, *, is_called: bool = False) -> bool:
    """Whether a function stores to rows of an array that it may also read at other indices.

    Numba's parallel code then has wrong elements: it stores while it reads, in ``a[1:] = a[:-1]`` as well as in
    separate statements that it fuses, such as ``b = a[::-1] + 1`` and ``a[:] = b``. It fuses none across the ends of a
    loop: where iterations end with ``a, b = b, a``, the statements of each one see two arrays that do not alias.

    - `is_called`: whether its arguments may share memory.
    """
    if not stores_rows(facts):
        return False
    definition = facts.definition
    inner = [each for each in ast.walk(definition) if each is not definition]
    if any(isinstance(each, _UNFOLLOWED) for each in inner) or has_arrays_of_calls(facts):
        return True
    return _Walk(facts, share_memory=is_called).races()


def stores_rows(facts: FunctionInfo) -> bool:
    """Whether a function stores to more than an element of an array at once."""
    return any(
        (isinstance(each, ast.AugAssign) and may_have_axes(facts.kinds.target(each))) or _is_stored_row(facts, each)
        for each in ast.walk(facts.definition)
    )


def _is_stored_row(facts: FunctionInfo, node: ast.AST) -> bool:
    is_store = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return is_store and may_have_axes(facts.kinds.kind(node))  # type: ignore[arg-type]  # a subscript


@dataclass(slots=True)
class _Region:
    """The accesses of statements between the ends of loops: pairs of an array and its part."""

    read: set[tuple[int, _Part]] = field(default_factory=set)
    stored: set[tuple[int, _Part]] = field(default_factory=set)


class _Walk:
    """An abstract run of a function: which arrays its variables may have, and which of them may share memory.

    An array is a number: what an assignment makes, or what a variable has where control-flow paths converge.
    """

    def __init__(self, facts: FunctionInfo, *, share_memory: bool) -> None:
        self._facts = facts
        self._shared: list[set[int]] = []
        self._views: set[int] = set()  # arrays that may be parts of others
        self._regions: list[_Region] = []
        self._is_untold = False
        self._depth = 0  # of branches: what Numba knows of their conditions may leave no loop in them
        self._starts: list[list[_Names]] = []  # of the loops around: what variables have where they go on
        self._ends: list[list[_Names]] = []  # the same where they are left
        self._names: _Names | None = {name: self._array() for name in facts.names.parameters}
        if share_memory:
            for each in self._names.values():
                self._share(each, self._names.values())
            self._views.update(self._names.values())

    def races(self) -> bool:
        """Whether an array may be read, in the region of a store to it, at other indices."""
        self._block(self._facts.definition.body, self._region())
        return self._is_untold or any(
            _is_race(to, read, is_same=array == other, are_views=bool(self._views & {array, other}))
            for region in self._regions
            for array, to in region.stored
            for other, read in region.read
            if array == other or other in self._shared[array]
        )

    def _region(self) -> _Region:
        self._regions.append(_Region())
        return self._regions[-1]

    def _array(self, parts_of: Iterable[int] = ()) -> int:
        """A new array, which may be one of these or a part of it."""
        self._shared.append(set())
        new = len(self._shared) - 1
        for each in list(parts_of):
            self._share(new, (each, *self._shared[each]))
        return new

    def _share(self, array: int, others: Iterable[int]) -> None:
        for each in others:
            if each != array:
                self._shared[array].add(each)
                self._shared[each].add(array)

    def _block(self, body: Sequence[ast.stmt], region: _Region) -> _Region:
        """Run statements; the region that the next ones are in."""
        for each in body:
            if self._names is None:
                break
            region = self._statement(each, region)
        return region

    def _statement(self, statement: ast.stmt, region: _Region) -> _Region:
        if isinstance(statement, (ast.For, ast.While)):
            return self._loop(statement, region)
        if isinstance(statement, ast.If):
            self._access(statement.test, region)
            before = dict(self._names or {})
            self._depth += 1
            self._block(statement.body, region)
            after, self._names = self._names, before
            self._block(statement.orelse, region)
            self._depth -= 1
            self._converge([after, self._names])
            return region
        self._access(statement, region)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            self._assign(targets_of(statement), statement.value)
        elif isinstance(statement, _LEAVING):
            if isinstance(statement, (ast.Break, ast.Continue)) and self._names is not None:
                (self._ends if isinstance(statement, ast.Break) else self._starts)[-1].append(self._names)
            self._names = None
        return region

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr, *, is_item: bool = False) -> None:
        assert self._names is not None
        pairs = [(target, value, is_item) for target in targets]
        found: _Names = {}
        for target, each, is_part in pairs:  # it grows
            if isinstance(target, (ast.Tuple, ast.List)):
                is_alike = isinstance(each, ast.Tuple) and len(each.elts) == len(target.elts) and not is_part
                values = each.elts if is_alike and isinstance(each, ast.Tuple) else [each] * len(target.elts)
                pairs += [(inner, of, not is_alike) for inner, of in zip(target.elts, values, strict=True)]
            elif isinstance(target, ast.Name):
                found[target.id] = self._value(each, is_part=is_part)
        self._names.update(found)

    def _value(self, value: ast.expr, *, is_part: bool) -> int:
        """The array that a value is, or that an item of it may be a part of."""
        assert self._names is not None
        if isinstance(value, ast.Name) and value.id in self._names and not is_part:
            return self._names[value.id]
        within = names_in(ast.walk(value), ast.Load) if is_view(value) else ()
        made = self._array(self._names[name] for name in within if name in self._names)
        if self._shared[made]:
            self._views.add(made)
        return made

    def _loop(self, loop: ast.For | ast.While, region: _Region) -> _Region:
        header = loop.iter if isinstance(loop, ast.For) else loop.test
        self._access(header, region)
        is_one = isinstance(loop, ast.For) and is_parallel(loop, self._facts.names)
        is_one |= isinstance(loop.body[-1], _LEAVING) or self._depth > 0  # its iterations may be one, and no loop
        before: list[_Names | None] = [self._names]
        known, latest = -2, -1
        ends: list[_Names] = []
        while known != latest:  # until no iteration finds more arrays that may be one
            known = latest
            self._starts.append([])
            self._ends.append([])
            self._converge(before)
            if isinstance(loop, ast.For):
                is_index = gives_indices(loop.iter)
                self._assign([loop.target], ast.Constant(0) if is_index else loop.iter, is_item=not is_index)
            inner = region if is_one else self._region()
            self._access(header, inner)
            self._block(loop.body, inner)
            before += [self._names, *self._starts.pop()]
            ends = self._ends.pop()
            latest = len(self._shared_by_names(before))
        self._converge(before)
        region = region if is_one else self._region()
        region = self._block(loop.orelse, region)
        self._converge([self._names, *ends])
        return region

    def _shared_by_names(self, states: Sequence[_Names | None]) -> list[set[str]]:
        """The names of each pair of variables that may have one array where paths converge."""
        names = sorted({name for each in states if each is not None for name in each})
        return [
            {one, other}
            for number, one in enumerate(names)
            for other in names[number + 1 :]
            if any(each is not None and self._is_shared(each, one, other) for each in states)
        ]

    def _is_shared(self, state: _Names, one: str, other: str) -> bool:
        if one not in state or other not in state:
            return False
        return state[one] == state[other] or state[one] in self._shared[state[other]]

    def _converge(self, states: Sequence[_Names | None]) -> None:
        """Go on with what variables have on one of several paths."""
        reached = [each for each in states if each is not None]
        if len(reached) < 2:
            self._names = dict(reached[0]) if reached else None
            return
        pairs = self._shared_by_names(reached)
        made: _Names = {}
        for name in sorted({name for each in reached for name in each}):
            arrays = {each[name] for each in reached if name in each}
            if len(arrays) == 1:
                made[name] = arrays.pop()
                continue
            made[name] = self._array()
            for each in arrays:
                self._shared[made[name]].add(each)
                self._shared[each].add(made[name])
                self._share(made[name], self._shared[each] - set(made.values()))
                if each in self._views:
                    self._views.add(made[name])
        for one, other in pairs:
            self._share(made[one], [made[other]])
        self._names = made

    def _access(self, node: ast.AST, region: _Region) -> None:
        """Note what a statement or an expression reads, and stores to."""
        names = self._names
        assert names is not None
        for name, part in _read(self._facts, node):
            if name in names:
                region.read.add((names[name], part))
        for each in ast.walk(node):
            target = each.target if isinstance(each, ast.AugAssign) else each
            if isinstance(each, ast.AugAssign):
                if not may_have_axes(self._facts.kinds.target(each)):
                    continue
            elif not _is_stored_row(self._facts, each):
                continue
            owner = root_variable(target)  # type: ignore[arg-type]  # a target
            if owner is None:
                self._is_untold = True
            elif owner in names:
                region.stored.add((names[owner], _part(target)))


def _is_race(stored: _Part, read: _Part, *, is_same: bool, are_views: bool) -> bool:
    """Whether a fused store and a read may be of one element in two iterations.

    - `is_same`, `are_views`: whether they are of one array, and not of two that may share memory; whether one of these
      may be a part of the other.
    """
    if stored is None or read is None:
        return True
    if not is_same:
        return are_views or stored != _ENTIRE or read != _ENTIRE  # entire arrays are one or share nothing
    if stored == read:
        return False
    axes = max(len(stored), len(read))
    pairs = zip(*(each + ((0, 0),) * (axes - len(each)) for each in (stored, read)), strict=True)
    return all(sum(one) == sum(other) for one, other in pairs)  # of other lengths they are not fused


def _read(facts: FunctionInfo, node: ast.AST) -> Iterator[tuple[str, _Part]]:
    """The variables that a statement or an expression reads, but for what it returns or asks for a shape."""
    left: set[ast.AST] = set()
    parts: dict[ast.AST, _Part] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Subscript):
            if isinstance(each.ctx, ast.Load):
                if isinstance(each.value, ast.Name):
                    parts.setdefault(each.value, _part(each))
                else:
                    parts.update(dict.fromkeys(ast.walk(each.value)))
            else:
                left.add(each.value)
        elif isinstance(each, ast.Attribute) and each.attr in _LENGTHS:
            left.add(each.value)
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "len":
            left.update(each.args)
        elif isinstance(each, ast.Return) and each.value is not None:
            left.update(each.value.elts if isinstance(each.value, ast.Tuple) else [each.value])
        if (
            (isinstance(each, ast.Attribute) and each.attr in ("T", "flat", "imag", "real"))
            or (isinstance(each, ast.Call) and is_view(each))
            or isinstance(each, ast.comprehension)
        ):
            inner = each.iter if isinstance(each, ast.comprehension) else each
            parts.update(dict.fromkeys(ast.walk(inner)))
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each not in left:
            yield each.id, parts.get(each, _ENTIRE)


def _part(node: ast.AST) -> _Part:
    """The part of a variable's array that an expression of it is."""
    if isinstance(node, ast.Name):
        return _ENTIRE
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    axes: list[tuple[int, int]] = []
    for each in indices_of(node):
        if isinstance(each, ast.Constant) and each.value is Ellipsis and each is indices_of(node)[-1]:
            continue
        if not isinstance(each, ast.Slice) or each.step is not None:
            return None
        lower, upper = (0 if end is None else integer_literal(end) for end in (each.lower, each.upper))
        if lower is None or upper is None or lower < 0 or (each.upper is not None and upper >= 0):
            return None
        axes.append((lower, -upper))
    while axes and axes[-1] == (0, 0):
        axes.pop()
    return tuple(axes)
