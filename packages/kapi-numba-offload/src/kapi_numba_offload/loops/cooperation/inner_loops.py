"""Inner loops that work-items may share: their iterations are independent, but for reductions to numbers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.control_flow import has_break
from kapi_numba_offload.analysis.syntax import indices_of, names_in, nodes_in
from kapi_numba_offload.loops.body.index_analysis import is_injective
from kapi_numba_offload.loops.cooperation.first_uses import Path, Use, first_use, is_live

__all__ = ["Extremum", "InnerLoop", "LatestValue", "Sum", "inner_loop", "stored_arrays"]

_SUMS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("plus", 0), ast.Sub: ("plus", 0), ast.Mult: ("multiplies", 1),
    ast.BitOr: ("bit_or", 0), ast.BitXor: ("bit_xor", 0),
}  # fmt: skip
"""The operator in the kernel language that combines what each in-place operator makes, and what it starts with."""

_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Pass, ast.Continue, ast.Break, ast.Expr)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum, or its like: `operator` is that of the kernel language, `identity` what further work-items start with."""

    name: str
    operator: str
    identity: int


@dataclass(frozen=True, slots=True)
class Extremum:
    """The least or largest of some values, and variables that are assigned with it.

    Attributes
    ----------
    name, others : str, list of str
        The variables.
    is_least, is_first, nans : bool, bool, str
        Which value it is, whether the first one of equal ones counts or the last one, and what comes of nans: `kept`
        if one makes the result nan, `replaced` if any other value takes its place, and else nothing.
    update : ast.If
        The statement that keeps it.
    """

    name: str
    others: list[str]
    is_least: bool
    is_first: bool
    nans: str
    update: ast.If


@dataclass(frozen=True, slots=True)
class LatestValue:
    """Value that the last iteration assigns which does so."""

    name: str


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A loop, or several that have nothing else in them, whose iterations may be done in any order.

    Attributes
    ----------
    levels : list of ast.For
        The loops, the outermost one first.
    reductions : list
        What becomes of variables that are read afterwards.
    body : list of ast.stmt
        The body of the innermost one.
    """

    levels: list[ast.For]
    body: list[ast.stmt]
    reductions: list[Sum | Extremum | LatestValue] = field(default_factory=list)


def inner_loop(node: ast.For, path: Path, value_of: Callable[[ast.expr], Any], kept: Set[str]) -> InnerLoop | None:
    """The loop as one that work-items may share; None if its iterations may depend on each other.

    Parameters
    ----------
    node, path : ast.For, Path
        The loop, whose body has elements only, and where it is.
    value_of : callable
        The value of a name outside of the function.
    kept : set of str
        Variables that have a value after the parallel loop.
    """
    levels = _perfect_nest(node)
    while levels:
        made = _independent(levels, path, value_of, kept)
        if made is not None:
            return made
        levels = levels[:-1]
    return None


def stored_arrays(statements: Sequence[ast.AST]) -> set[str]:
    """Arrays whose elements are stored to or updated."""
    found: set[str] = set()
    for each in nodes_in(statements):
        match each:
            case ast.Subscript(ast.Name(name), ctx=ast.Store()):
                found.add(name)
            case ast.Call(ast.Name("kapi_AtomicRef"), [ast.Name(name), *_]):
                found.add(name)
    return found


def _perfect_nest(node: ast.For) -> list[ast.For]:
    """The loop and those that are all of its body, as far as they have the same iterations whatever it does."""
    levels = [node]
    while len(levels[-1].body) == 1 and isinstance(inner := levels[-1].body[0], ast.For) and not inner.orelse:
        counters = {each.target.id for each in levels if isinstance(each.target, ast.Name)}
        nodes = list(ast.walk(inner.iter))
        lengths = {id(each.value) for each in nodes if isinstance(each, ast.Attribute)}
        changing = counters | set(names_in(ast.walk(inner), ast.Store)) | stored_arrays([inner])
        if any(isinstance(each, ast.Name) and each.id in changing and id(each) not in lengths for each in nodes):
            break
        levels.append(inner)
    return levels


def _counted(node: ast.For) -> bool:
    """Whether a loop counts up by a constant."""
    match node:
        case ast.For(ast.Name(), ast.Call(ast.Name("range"), args, []), orelse=[]) if 1 <= len(args) <= 3:
            step = args[2] if len(args) == 3 else ast.Constant(1)
            return isinstance(step, ast.Constant) and type(step.value) is int and step.value > 0
    return False


def _independent(
    levels: list[ast.For], path: Path, value_of: Callable[[ast.expr], Any], kept: Set[str]
) -> InnerLoop | None:
    innermost = levels[-1]
    body = copy.deepcopy(innermost.body)
    if not all(map(_counted, levels)) or any(map(has_break, levels)):
        return None
    counters = [each.target.id for each in levels if isinstance(each.target, ast.Name)]
    nodes = nodes_in(body)
    if any(isinstance(each, ast.stmt) and not isinstance(each, _STATEMENTS) for each in nodes):
        return None
    stored = list(dict.fromkeys(names_in(nodes, ast.Store)))
    if set(stored) & {*counters} or len(set(counters)) < len(counters) or _makes_arrays(nodes):
        return None
    if any(each in kept or is_live(each, path) for each in counters):
        return None
    if not all(_is_independent(name, nodes, counters, {*stored}) for name in stored_arrays(body)):
        return None
    made = InnerLoop(levels, body)
    companions: set[str] = set()
    for name in stored:
        if first_use(body, name) is not Use.READ:
            continue
        found = _sum(name, body) or _extremum(name, body, value_of, path, kept)
        if found is None:
            return None
        made.reductions.append(found)
        companions.update(found.others if isinstance(found, Extremum) else ())
    reduced = {each.name for each in made.reductions}
    if companions & reduced:
        return None
    for name in stored:
        if name not in reduced | companions and (name in kept or is_live(name, path)):
            if any(isinstance(each, ast.For) and name in names_in(ast.walk(each.target), ast.Store) for each in nodes):
                return None  # which is assigned where a loop has iterations
            made.reductions.append(LatestValue(name))
    return made


def _makes_arrays(nodes: Sequence[ast.AST]) -> bool:
    return "kapi_PrivateArray" in names_in(nodes, ast.Load)


# ---------------------------------------------------------------------------------------------- elements


def _is_independent(array: str, nodes: Sequence[ast.AST], counters: Sequence[str], varying: Set[str]) -> bool:
    """Whether each iteration has its own elements of an array that the loop stores to, or updates atomically."""
    accesses = [each for each in nodes if isinstance(each, ast.Subscript) and _is_named(each.value, array)]
    indices = [indices_of(each) for each in accesses]
    atomics = [
        each for each in nodes
        if isinstance(each, ast.Call) and _is_named(each.func, "kapi_AtomicRef") and _is_named(each.args[0], array)
    ]  # fmt: skip
    lengths = sum(isinstance(each, ast.Attribute) and _is_named(each.value, array) for each in nodes)
    if names_in(nodes, ast.Load).count(array) != len(accesses) + len(atomics) + lengths:
        return False
    if not accesses:
        return True
    if atomics or len({len(each) for each in indices}) != 1:
        return False
    common = [axis[0] for axis in zip(*indices, strict=True) if len({ast.unparse(each) for each in axis}) == 1]
    changing = {*counters, *varying}
    return all(any(is_injective(each, name, partial(_is_invariant, changing)) for each in common) for name in counters)


def _is_invariant(changing: Set[str], node: ast.expr) -> bool:
    parts = list(ast.walk(node))
    if changing & set(names_in(parts, ast.Load)):
        return False
    return not any(
        isinstance(each, ast.Call) or (isinstance(each, ast.Subscript) and not isinstance(each.value, ast.Attribute))
        for each in parts
    )


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# -------------------------------------------------------------------------------------------- reductions


def _uses(name: str, nodes: Sequence[ast.AST]) -> int:
    return names_in(nodes, ast.expr_context).count(name)


def _sum(name: str, body: list[ast.stmt]) -> Sum | None:
    """The sum that a variable is, if the body does nothing else with it."""
    kinds: set[tuple[str, int]] = set()
    own = 0
    for each in nodes_in(body):
        match each:
            case ast.AugAssign(ast.Name(target), operation, value) if target == name:
                uses = 1
            case ast.Assign([ast.Name(target)], ast.BinOp(ast.Name(first), operation, value)) if (
                target == first == name
            ):
                uses = 2
            case ast.Assign([ast.Name(target)], ast.BinOp(value, operation, ast.Name(last))) if (
                target == last == name and not isinstance(operation, ast.Sub)
            ):
                uses = 2
            case _:
                continue
        if type(operation) not in _SUMS or _uses(name, list(ast.walk(value))):
            return None
        kinds.add(_SUMS[type(operation)])
        own += uses
    if len(kinds) != 1 or own != _uses(name, nodes_in(body)):
        return None
    ((operator, identity),) = kinds
    return Sum(name, operator, identity)


def _extremum(
    name: str, body: list[ast.stmt], value_of: Callable[[ast.expr], Any], path: Path, kept: Set[str]
) -> Extremum | None:
    """The extremum that a variable is, if one statement of the body keeps it and no other one uses it."""
    _WrittenOut(name, value_of).visit(ast.Module(body, []))
    found = [each for each in nodes_in(body) if isinstance(each, ast.If) and name in _assigned(each)]
    if len(found) != 1:
        return None
    (node,) = found
    kind = _kind(node, name)
    others = [each for each in _assigned(node) if each != name]
    nodes = nodes_in(body)
    if kind is None or _uses(name, nodes) != _uses(name, list(ast.walk(node))):
        return None
    if len(set(others)) < len(others) or any(_uses(each, nodes) != 1 for each in others):
        return None
    return Extremum(name, [each for each in others if each in kept or is_live(each, path)], *kind, node)


def _assigned(node: ast.If) -> list[str]:
    return [each.targets[0].id for each in node.body
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)]  # fmt: skip


def _kind(node: ast.If, name: str) -> tuple[bool, bool, str] | None:
    """`is_least`, `is_first` and `nans` of the extremum that a statement keeps in a variable; None if it keeps none."""
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or) else [node.test]
    match tests[0]:
        case ast.Compare(ast.Name(left), [order], [value]) if left == name:
            is_least = isinstance(order, (ast.Gt, ast.GtE))
        case ast.Compare(value, [order], [ast.Name(right)]) if right == name:
            is_least = isinstance(order, (ast.Lt, ast.LtE))
        case _:
            return None
    if not isinstance(order, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) or node.orelse or len(tests) > 2:
        return None
    match node.body:
        case [ast.Assign([ast.Name(target)], own), *rest] if target == name and ast.unparse(own) == ast.unparse(value):
            if len(_assigned(node)) != len(node.body) or any(len(each.targets) != 1 for each in rest):  # type: ignore[attr-defined]
                return None
        case _:
            return None
    if any(_uses(name, list(ast.walk(each))) for each in (value, *rest)):
        return None
    text, nans = ast.unparse(value), "ignored"
    if len(tests) == 2:
        spelled = ast.unparse(tests[1])
        is_kept = spelled == f"{text} != {text} and {name} == {name}"
        if not is_kept and spelled != f"{name} != {name}":
            return None
        nans = "kept" if is_kept else "replaced"
    return is_least, isinstance(order, (ast.Lt, ast.Gt)), nans


_CHOICES: tuple[tuple[Any, str, str], ...] = (
    (max, ">", ""), (min, "<", ""),
    (np.maximum, ">", " or (X != X and {0} == {0})"), (np.minimum, "<", " or (X != X and {0} == {0})"),
)  # fmt: skip


class _WrittenOut(ast.NodeTransformer):
    """Writes `m = max(m, x)`, and NumPy's `maximum`, as a comparison: Python's keeps the first one of equal ones."""

    def __init__(self, name: str, value_of: Callable[[ast.expr], Any]) -> None:
        self._name, self._value_of = name, value_of

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign([ast.Name(target)], ast.Call(called, [ast.Name(first), value], [])) if (
                target == first == self._name
            ):
                function = self._value_of(called)
                for known, order, nans in _CHOICES:
                    if function is known:
                        text = f"X = 0\nif X {order} {target}{nans.format(target)}:\n    {target} = X"
                        made = ast.parse(text.replace("X", f"kapi_candidate_{target}")).body
                        made[0].value = value  # type: ignore[attr-defined]
                        return [ast.copy_location(each, node) for each in made]
        return node
