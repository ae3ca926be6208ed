"""A function's body, partitioned: what becomes kernels, what dpnp does, and what stays Python."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from _kapi_numba_hooks import StencilFunc
from kapi_numba_offload.analysis.effects import has_assignment_within
from kapi_numba_offload.analysis.functions import ELEMENTWISE, OPERATORS
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kinds
from kapi_numba_offload.analysis.names import UNKNOWN, Names
from kapi_numba_offload.analysis.numpy_functions import CREATION, numpy_name
from kapi_numba_offload.partition.calls import Creation, NumpyCall, element
from kapi_numba_offload.partition.grouping import PREFIX, Group, loaded
from kapi_numba_offload.partition.loop_rewriting import rewrite_loop
from kapi_numba_offload.regions.axis_reduction import AxisReduction
from kapi_numba_offload.regions.fused_reduction import FUSED_REDUCTIONS, FusedReduction
from kapi_numba_offload.regions.statements import Place
from kapi_numba_offload.run.options import OffloadOptions, options_of

__all__ = ["Partition"]


class Partition:
    """Rewrites the body of a function.

    Parameters
    ----------
    original : function
        As written.
    definition : ast.FunctionDef
        Its syntax.
    names : Names
        What its names mean.
    kinds : Kinds
        The kinds of its expressions.
    contiguous : frozenset of str
        Variables that are always C-contiguous arrays of one dtype and USM kind.
    numba_types : bool
        Whether expressions have Numba's types; else dpnp's.
    options : OffloadOptions, optional
        Those of the function; by default what it was given by `offload`.

    Attributes
    ----------
    helpers : dict
        Name and object of everything that the new body calls.
    regions : list of FusedRegion, FusedReduction and AxisReduction
        What became kernels, in order.
    """

    def __init__(
        self,
        original: Callable[..., Any],
        definition: ast.FunctionDef,
        names: Names,
        kinds: Kinds,
        contiguous: frozenset[str] = frozenset(),
        *,
        numba_types: bool = False,
        options: OffloadOptions | None = None,
    ) -> None:
        self.numba_types = numba_types
        self.original = original
        self.definition = definition
        self.names = names
        self.kinds = kinds
        self.contiguous = contiguous
        self.options = options or options_of(original)
        self.filename = original.__code__.co_filename
        self.function = definition.name
        self.helpers: dict[str, Any] = {}
        self.regions: list[Any] = []
        self.loops: list[Any] = []
        self.local_functions: list[ast.stmt] = [
            copy.deepcopy(each)
            for each in ast.walk(definition)
            if (isinstance(each, ast.FunctionDef) and each is not definition)
            or (isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda))
        ]
        self.needs_queue = False
        self._following: list[Sequence[ast.stmt]] = []
        self._loads = Counter(
            node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )
        self._loads.update(
            node.target.id
            for node in ast.walk(definition)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        )

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of one block, rewritten."""
        made: list[ast.stmt] = []
        group = Group(self)
        for number, statement in enumerate(statements):
            if group.take(statement):
                continue
            made += group.close()
            group = Group(self)
            if group.take(statement):
                continue
            self._following.append(statements[number + 1 :])
            made += self._other(statement)
            self._following.pop()
        return made + group.close()

    def following(self) -> Iterator[Sequence[ast.stmt]]:
        """What may run after the statement at hand, block by block."""
        yield from reversed(self._following)

    def _other(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement that is no part of a region, its expressions and blocks rewritten."""
        statement = self.rebinding(statement)
        loop = rewrite_loop(self, statement)
        if loop is not None:
            return loop
        if isinstance(statement, (ast.For, ast.While)):
            return self.loop_in_place(statement)
        return self._parts(statement)

    def loop_in_place(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        """A loop that stays where it stands, its blocks rewritten."""
        # After the last statement of the body its first may follow.
        self._following.append([copy.deepcopy(statement)])
        made = self._parts(statement)
        self._following.pop()
        return made

    def _parts(self, statement: ast.stmt) -> list[ast.stmt]:
        for field, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, field, self.expression(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(statement, field, self.block(value))
            elif isinstance(value, list):
                setattr(statement, field, [self._part(each) for each in value])
        return [statement]

    def _part(self, part: Any) -> Any:
        if isinstance(part, ast.expr):
            return self.expression(part)
        if isinstance(part, ast.ExceptHandler):
            part.body = self.block(part.body)
        elif isinstance(part, ast.withitem):
            part.context_expr = self.expression(part.context_expr)
        return part

    # ------------------------------------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression, rewritten: its largest elementwise parts are regions of their own."""
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return node
        is_fusible = not has_assignment_within(node)
        if is_fusible and self.is_operation(node):
            group = Group(self)
            group.add(None, None, None, node, node)
            return group.call(is_expression=True)
        reduction = self._reduction(node) if is_fusible else None
        if reduction is not None:
            return reduction
        rewritten = self._children(node)
        if isinstance(rewritten, ast.Call):
            return self._call(rewritten)
        if isinstance(rewritten, ast.Subscript) and isinstance(rewritten.ctx, ast.Load) and self.kinds.is_element(node):
            return self._helper_call("element", element, [rewritten], node)
        return rewritten

    def _reduction(self, node: ast.expr) -> ast.expr | None:
        """A reduction of an elementwise operation, as one region; None for anything else."""
        if not isinstance(node, ast.Call) or self.numba_types:
            return None
        function = self.names.value(node.func)
        if function is not UNKNOWN:
            name, operands = numpy_name(function), node.args
        elif isinstance(node.func, ast.Attribute):
            name, operands = node.func.attr, [node.func.value, *node.args]
        else:
            return None
        words = {each.arg: _literal(each.value) for each in node.keywords}
        if len(operands) == 2:
            words["axis"] = _literal(operands[1])
        is_whole = words.get("axis") is None and not words
        if name not in FUSED_REDUCTIONS or not 1 <= len(operands) <= 2 or not self.is_operation(operands[0]):
            return None
        if not is_whole and not (words.keys() <= {"axis", "keepdims"} and _are_axes(words.get("axis"))):
            return None
        group = Group(self)
        group.add(None, None, None, operands[0], node)
        call = group.call(is_expression=True)
        region = self.regions.pop()
        made = (
            FusedReduction(name, region)
            if is_whole
            else AxisReduction(name, region, words["axis"], bool(words.get("keepdims")))
        )
        self.regions.append(made)
        call.func = loaded(self.helper(f"reduction_{len(self.regions)}", made), node)
        return call

    def _children(self, node: ast.expr) -> ast.expr:
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self.expression(value))
            elif isinstance(value, list):
                setattr(node, field, [self._item(each) for each in value])
        return node

    def _item(self, part: Any) -> Any:
        if isinstance(part, ast.expr):
            return self.expression(part)
        if isinstance(part, ast.keyword):
            part.value = self.expression(part.value)
        return part

    def _call(self, node: ast.Call) -> ast.expr:
        function = self.names.value(node.func)
        name = "stencil" if isinstance(function, StencilFunc) else None if function is UNKNOWN else numpy_name(function)
        if name is None:
            return node
        kind = self.kinds.kind(node)
        if name in CREATION and isinstance(kind, ArrayKind) and kind.usm:
            helper = self.helper(f"make_{name}", Creation(name))
            args = [self.queue(node), *node.args]
            return ast.copy_location(ast.Call(loaded(helper, node), args, node.keywords), node)
        if getattr(function, "__module__", "") == "dpnp" or type(function).__module__.startswith("dpnp"):
            return node
        call = NumpyCall(name, function, self.place(node), self.options)
        helper = self.helper(f"np_{name.replace('.', '_')}_{len(self.helpers)}", call)
        return ast.copy_location(ast.Call(loaded(helper, node), node.args, node.keywords), node)

    def queue(self, where: ast.AST) -> ast.expr:
        """The queue of the function's arrays."""
        self.needs_queue = True
        return loaded(f"{PREFIX}queue", where)

    def helper(self, name: str, value: Any) -> str:
        """The name under which the new body calls `value`."""
        self.helpers[PREFIX + name] = value
        return PREFIX + name

    def _helper_call(self, name: str, function: Callable[..., Any], args: list[ast.expr], node: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(loaded(self.helper(name, function), node), args, []), node)

    def place(self, node: ast.AST) -> Place:
        """Where `node` stands."""
        return Place(self.filename, getattr(node, "lineno", 0), self.function, ast.unparse(node))

    def loads(self, name: str) -> int:
        """How often the function reads the variable `name`."""
        return self._loads[name]

    # ---------------------------------------------------------------------------------------- classification

    def rebinding(self, statement: ast.stmt) -> ast.stmt:
        """`x = x + y` for `x += y` where `x` is a number that is a 0-d array on the device; else the statement.

        Whoever else has that number keeps it, as numbers are not changed in place. Only parameters are 0-d arrays.
        """
        if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
            return statement
        name, kind = statement.target.id, self.kinds.target(statement)
        if name in self.names.parameters or kind != ArrayKind(True, 0):
            return statement
        before = loaded(name, statement.target)
        self.kinds.of[id(before)] = kind
        value = ast.copy_location(ast.BinOp(before, statement.op, statement.value), statement)
        made: ast.stmt = ast.Assign([statement.target], value)
        return ast.copy_location(made, statement)

    def may_be_usm(self, node: ast.expr) -> bool:
        """Whether the value may be a USM array."""
        kind = self.kinds.kind(node)
        return kind == ANY or (isinstance(kind, ArrayKind) and kind.usm)

    def is_operation(self, node: ast.expr) -> bool:
        """Whether `node` is an elementwise operation that may be of USM arrays."""
        return self.may_be_usm(node) and self.operation(node) is not None

    def operation(self, node: ast.expr) -> tuple[str, list[ast.expr]] | None:
        """Name and operands of an elementwise operation; None if it is none."""
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)], [node.left, node.right]
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)], [node.operand]
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            return OPERATORS[type(node.ops[0])], [node.left, *node.comparators]
        if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
            return None
        function = self.names.value(node.func)
        if function is UNKNOWN:
            is_cast = isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1
            if is_cast and not node.keywords and self.dtype(node.args[0]) is not None:
                assert isinstance(node.func, ast.Attribute)
                return "astype", [node.func.value]
            return None
        name = "absolute" if function is abs else numpy_name(function)
        if name in ELEMENTWISE and not node.keywords and len(node.args) == ELEMENTWISE[name].arity:
            return name, node.args
        return None

    def dtype(self, node: ast.expr) -> np.dtype[Any] | None:
        """The dtype that an expression names, None if it is not known before the function runs."""
        value = node.value if isinstance(node, ast.Constant) else self.names.value(node)
        if not isinstance(value, (str, type, np.dtype)):
            return None
        try:
            return np.dtype(value)
        except TypeError:
            return None

    def is_view(self, node: ast.Subscript) -> bool:
        """Whether the subscript is a view of a USM array, one element or more, and no selection that copies."""
        owner = self.kinds.kind(node.value)
        if not isinstance(owner, ArrayKind) or not owner.usm:
            return False
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        plain = all(
            isinstance(axis, ast.Slice)
            or (isinstance(axis, ast.Constant) and (axis.value is Ellipsis or axis.value is None))
            or self.kinds.kind(axis) == SCALAR
            for axis in axes
        )
        return plain and any(isinstance(axis, ast.Slice) or self.kinds.kind(axis) != SCALAR for axis in axes)


def _literal(node: ast.expr) -> Any:
    """The value of a literal, `UNKNOWN` for anything else."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN


def _are_axes(value: Any) -> bool:
    return type(value) is int or (isinstance(value, tuple) and bool(value) and all(type(each) is int for each in value))
