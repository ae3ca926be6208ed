"""Inference of the kinds of a function's variables and expressions, in order of its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from kapi_numba_offload.analysis.kinds import (
    ANY,
    SCALAR,
    ArrayKind,
    Kind,
    TupleKind,
    arguments_of,
    computed,
    creation_result,
    is_number_type,
    is_usm,
    joined,
    kind_of_value,
    method_result,
    of_rank,
    random_result,
    reduction_result,
)
from kapi_numba_offload.analysis.numpy_functions import CREATION, REDUCTIONS, numpy_name
from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.analysis.random_functions import random_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.source import parsed_function, user_function
from kapi_numba_offload.analysis.syntax import indices_of, integer_literal
from kapi_numba_offload.libraries.installed import library_name

__all__ = ["Kinds", "kinds_in_call"]

_UNKNOWN_RANK, _RANK_0 = ArrayKind(True), ArrayKind(True, 0)

_SCALAR_ATTRIBUTES = {"size", "ndim", "itemsize", "nbytes", "dtype"}
_TO_SCALAR = (len, int, float, bool, complex, round, min, max, range)
_SAME_RANK_FUNCTIONS = {
    "sort", "argsort", "flip", "copy", "roll", "round", "around", "ascontiguousarray", "triu", "tril", "nan_to_num",
}  # fmt: skip
_DEEPEST = 4  # functions that call functions; what deeper ones return is not looked at
_MOST_ROUNDS = 8  # of a loop's body; what has not settled by then is taken as unknown


class Kinds:
    """The kinds of a function's variables and expressions, in order of its statements.

    - `parameters`: kind of each parameter.
    - `depth`: how many functions call it that are looked at for its sake.
    - `of`: kind of each expression, by the identity of its node.
    - `mixtures`: expressions, and statements that store, with USM and NumPy arrays: the node, the USM operand and the
      NumPy one.
    - `constants`: identities of nodes that are NumPy arrays from outside of the function and have USM arrays as
      operands.
    - `numbers`: identities of nodes that are numbers on the device and have NumPy arrays alone as operands.
    - `usm_parameters`: parameters that are USM arrays.
    """

    def __init__(self, names: Scope, parameters: dict[str, Kind], depth: int = 0) -> None:
        self._names = names
        self.depth = depth
        self._results: dict[tuple[Any, ...], Kind] = {}
        self._now = dict(parameters)
        self.usm_parameters = {name for name, each in parameters.items() if isinstance(each, ArrayKind) and each.usm}
        self._has_host = any(isinstance(each, ArrayKind) and not each.usm for each in parameters.values())
        self.of: dict[int, Kind] = {}
        self._alive: list[ast.AST] = []
        self._targets: dict[int, Kind] = {}
        self.mixtures: list[tuple[ast.expr | ast.stmt, ast.expr, ast.expr]] = []
        self.constants: set[int] = set()
        self.numbers: set[int] = set()

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Go through statements."""
        for statement in statements:
            self._statement(statement)

    def kind(self, node: ast.expr) -> Kind:
        """The kind that `node` was found to have; `ANY` if it was not visited."""
        return self.of.get(id(node), ANY)

    def note(self, node: ast.expr, kind: Kind) -> None:
        """Let `node` have a kind."""
        self._alive.append(node)  # another node that had its identity would have its kind
        self.of[id(node)] = kind

    def is_element(self, node: ast.expr) -> bool:
        """Whether `node` is a subscript that may give one element of a USM array, which is a number and no view."""
        if not isinstance(node, ast.Subscript) or self.kind(node) not in (SCALAR, ANY, _UNKNOWN_RANK, _RANK_0):
            return False
        owner = self.kind(node.value)
        axes = indices_of(node)
        has_slices = any(_is_slice(each) or (isinstance(each, ast.Constant) and each.value is None) for each in axes)
        return not has_slices and (owner == ANY or (isinstance(owner, ArrayKind) and owner.usm))

    def is_number(self, node: ast.expr) -> bool:
        """Whether `node` is a 0-d array on the device that stands for a number."""
        kind = self.kind(node)
        return isinstance(kind, ArrayKind) and kind == _RANK_0 and not kind.is_array

    def target(self, statement: ast.AugAssign) -> Kind:
        """The kind that the target of `target op= value` has before."""
        return self._targets.get(id(statement), ANY)

    # -------------------------------------------------------------------------------------------- statements

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self._expression(node.value)
            for target in node.targets:
                self._assign(target, value)
                self._stored(node, target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self._expression(node.value))
        elif isinstance(node, ast.AugAssign):
            target = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else node.target
            kind = self._combined(node, [target, node.value])
            self._targets[id(node)] = self.of[id(target)]
            if isinstance(node.target, ast.Name):
                own = self.of[id(target)]
                # What is changed in place keeps its rank; a 0-d array stands for a number, which is replaced.
                self._now[node.target.id] = own if isinstance(own, ArrayKind) and (own.ndim or own.is_array) else kind
        elif isinstance(node, (ast.For, ast.While)):
            self._loop(node)
        elif isinstance(node, ast.If):
            self._expression(node.test)
            before = dict(self._now)
            self.run(node.body)
            after, self._now = self._now, before
            self.run(node.orelse)
            self._join(after)
        elif isinstance(node, ast.With):
            for item in node.items:
                self._expression(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, ANY)
            self.run(node.body)
        elif isinstance(node, ast.Try):
            before = dict(self._now)
            self.run(node.body)
            for handler in node.handlers:
                self._join(before)
                if handler.name is not None:
                    self._now[handler.name] = ANY
                self.run(handler.body)
            self.run([*node.orelse, *node.finalbody])
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expression(child)

    def _loop(self, node: ast.For | ast.While) -> None:
        if isinstance(node, ast.For):
            iterated = self._expression(node.iter)
            self._assign(node.target, self._element(node.iter, iterated))
        for _ in range(_MOST_ROUNDS):
            before = dict(self._now)
            if isinstance(node, ast.While):
                self._expression(node.test)
            self.run(node.body)
            self._join(before)
            if self._now == before:
                break
        self.run(node.orelse)

    def _join(self, other: dict[str, Kind]) -> None:
        self._now = {name: joined(kind, other.get(name, kind)) for name, kind in {**other, **self._now}.items()}

    def _assign(self, target: ast.expr, kind: Kind) -> None:
        if isinstance(target, ast.Name):
            self._now[target.id] = kind
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = kind.items if isinstance(kind, TupleKind) and len(kind.items) == len(target.elts) else None
            for position, each in enumerate(target.elts):
                self._assign(each, items[position] if items else ANY)
        else:
            self._expression(target)

    def _stored(self, node: ast.Assign, target: ast.expr, value: Kind) -> None:
        """Check whether a USM array is stored to a NumPy array."""
        if isinstance(target, ast.Subscript) and isinstance(value, ArrayKind) and value.usm and value.ndim != 0:
            owner = self.kind(target.value)
            if isinstance(owner, ArrayKind) and not owner.usm:
                self.mixtures.append((node, node.value, target))

    def _element(self, node: ast.expr, iterated: Kind) -> Kind:
        if isinstance(iterated, ArrayKind):
            return of_rank(iterated.usm, None if iterated.ndim is None else iterated.ndim - 1)
        if isinstance(iterated, TupleKind) and len(set(iterated.items)) == 1:
            return iterated.items[0]  # type: ignore[no-any-return]
        if isinstance(node, ast.Call):
            function = self._names.value(node.func)
            given = [self._element(each, self.kind(each)) for each in node.args]
            if function is zip and not node.keywords:
                return TupleKind(tuple(given))
            if function is enumerate and given:
                return TupleKind((SCALAR, given[0]))
            if function is reversed and given:
                return given[0]
        return SCALAR if self._names.is_range(node) else ANY

    # ------------------------------------------------------------------------------------------- expressions

    def _expression(self, node: ast.expr) -> Kind:
        kind = self._kind_of(node)
        self.note(node, kind)
        return kind

    def _kind_of(self, node: ast.expr) -> Kind:
        if isinstance(node, ast.Constant):
            return SCALAR if isinstance(node.value, (int, float, complex)) else ANY
        if isinstance(node, ast.Name):
            return (
                self._now.get(node.id, ANY) if node.id in self._names.locals else kind_of_value(self._names.value(node))
            )
        if isinstance(node, ast.BinOp):
            return self._combined(node, [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            kind = self._expression(node.operand)
            return SCALAR if isinstance(node.op, ast.Not) else computed(kind)
        if isinstance(node, ast.Compare):
            return self._combined(node, [node.left, *node.comparators])
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Tuple):
            return TupleKind(tuple(self._expression(each) for each in node.elts))
        if isinstance(node, ast.IfExp):
            self._expression(node.test)
            return joined(self._expression(node.body), self._expression(node.orelse))
        if isinstance(node, ast.NamedExpr):
            kind = self._expression(node.value)
            # Its position in the expression is not examined, nor whether it is reached.
            known = self._now.get(node.target.id, kind)
            self._now[node.target.id] = kind if known == kind else joined(known, kind)
            return kind
        if isinstance(node, ast.BoolOp):
            kinds = [self._expression(each) for each in node.values]
            return SCALAR if all(each == SCALAR for each in kinds) else ANY
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            self._expression(node.generators[0].iter)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child)
        return ANY

    def _combined(self, node: Any, operands: Sequence[ast.expr]) -> Kind:
        """The kind of an elementwise operation."""
        kinds = [self._expression(each) for each in operands]
        arrays = [(each, kind) for each, kind in zip(operands, kinds, strict=True) if isinstance(kind, ArrayKind)]
        usm, host = ([each for each, kind in arrays if kind.usm is wanted] for wanted in (True, False))
        if host and all(map(self.is_number, usm)):
            self.numbers.update(map(id, usm))
            usm = []
        self._note_mixture(node, usm, host)
        is_matmul = isinstance(getattr(node, "op", None), ast.MatMult)
        if usm or host:
            ranks = [kind.ndim if isinstance(kind, ArrayKind) else 0 if kind == SCALAR else None for kind in kinds]
            if is_matmul:
                # Others are numbers or stacks.
                return ArrayKind(bool(usm), 2 if ranks == [2, 2] else 1 if ranks in ([1, 2], [2, 1]) else None)
            known = [rank for rank in ranks if rank is not None]
            return ArrayKind(bool(usm), max(known) if len(known) == len(ranks) else None)
        return SCALAR if all(kind == SCALAR for kind in kinds) else ANY

    def _note_mixture(self, node: ast.expr, usm: Sequence[ast.expr], host: Sequence[ast.expr]) -> None:
        """Record USM and NumPy arrays in one expression; NumPy arrays from outside of the function are constants."""
        if not usm:
            return
        for each in host:
            if isinstance(each, (ast.Name, ast.Attribute)) and self._names.value(each) is not UNKNOWN:
                self.constants.add(id(each))
            else:
                self.mixtures.append((node, usm[0], each))

    def _attribute(self, node: ast.Attribute) -> Kind:
        owner = self._expression(node.value)
        if isinstance(owner, ArrayKind):
            if node.attr == "shape" and owner.ndim is not None:
                return TupleKind((SCALAR,) * owner.ndim)
            if node.attr in _SCALAR_ATTRIBUTES:
                return SCALAR
            return owner if node.attr in ("T", "real", "imag") else ANY
        return kind_of_value(self._names.value(node))

    def _subscript(self, node: ast.Subscript) -> Kind:
        owner = self._expression(node.value)
        index = self._expression(node.slice)
        if isinstance(owner, TupleKind) and _is_slice(node.slice):
            assert isinstance(node.slice, ast.Slice)
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [None if each is None else integer_literal(each) for each in parts]
            if any(bound is None and each is not None for bound, each in zip(bounds, parts, strict=True)):
                return ANY
            return ANY if bounds[2] == 0 else TupleKind(owner.items[bounds[0] : bounds[1] : bounds[2]])
        if isinstance(owner, TupleKind):
            position = integer_literal(node.slice)
            if position is not None and -len(owner.items) <= position < len(owner.items):
                return owner.items[position]  # type: ignore[no-any-return]
            return owner.items[0] if owner.items and len(set(owner.items)) == 1 else ANY
        if not isinstance(owner, ArrayKind):
            return ANY
        axes = indices_of(node)
        kinds = index.items if isinstance(index, TupleKind) else (index,)
        positions = [each for each, kind in zip(axes, kinds, strict=False) if is_usm(kind) and kind != _RANK_0]
        if positions and not owner.usm and isinstance(node.ctx, ast.Load):
            self._note_mixture(node, positions, [node.value])
            owner = ArrayKind(True, owner.ndim)
        if owner.ndim is None or len(axes) != len(kinds):
            return ArrayKind(owner.usm)
        rank = owner.ndim
        if rank == 0 and any(map(_is_slice, axes)):  # `a[...]`
            return owner
        arrays = [kind for axis, kind in zip(axes, kinds, strict=True) if _may_be_array(axis, kind)]
        for axis, kind in zip(axes, kinds, strict=True):
            if isinstance(axis, ast.Constant) and axis.value is None:
                rank += 1
            elif _may_be_array(axis, kind):
                if arrays == [ArrayKind(owner.usm, 1)]:
                    continue  # of positions or of truth values: its axis stands for the one that it selects from
                is_full = len(axes) == owner.ndim and not any(map(_is_slice, axes))
                return ArrayKind(
                    owner.usm, may_be_element=is_full and not any(isinstance(each, ArrayKind) for each in kinds)
                )
            elif not _is_slice(axis):
                rank -= 1
        return of_rank(owner.usm, rank)

    def _call(self, node: ast.Call) -> Kind:
        kinds = [self._expression(each) for each in node.args]
        kinds += [self._expression(each.value) for each in node.keywords]
        function = self._names.value(node.func)
        if function is not UNKNOWN:
            name = numpy_name(function)
            if name is not None:
                return self._numpy_call(node, name, function, kinds)
            if function is abs and len(kinds) == 1:
                return computed(kinds[0])
            if is_number_type(function) and len(kinds) == 1 and isinstance(kinds[0], ArrayKind):
                return computed(kinds[0])  # an array's elements are converted
            if function in _TO_SCALAR or is_number_type(function):
                return SCALAR
            name = random_name(function)
            if name is not None:
                return random_result(name, node, kinds, not self._has_host)
            if getattr(function, "__module__", None) == "math" or type(function).__module__ == "math":
                return SCALAR
            return self._result_of(function, node, kinds)
        if isinstance(node.func, ast.Attribute):
            return method_result(self._expression(node.func.value), node.func.attr, node, kinds, not self._has_host)
        self._expression(node.func)
        return ANY

    def _result_of(self, function: Any, node: ast.Call, kinds: Sequence[Kind]) -> Kind:
        """The kind of the result of a user function, as far as its source shows."""
        key = (id(function), tuple(kinds), tuple(each.arg for each in node.keywords))
        if key not in self._results:
            self._results[key] = ANY  # for one that calls itself
            found = kinds_in_call(function, node, kinds, self.depth + 1)
            if found is not None:
                definition, inner = found
                self._results[key] = _returned(definition, inner)
        return self._results[key]

    def _numpy_call(self, node: ast.Call, name: str, function: Any, kinds: Sequence[Kind]) -> Kind:
        arrays = [each for each in kinds if isinstance(each, ArrayKind)]
        is_library_s = library_name(function) is not None
        if name in ELEMENTWISE:
            if any(isinstance(each, ast.Starred) for each in node.args) or not node.args:
                return ANY
            return self._combined(node, node.args)
        if name in REDUCTIONS and arrays:
            return reduction_result(arrays[0], node, kinds)
        is_of = [(each, kind.usm) for each, kind in self._with_items(arguments_of(node)) if isinstance(kind, ArrayKind)]
        # What this library says of other NumPy arrays, it says when the call is made.
        outside = [each for each, usm in is_of if not usm and self._names.value(each) is not UNKNOWN]
        self._note_mixture(node, [each for each, usm in is_of if usm], outside)
        if not arrays or (name in CREATION and all(each.ndim == 0 for each in arrays)):
            if name in CREATION:
                return creation_result(name, node, kinds, is_library_s or not self._has_host)
            return ArrayKind(True) if is_library_s else ANY
        if name == "reshape" and len(node.args) == 2 and not node.keywords:
            return method_result(kinds[0], name, node, kinds[1:], not self._has_host)
        if name.endswith("_like") or (name in _SAME_RANK_FUNCTIONS and kinds[0] is arrays[0] and not node.keywords):
            return arrays[0]
        return ArrayKind(True) if any(each.usm for each in arrays) else ANY

    def _with_items(self, nodes: Sequence[ast.expr]) -> Iterator[tuple[ast.expr, Kind]]:
        """Arguments of a call with their kinds, and the items of those that are written as tuples or lists."""
        for each in nodes:
            yield each, self.kind(each)
            if isinstance(each, (ast.Tuple, ast.List)):
                yield from self._with_items(each.elts)


def kinds_in_call(
    function: Any, call: ast.Call, given: Sequence[Kind], depth: int
) -> tuple[ast.FunctionDef, Kinds] | None:
    """The syntax of a user function, and the kinds in it for one call; None if its source does not show them.

    - `given`: the kinds of its arguments, those by name last.
    - `depth`: how many functions call it that are looked at for its sake.
    """
    own = user_function(function)
    words = [each.arg for each in call.keywords]
    if own is None or own.__closure__ is not None or None in words or depth > _DEEPEST:
        return None
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    definition = parsed_function(own)
    if definition is None or definition.args.vararg is not None or definition.args.kwarg is not None:
        return None
    names = Scope(own, definition)
    parameters: dict[str, Kind] = dict.fromkeys(names.parameters, ANY)
    parameters.update(zip(names.parameters, given[: len(call.args)], strict=False))
    parameters.update(zip([str(each) for each in words], given[len(call.args) :], strict=False))
    kinds = Kinds(names, parameters, depth)
    kinds.run(definition.body)
    return definition, kinds


def _returned(definition: ast.FunctionDef, kinds: Kinds) -> Kind:
    """The kind of what a function returns, `ANY` where its returns differ."""
    inner = [each for each in ast.walk(definition) if isinstance(each, (ast.FunctionDef, ast.Lambda))]
    nodes = list(ast.walk(definition))
    returns = [each for each in nodes if isinstance(each, ast.Return)]
    if len(inner) > 1 or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in nodes) or not returns:
        return ANY
    found = {ANY if each.value is None else kinds.kind(each.value) for each in returns}
    return found.pop() if len(found) == 1 else ANY


def _may_be_array(axis: ast.expr, kind: Kind) -> bool:
    """Whether an index may be an array, of positions or of truth values."""
    return isinstance(kind, ArrayKind) or (kind == ANY and not _is_slice(axis))


def _is_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value is Ellipsis)
