"""Work of a loop: its costs, the parts of arrays that its statements work on, the depth of its parallel loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind
from kapi_numba_offload.analysis.numpy_functions import elementwise, numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import indices_of, names_in, nodes_in
from kapi_numba_offload.loops.host.loop_costs import LoopCosts, StatementCosts, bound, codes_of
from kapi_numba_offload.loops.host.worked_axes import WorkedAxes
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.element_accesses import computes_arrays, elements
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function

__all__ = ["loop_costs", "parallel_depth", "worked_axes"]

_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
_CONTRACTIONS = {"dot", "inner", "vdot", "matmul"}

_Parts = Mapping[int, frozenset[int | str]]
"""For axes of an array, numbers of elements or the variables that have them; a full axis is left out."""

_ONE = frozenset[int | str]((1,))
_SIZES = ("shape", "dtype", "size", "ndim")


def loop_costs(facts: FunctionInfo, statement: ast.For | ast.While) -> LoopCosts:
    """The costs of a loop."""
    variable = bounds = None
    if isinstance(statement, ast.For) and isinstance(statement.iter, ast.Call):
        if isinstance(statement.target, ast.Name):
            variable = statement.target.id
        if facts.names.value(statement.iter.func) is range:
            bounds = codes_of(statement.iter.args, lambda each: bound(each, facts.names.value))
    if isinstance(statement, ast.For) and bounds is None:
        arrays = [each for each in iterated(facts, statement.iter) if isinstance(each, ast.Name)]
        length = bound(ast.parse(f"len({arrays[0].id})", mode="eval").body, facts.names.value) if arrays else None
        variable, bounds = (variable, None) if length is None else (None, (length,))
    statements, inner = _costs(facts, statement.body)
    return LoopCosts(variable, bounds, tuple(statements), tuple(inner))


def _costs(facts: FunctionInfo, body: Sequence[ast.stmt]) -> tuple[list[StatementCosts], list[LoopCosts]]:
    """Costs of a block's statements, with what is in branches and in functions that it calls, and of its loops."""
    statements: list[StatementCosts] = []
    inner: list[LoopCosts] = []
    for each in body:
        is_kernel = isinstance(each, ast.For) and is_parallel(each, facts.names)
        if isinstance(each, (ast.While, ast.For)) and not is_kernel:
            inner.append(loop_costs(facts, each))
            continue
        called = [called_function(facts, node) for node in ast.walk(each) if isinstance(node, ast.Call)]
        blocks: list[tuple[FunctionInfo, Sequence[ast.stmt]]] = [found for found in called if found is not None]
        if isinstance(each, ast.If):
            blocks += [(facts, each.body), (facts, each.orelse)]
        for own_facts, block in blocks:
            of_block, loops = _costs(own_facts, block)
            statements += of_block
            inner += loops
        if not blocks and _names_arrays(facts, each):
            statements.append(_statement_costs(facts, each))
    return statements, inner


def _statement_costs(facts: FunctionInfo, statement: ast.stmt) -> StatementCosts:
    nodes = list(ast.walk(statement))
    worked = worked_axes(facts, nodes)
    operations = [
        each for each in nodes
        if isinstance(each, (*_OPERATIONS, ast.AugAssign, ast.Assign)) and computes_arrays(facts, each)
    ]  # fmt: skip
    loops = 0
    parts = [each for each in nodes if isinstance(each, ast.Subscript) and facts.is_usm(each.value)]
    is_scattered = any(_is_column(facts, each) for each in parts)
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        loops, parts = _depth(facts, statement) or 0, []  # its rows are no views that are made before a launch
    views = sum(_rank(facts, each) != 0 and bool(names_in(ast.walk(each.slice), ast.Load)) for each in parts)
    count = sum(1 for _ in elements(facts, statement))
    return StatementCosts(worked.most, loops, max(1, len(operations)), worked.of_products, count, is_scattered, views)


def _is_column(facts: FunctionInfo, node: ast.Subscript) -> bool:
    """Whether a subscript is a view with a number for the last axis."""
    axes = indices_of(node)
    if len(axes) < 2 or len(axes) != _rank(facts, node.value):
        return False
    return not isinstance(axes[-1], ast.Slice) and any(isinstance(each, ast.Slice) for each in axes)


def _names_arrays(facts: FunctionInfo, node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and facts.is_usm(each) for each in ast.walk(node))


def worked_axes(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> WorkedAxes:
    """The axes of arrays that the statements of a loop work on."""
    outside = {id(each) for loop in nodes if isinstance(loop, ast.For) for each in iterated(facts, loop.iter)}
    ranks = [
        _axes(facts, each)
        for each in nodes
        if (isinstance(each, _OPERATIONS) and id(each) not in outside)
        or (isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load))
    ]
    known = [each for each in ranks if each is not None]
    products = [each for each in nodes if isinstance(each, (ast.BinOp, ast.Call)) and _is_contraction(facts, each)]
    of_products = [_rank(facts, operand) for each in products for operand in _operands(each)]
    # What is no array for all that is known may be one; the operands of a product are.
    most = max(known) or (1 if products else None) if known and len(known) == len(ranks) else None
    if None in of_products:
        most = None  # they may be stacks of matrices
    return WorkedAxes(most, max((each or 0 for each in of_products), default=0), worked_parts(facts, nodes))


def _axes(facts: FunctionInfo, node: ast.expr) -> int | None:
    """Largest number of axes that an expression works on; None if that is not known."""
    if isinstance(node, (ast.BinOp, ast.Call)) and _is_contraction(facts, node):
        operands = _operands(node)
        of_operands = [rank for each in operands if (rank := _rank(facts, each)) is not None]
        if len(of_operands) < len(operands):
            return None
        within = [_axes(facts, each) for each in operands if isinstance(each, _OPERATIONS)]
        result = sum(of_operands) - 2 if max(of_operands) <= 2 else max(of_operands)
        return None if None in within else max([result, *(each or 0 for each in within)])
    inner: list[ast.expr] = []
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
    elif isinstance(node, ast.Call):
        function = facts.names.value(node.func)
        inner = [*node.args, *(each.value for each in node.keywords)]
        if function is UNKNOWN and isinstance(node.func, ast.Attribute):
            inner.append(node.func.value)
    kind = facts.kinds.kind(node)
    ranks = [0 if isinstance(each, ast.Constant) else _axes(facts, each) for each in inner]
    is_operation = isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))
    if isinstance(kind, ArrayKind) and not is_operation and not (kind.ndim is None and elementwise(node, facts.names)):
        ranks.append(kind.ndim)
    if kind == ANY and not inner:
        return 0  # no array, or an array that is counted at its uses
    known = [each for each in ranks if each is not None]
    return max(known, default=0) if len(known) == len(ranks) else None


def _rank(facts: FunctionInfo, node: ast.expr) -> int | None:
    """The rank of an operand, as far as it is known."""
    kind = facts.kinds.kind(node)
    return kind.ndim if isinstance(kind, ArrayKind) else 0 if kind == SCALAR else None


def _operands(node: ast.BinOp | ast.Call) -> list[ast.expr]:
    return [node.left, node.right] if isinstance(node, ast.BinOp) else node.args


def _is_contraction(facts: FunctionInfo, node: ast.BinOp | ast.Call) -> bool:
    """Whether the result has no more axes than the operands."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    return numpy_name(facts.names.value(node.func)) in _CONTRACTIONS


def parallel_depth(facts: FunctionInfo, nodes: Iterable[ast.AST]) -> int | None:
    """Largest depth of nested loops and rows in the `prange` loops among nodes, these included.

    Returns None where that does not tell how much work there is: for a loop whose iterations the source does not count.
    """
    found = [_depth(facts, each) for each in nodes if isinstance(each, ast.For) and is_parallel(each, facts.names)]
    for each in nodes:
        called = called_function(facts, each) if isinstance(each, ast.Call) else None
        if called is not None:
            found.append(parallel_depth(called[0], nodes_in(called[1])))
    known = [each for each in found if each is not None]
    return max(known, default=0) if len(known) == len(found) else None


def _depth(facts: FunctionInfo, node: ast.AST) -> int | None:
    """Depth of nested loops and rows in a node."""
    if isinstance(node, ast.While):
        return None
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    called = called_function(facts, node) if isinstance(node, ast.Call) else None
    found = [_depth(facts, each) for each in parts]
    if called is not None:
        found += [_depth(called[0], each) for each in called[1]]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    is_row = isinstance(node, ast.stmt) and not isinstance(node, (ast.For, ast.If)) and computes_arrays(facts, node)
    return max(known, default=0) + (isinstance(node, ast.For) or is_row)


def worked_parts(facts: FunctionInfo, nodes: Sequence[ast.AST]) -> dict[str, _Parts]:
    """Parts of the axes that the statements work on, for each array that is only named with indices.

    A tuple of arrays counts as its items; an array that has another name, or that a function is given, as that.
    """
    return _WorkedParts(facts, nodes).found()


class _WorkedParts:
    def __init__(self, facts: FunctionInfo, nodes: Sequence[ast.AST]) -> None:
        self._facts, self._nodes = facts, nodes
        self._stored = set(names_in(nodes, ast.Store, ast.Del))
        self._parts: dict[str, _Parts] = {}
        self._measured: dict[str, _Parts] = {}
        self._aliases: list[tuple[str, str]] = []
        self._counted: set[int] = set()
        for each in nodes:
            self._count(each)

    def found(self) -> dict[str, _Parts]:
        """Parts by the names of arrays."""
        loads = [each for each in self._nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
        entire = {each.id for each in loads if id(each) not in self._counted}
        for alias, name in reversed(self._aliases):
            if alias in entire:
                entire.add(name)
            elif alias in self._parts:
                self._add(name, self._parts[alias])
        found = {**self._measured, **self._parts}
        return {name: parts for name, parts in found.items() if parts and name not in entire}

    def _add(self, name: str, parts: _Parts) -> None:
        known = self._parts.get(name, parts)
        self._parts[name] = {axis: known[axis] | parts[axis] for axis in known.keys() & parts.keys()}

    def _count(self, node: ast.AST) -> None:
        for alias, owner in _aliases(node):
            self._aliases.append((alias, owner.id))
            self._counted.add(id(owner))
        if isinstance(node, ast.For):
            for each in iterated(self._facts, node.iter):
                if isinstance(each, ast.Name):
                    self._add(each.id, {0: _ONE})
                    self._counted.add(id(each))
        elif isinstance(node, ast.Subscript):
            self._count_subscript(node)
        elif isinstance(node, ast.Attribute) and node.attr in _SIZES:
            self._measure(node.value)
        elif isinstance(node, ast.Call) and self._facts.names.value(node.func) is len and len(node.args) == 1:
            self._measure(node.args[0])
        elif isinstance(node, ast.Call) and not node.keywords:
            self._count_call(node)

    def _measure(self, node: ast.expr) -> None:
        kind = self._facts.kinds.kind(node)
        if isinstance(node, ast.Name) and isinstance(kind, ArrayKind):
            self._counted.add(id(node))
            if kind.usm and kind.ndim:
                self._measured[node.id] = dict.fromkeys(range(kind.ndim), _ONE)

    def _count_subscript(self, node: ast.Subscript) -> None:
        owner = node.value
        is_item = isinstance(owner, ast.Subscript) and not self._facts.is_usm(owner.value)
        if isinstance(owner, ast.Subscript) and is_item:
            owner = owner.value  # a tuple of arrays
        owners = owner.elts if isinstance(owner, ast.Tuple) else [owner]
        names = [each for each in owners if isinstance(each, ast.Name)]
        if len(names) < len(owners) or not (self._facts.is_usm(node.value) or all(map(self._facts.is_usm, names))):
            return
        axes = indices_of(node)
        is_plain = all(isinstance(axis, ast.Slice) or self._facts.kinds.kind(axis) == SCALAR for axis in axes)
        parts = {number: frozenset((part,)) for number, axis in enumerate(axes)
                 if is_plain and (part := _part(axis, self._stored)) is not None}  # fmt: skip
        for each in names:
            self._add(each.id, parts)
            self._counted.add(id(each))

    def _count_call(self, node: ast.Call) -> None:
        """Note the parts that a function works on, of an array that is an argument or from outside."""
        called = called_function(self._facts, node)
        if called is None:
            if isinstance(node.func, ast.Name):
                self._count_local_function(node.func.id)
            return
        within = worked_parts(called[0], nodes_in(called[1]))
        for parameter, arg in zip(called[0].names.parameters, node.args, strict=False):
            own = {axis: parts for axis, parts in within.get(parameter, {}).items()
                   if all(isinstance(part, int) for part in parts)}  # fmt: skip
            if isinstance(arg, ast.Name) and own:
                self._add(arg.id, own)
                self._counted.add(id(arg))

    def _count_local_function(self, name: str) -> None:
        """The elements that a local function takes of arrays around it; an array that it names otherwise is entire."""
        for each in self._facts.local_functions:
            names = [each.name] if isinstance(each, ast.FunctionDef) else names_in(ast.walk(each), ast.Store)
            if name not in names:
                continue
            nodes = list(ast.walk(each))
            taken = {id(node.value): node for node in nodes if isinstance(node, ast.Subscript)}
            for node in nodes:
                if isinstance(node, ast.Name) and node.id in self._facts.usm_names:
                    axes = indices_of(taken[id(node)]) if id(node) in taken else []
                    self._add(node.id, {axis: _ONE for axis, at in enumerate(axes) if not isinstance(at, ast.Slice)})


def iterated(facts: FunctionInfo, node: ast.expr) -> Iterator[ast.expr]:
    """The values that a `for` statement iterates: arrays by name, and calls of `enumerate` and `zip`."""
    if isinstance(node, ast.Name) and facts.is_usm(node):
        yield node
    elif isinstance(node, ast.Call) and facts.names.value(node.func) in (enumerate, zip):
        yield node
        for each in node.args:
            yield from iterated(facts, each)


def _aliases(node: ast.AST) -> Iterator[tuple[str, ast.Name]]:
    """The variables that an assignment gives another name, with that name."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return
    values = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
    if all(isinstance(each, ast.Name) for each in values):
        yield from ((node.targets[0].id, each) for each in values if isinstance(each, ast.Name))


def _part(axis: ast.expr, stored: set[str]) -> int | str | None:
    """Number of elements that an index selects: one, or those of a slice such as `i:i + k`; None if unknown."""
    if not isinstance(axis, ast.Slice):
        return 1
    upper = axis.upper
    if not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add) or axis.lower is None:
        return None
    if ast.unparse(upper.left) != ast.unparse(axis.lower):
        return None
    count = upper.right
    if isinstance(count, ast.Name):
        return None if count.id in stored else count.id
    return count.value if isinstance(count, ast.Constant) and type(count.value) is int else None
