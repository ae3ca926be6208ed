"""Equivalence of Numba's code and the device's: parts of a loop, and the user's functions that it calls."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence, Set
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from kapi_numba_offload._numba_compat import CPUDispatcher, has_overloads, is_generic
from kapi_numba_offload.analysis.effects import has_aliases, has_effects, is_view, returns_new_values, stores_to_given
from kapi_numba_offload.analysis.kind_inference import kinds_in_call
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind, Kind, is_number_type, may_have_axes
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import indices_of, names_in, nodes_in, root_variable, targets_of
from kapi_numba_offload.loops.host.called_functions import CalledFunction
from kapi_numba_offload.loops.host.held_updates import held
from kapi_numba_offload.loops.host.short_iterations import SAME_TYPES
from kapi_numba_offload.loops.loop_syntax import variables_of
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_types import is_usm_array

__all__ = [
    "buffered",
    "called_function",
    "called_functions",
    "has_arrays_of_calls",
    "computes_after_stores",
    "is_alike_for_numba",
    "is_movable",
    "is_read_after_stores",
    "may_reach_beyond",
    "related_names",
    "stores_what_it_reads",
    "updates_arrays",
    "updates_unlike_numba",
    "with_buffered_updates",
]

_Statement = TypeVar("_Statement", bound=ast.stmt)

_NOT_SMALL = (ast.Raise, ast.Assert, ast.With, ast.Try, ast.Lambda, ast.FunctionDef)
_OF_DEVICES = {"sycl_queue", "device", "usm_type", "out"}


def is_alike_for_numba(facts: FunctionInfo, node: ast.AST, *, of_any_type: bool = False) -> bool:
    """Whether a part of a loop does the same for Numba.

    It reads no array that Numba would take for a constant, and changes none in place that it may read, but for updates
    that `with_buffered_updates` rewrites. Unless it is `of_any_type`, it names no dtype whose operations have other
    types for Numba.
    """
    if isinstance(node, ast.AugAssign):
        return _changes_by_numbers(facts, node) or may_have_axes(facts.kinds.target(node))
    if isinstance(node, ast.keyword):
        return of_any_type or node.arg != "dtype" or facts.dtype(node.value) in SAME_TYPES
    if isinstance(node, ast.Constant):
        return of_any_type or not isinstance(node.value, (str, bytes))
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return True
    value = facts.names.value(node)
    if value is UNKNOWN:
        is_of_type = isinstance(node, ast.Attribute) and node.attr in ("astype", "dtype")
        return (of_any_type or not is_of_type) and not (isinstance(node, ast.Attribute) and node.attr == "view")
    if is_number_type(value):
        return of_any_type or np.dtype(value) in SAME_TYPES
    is_random = (getattr(value, "__module__", None) or "").startswith("numpy.random")
    return (
        not is_random and not isinstance(value, (np.ndarray, np.dtype, tuple, list, dict)) and not is_usm_array(value)
    )


def with_buffered_updates(facts: FunctionInfo, statement: ast.stmt) -> ast.stmt:
    """A copy of a loop in which arrays are updated in place as NumPy does it: all of the operands are read first.

    ``a[1:] += a[:-1]`` becomes ``a[1:] = a[1:] + a[:-1]``, and ``a += b`` becomes ``a[...] = a + b``: Numba reads and
    stores an element at a time in the former, and not in the latter. The sum is checked for its type: see `held`.
    """
    made = copy.deepcopy(statement)
    copies = dict(zip(ast.walk(statement), ast.walk(made), strict=True))
    updates = {
        copies[each]
        for each in ast.walk(statement)
        if isinstance(each, ast.AugAssign)
        and not _changes_by_numbers(facts, each)
        and may_have_axes(facts.kinds.target(each))
    }
    return buffered(made, updates, is_checked=True)


def buffered(statement: _Statement, updates: Set[ast.AST], *, is_checked: bool = False) -> _Statement:
    """A statement, changed in place, of whose updates some read all of their operands before they store.

    - `is_checked`: whether they are refused where NumPy does so, as their array does not hold the result.
    """
    made: _Statement = _Buffering(updates, is_checked=is_checked).visit(statement)
    return ast.fix_missing_locations(made)


class _Buffering(ast.NodeTransformer):
    def __init__(self, updates: Set[ast.AST], *, is_checked: bool) -> None:
        self._updates, self._is_checked = updates, is_checked

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if node not in self._updates:
            return node
        before: Any = copy.deepcopy(node.target)
        before.ctx = ast.Load()
        target: Any = node.target
        if isinstance(target, ast.Name):
            target = ast.Subscript(ast.Name(target.id, ast.Load()), ast.Constant(...), ast.Store())
        made: ast.expr = ast.BinOp(before, node.op, node.value)
        if self._is_checked:
            made = held(made, copy.deepcopy(before))
        return ast.copy_location(ast.Assign([target], made), node)


def stores_what_it_reads(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a statement stores to rows of an array of which it reads others."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.AugAssign) and may_have_axes(facts.kinds.target(node)):
        targets = [node.target]
    elif isinstance(node, ast.Assign):
        targets = [each for each in node.targets if isinstance(each, ast.Subscript)]
    if not targets or not isinstance(node, (ast.Assign, ast.AugAssign)) or not _has_rows(facts, node.value):
        return False
    read = variables_of([ast.Expr(node.value)], ast.Load)
    return any(root_variable(each) is None or root_variable(each) in read for each in targets)


def updates_what_it_reads(facts: FunctionInfo, node: ast.AugAssign) -> bool:
    """Whether an update in place of an array may read other elements of it than the one that it stores to.

    Arrays with other names in the function may be parts of each other.
    """
    if not stores_what_it_reads(facts, node):
        is_by_array = may_have_axes(facts.kinds.target(node)) and not _changes_by_numbers(facts, node)
        return is_by_array and _may_read_aliases(facts, node)
    target, owner = ast.unparse(node.target), root_variable(node.target)
    operands = [node.value]
    for each in operands:  # it grows
        if isinstance(each, ast.BinOp):
            operands += each.left, each.right
        elif isinstance(each, ast.UnaryOp):
            operands.append(each.operand)
        elif ast.unparse(each) != target and (owner is None or owner in variables_of([ast.Expr(each)], ast.Load)):
            return True
    return False


def _may_read_aliases(facts: FunctionInfo, node: ast.AugAssign) -> bool:
    """Whether the value of an update may have an array under another name that the updated one has, too."""
    if not has_aliases(facts.definition):
        return False
    related, owner = related_names(facts), root_variable(node.target)
    if related is None or owner is None:
        return True
    read = related.get(owner, {owner}) & variables_of([ast.Expr(node.value)], ast.Load)
    if not isinstance(node.target, ast.Name) or related.get(owner, set()) & _names_of_parts(facts):
        return bool(read)
    # Entire arrays are the same or have no element in common, so that an element of one is the same one's of the other.
    return any(isinstance(each, ast.Name) and each.id in read for each in _below_operators(node.value))


def _names_of_parts(facts: FunctionInfo) -> set[str]:
    """The local variables that may be a part of an array that has another name, too."""
    parts: list[ast.AST] = []
    for each in ast.walk(facts.definition):
        if isinstance(each, (ast.For, ast.comprehension)):
            parts += each.target, each.iter
        elif isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None and is_view(each.value):
            values = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
            if not all(isinstance(value, ast.Name) for value in values):
                parts += *targets_of(each), each.value
    return {name for part in parts for name in names_in(ast.walk(part), ast.Load, ast.Store)} & facts.names.locals


def _below_operators(value: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an expression of arrays, but for names that are operands of its operators."""
    if isinstance(value, ast.BinOp):
        yield from _below_operators(value.left)
        yield from _below_operators(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _below_operators(value.operand)
    elif not isinstance(value, ast.Name):
        yield from ast.walk(value)


def related_names(facts: FunctionInfo) -> dict[str, set[str]] | None:
    """The local variables that may have parts of one array, for each that has such others; None if that is unknown."""
    related: dict[str, set[str]] = {}
    for each in ast.walk(facts.definition) if has_aliases(facts.definition) else ():
        if isinstance(each, (ast.NamedExpr, ast.With)):
            return None
        if isinstance(each, (ast.For, ast.comprehension)):
            parts: list[ast.AST] = [each.target, each.iter]
        elif isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None and is_view(each.value):
            parts = [*targets_of(each), each.value]
        else:
            continue
        names = {name for part in parts for name in names_in(ast.walk(part), ast.Load, ast.Store)} & facts.names.locals
        joined = names.union(*(related[name] for name in names if name in related))
        related.update(dict.fromkeys(joined, joined))
    return related


def updates_arrays(facts: FunctionInfo) -> bool:
    """Whether a function may update arrays in place by arrays, as NumPy and Numba do it in different order.

    Functions of the user's that it calls count, and those of which nothing is known.
    """
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.AugAssign) and not _changes_by_numbers(facts, each):
            return True
        if _stores_by_numpy(facts, each):
            return True
        if isinstance(each, ast.Call) and _is_user_function(facts, each):
            found = called_function(facts, each)
            if found is None or updates_arrays(found[0]):
                return True
    return False


def updates_unlike_numba(facts: FunctionInfo, *, besides: Set[ast.AST] = frozenset(), is_called: bool = False) -> bool:
    """Whether updates in place may give other elements by Numba, if no two arrays that it is given share memory.

    - `besides`: updates that are not looked at.
    - `is_called`: whether its arguments may share memory all the same, as those of a function that an offloaded one
      calls.
    """
    has_updates = False
    called: list[FunctionInfo] = []
    for each in ast.walk(facts.definition):
        if each in besides:
            continue
        if _stores_by_numpy(facts, each) or is_read_after_stores(facts, each):
            return True
        if isinstance(each, ast.AugAssign) and not _changes_by_numbers(facts, each):
            has_updates = True
            root = root_variable(each.target)
            if is_called and (root is None or root in facts.names.parameters):
                return True
        if isinstance(each, ast.Call) and _is_user_function(facts, each):
            given = (*each.args, *(word.value for word in each.keywords))
            if isinstance(facts.names.value(each.func), CPUDispatcher) and all(map(facts.is_number, given)):
                continue
            found = called_function(facts, each)
            if found is None or updates_unlike_numba(found[0], is_called=True):
                return True
            called.append(found[0])
    # What a function returns may be an array that it was given, under another name.
    return has_updates and not all(returns_new_values(each.definition) or _returns_numbers(each) for each in called)


def has_arrays_of_calls(facts: FunctionInfo) -> bool:
    """Whether calls of functions of the user's may give an array, or part of one, another name."""
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.Call) and _is_user_function(facts, each):
            found = called_function(facts, each)
            if found is None or not (returns_new_values(found[0].definition) or _returns_numbers(found[0])):
                return True
    return False


def is_read_after_stores(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether Numba may read an array in a statement or an expression after it has stored to it, and NumPy before."""
    is_update = isinstance(node, ast.AugAssign) and updates_what_it_reads(facts, node)
    return is_update or computes_after_stores(facts, node)


def computes_after_stores(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether Numba, or a kernel, computes an operand of an expression after a later operand's call has changed it.

    Both compute expressions of arrays and rows element by element where the outermost one stands: in ``(a - 1) + f(a)``
    the difference is computed after the call.
    """
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and numpy_name(facts.names.value(node.func)) is not None:
        operands = [*node.args, *(each.value for each in node.keywords)]
    return any(
        not isinstance(each, (ast.Name, ast.Constant, ast.Subscript, ast.Attribute))  # views see what is stored
        and not facts.is_number(each)
        and any(_may_store(facts, later) for later in operands[number:])
        for number, each in enumerate(operands, 1)
    )


def _may_store(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a call in an expression or a statement may change an array, as far as functions are known."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    for each in calls:
        if not has_effects(each, facts.names, [inner for inner in calls if inner is not each]):
            continue
        if numpy_name(facts.names.value(each.func)) is not None:
            return True  # such as a ufunc's `out`
        found = called_function(facts, each)
        if found is not None and (
            stores_to_given(found[0].definition) or any(_may_store(found[0], one) for one in found[1])
        ):
            return True
    return False


def _stores_by_numpy(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a node is a call of a NumPy function that may change an array, such as by a ufunc's `out`."""
    if not isinstance(node, ast.Call) or numpy_name(facts.names.value(node.func)) is None:
        return False
    return has_effects(node, facts.names)


def _is_user_function(facts: FunctionInfo, call: ast.Call) -> bool:
    """Whether a call is of a function that is not NumPy's."""
    value = facts.names.value(call.func)
    if value is UNKNOWN:
        return not isinstance(call.func, ast.Attribute)
    return numpy_name(value) is None and isinstance(value, (CPUDispatcher, FunctionType))


def may_reach_beyond(node: ast.AST) -> bool:
    """Whether a part of a loop is a subscript whose index may be beyond an array's end."""
    if not isinstance(node, ast.Subscript):
        return False
    axes = indices_of(node)
    return not all(isinstance(each, ast.Slice) for each in axes)


def is_movable(nodes: Sequence[ast.AST]) -> bool:
    """Whether parts of a loop, or of a function that it calls, may run on the host in their place."""
    words = {each.arg for each in nodes if isinstance(each, ast.keyword)}
    return not any(isinstance(each, _NOT_SMALL) for each in nodes) and not words & _OF_DEVICES


def called_functions(
    facts: FunctionInfo, nodes: Sequence[ast.AST], *, of_any_type: bool = False
) -> dict[ast.Call, CalledFunction]:
    """The calls among parts of a loop whose functions, the user's, do the same when Numba compiles them for NumPy."""
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    return {each: found for each in calls if (found := _called_on_host(facts, each, of_any_type)) is not None}


def _called_on_host(facts: FunctionInfo, call: ast.Call, of_any_type: bool) -> CalledFunction | None:
    named, value = call.func, facts.names.value(call.func)
    if not isinstance(named, ast.Name) or not isinstance(value, CPUDispatcher):
        return None
    found = called_function(facts, call)
    if found is None or has_overloads(value.py_func):
        return None
    inner, body = found
    body = [each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    nodes = nodes_in(body)
    called = called_functions(inner, nodes, of_any_type=of_any_type)
    # Two of its parameters may be one array, so that no rows are changed in place by others.
    is_alike = (
        is_movable(nodes)
        and (returns_new_values(inner.definition) or _returns_numbers(inner))
        and all(is_alike_for_numba(inner, each, of_any_type=of_any_type) for each in nodes)
        and all(_changes_by_numbers(inner, each) for each in nodes)
        and not any(has_effects(each, inner.names, called.keys()) for each in body)
    )
    if not is_alike:
        return None
    options = {
        "boundscheck": any(map(may_reach_beyond, nodes)),
        "fastmath": value.targetoptions.get("fastmath", False),
    }
    return CalledFunction(
        named.id, value.py_func, inner.definition, options, tuple(called.values()),
        dispatcher=None if is_generic(value) else value,
    )  # fmt: skip


def _returns_numbers(facts: FunctionInfo) -> bool:
    """Whether all that a function returns are numbers, or tuples of them."""
    returned = [each.value for each in ast.walk(facts.definition) if isinstance(each, ast.Return) and each.value]
    parts = [part for each in returned for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return all(facts.kinds.kind(each) == SCALAR for each in parts)


def _changes_by_numbers(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a part of a function is no augmented assignment, or one of a number, or by one."""
    if not isinstance(node, ast.AugAssign):
        return True
    return _is_number(facts.kinds.target(node)) or _is_number(facts.kinds.kind(node.value))


def _is_number(kind: Kind) -> bool:
    return kind == SCALAR or (isinstance(kind, ArrayKind) and kind.ndim == 0)


def called_function(facts: FunctionInfo, call: ast.Call) -> tuple[FunctionInfo, Sequence[ast.stmt]] | None:
    """Properties of a called function of the user's, and its body; None for other functions."""
    value = facts.names.value(call.func)
    if value is UNKNOWN or numpy_name(value) is not None:
        return None
    given = [facts.kinds.kind(each) for each in (*call.args, *(each.value for each in call.keywords))]
    found = kinds_in_call(value, call, given, facts.kinds.depth + 1)
    if found is None:
        return None
    definition, kinds = found
    function = getattr(value, "py_func", value)
    inner = FunctionInfo(
        function, definition, Scope(function, definition), kinds, frozenset(), facts.options,
        facts.library, numba_types=facts.numba_types,
    )  # fmt: skip
    return inner, definition.body


def _has_rows(facts: FunctionInfo, node: ast.expr) -> bool:
    return any(isinstance(each, ast.expr) and may_have_axes(facts.kinds.kind(each)) for each in ast.walk(node))
