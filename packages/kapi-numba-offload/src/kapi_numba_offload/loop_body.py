"""From the body of a parallel loop to statements over elements: slices become loops, negative indices wrap.

What the kernel language has not, whole rows of arrays above all, is written out here with the ranks of the arrays in
hand; everything else stays as its author wrote it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np

from kapi_numba_offload.functions import ELEMENTWISE, OPERATORS
from kapi_numba_offload.loop_views import FixedAxis, FreeAxis, Rows, View
from kapi_numba_offload.lower_bounds import LowerBounds
from kapi_numba_offload.names import UNKNOWN, Names
from kapi_numba_offload.numpy_functions import numpy_name
from kapi_numba_offload.syntax_parts import attribute, call_of, length_of, one, or_zero, plus, times, variable, zero

__all__ = ["BodyRewriter", "NotInKernelError"]


class NotInKernelError(Exception):
    """What a kernel lacks, with its line."""

    def __init__(self, text: str, node: ast.AST) -> None:
        super().__init__(text)
        self.line = getattr(node, "lineno", 0)


_REDUCTIONS = {"sum", "prod", "min", "max", "mean", "any", "all", "dot", "amin", "amax"}


class BodyRewriter:
    """Rewrites the body of a loop for arrays of known ranks.

    Parameters
    ----------
    names : Names
        What the function's names mean.
    ranks : mapping of str to int
        Rank of each array that the body reads or writes.
    dtypes : mapping of str to numpy.dtype
        Dtype of each.
    lower : mapping of str to int
        Variables that are never below a number: loop variables, and numbers known when the loop is launched.
    """

    def __init__(
        self,
        names: Names,
        ranks: Mapping[str, int],
        dtypes: Mapping[str, np.dtype[Any]],
        lower: Mapping[str, int],
    ) -> None:
        self._names = names
        self._ranks = dict(ranks)
        self._dtypes = dict(dtypes)
        self._lower = LowerBounds(names, lower)
        self._views: dict[str, View] = {}
        self._count = 0
        self._before: list[ast.stmt] = []

    def run(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The body, rewritten.

        Raises
        ------
        NotInKernelError
            If it cannot be written with elements.
        """
        copied = [copy.deepcopy(each) for each in body]
        stores = [each.id for statement in copied for each in ast.walk(statement)
                  if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]  # fmt: skip
        self._lower.assigned_once = {name for name in stores if stores.count(name) == 1}
        return self._block(copied)

    # -------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            outer, self._before = self._before, []
            rewritten = self._statement(statement)
            made += self._before + rewritten
            self._before = outer
        return made or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._assign(node, node.targets[0], node.value)
        if isinstance(node, ast.AugAssign):
            return self._in_place(node)
        if isinstance(node, ast.For):
            node.iter = self._scalar(node.iter)
            if isinstance(node.iter, ast.Call) and self._names.value(node.iter.func) is numba.prange:
                node.iter.func = ast.copy_location(
                    variable("range"), node.iter.func
                )  # in an iteration, one after another
            self._lower.take_loop(node)
            node.body = self._block(node.body)
            return [node]
        if isinstance(node, ast.While):
            count = len(self._before)
            node.test = self._scalar(node.test)
            if len(self._before) != count:
                raise NotInKernelError("a reduction in the condition of a while loop", node)
            node.body = self._block(node.body)
            return [node]
        if isinstance(node, ast.If):
            node.test = self._scalar(node.test)
            node.body = self._block(node.body)
            node.orelse = self._block(node.orelse) if node.orelse else []
            return [node]
        if isinstance(node, ast.Return):
            raise NotInKernelError("a return from within the loop", node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self._scalar(value))
        return [node]

    def _assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        made = self._private_array(target, value)
        if made is not None:
            node.value = made
            return [node]
        rows = self._rows(value)
        if isinstance(target, ast.Name):
            view = self._view(value)
            if view is not None and view.free:
                self._views[target.id] = view
                return []
            if rows is not None:
                raise NotInKernelError("a temporary array of a length that only the launch knows", node)
            node.value = self._scalar(value)
            self._lower.take_assignment(target.id, value)
            return [node]
        if isinstance(target, ast.Subscript):
            view = self._view(target)
            if view is None:
                raise NotInKernelError("an assignment to something that is no array", node)
            if view.free:
                return self._loops(view, value, rows, None, node)
            node.targets = [self._stored(view, [])]
        node.value = self._scalar(value)
        return [node]

    def _in_place(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = node.target
        as_read = copy.deepcopy(target)
        assert isinstance(as_read, (ast.Name, ast.Subscript))
        as_read.ctx = ast.Load()
        view = self._view(as_read)
        if view is None or (isinstance(target, ast.Name) and target.id not in self._views and not view.axes):
            node.value = self._scalar(node.value)
            return [node]
        rows = self._rows(node.value)
        if view.free:
            return self._loops(view, node.value, rows, node.op, node)
        node.target, node.value = self._stored(view, []), self._scalar(node.value)
        return [node]

    def _loops(
        self, view: View, value: ast.expr, rows: Rows | None, operation: ast.operator | None, node: ast.stmt
    ) -> list[ast.stmt]:
        """Loops over the elements of a view that is assigned to."""
        spelled = self._text(view)
        if rows is not None and any(name == view.array and text != spelled for name, text in rows.arrays):
            raise NotInKernelError("an assignment of one part of an array to another part of it", node)
        variables = [self._new("k") for _ in view.free]
        at: list[ast.expr] = [variable(each) for each in variables]
        if rows is None:
            source = self._kept(self._scalar(value))
        else:
            if len(rows.lengths) > len(at):
                raise NotInKernelError("an assignment of an array of higher rank", node)
            source = rows.element(at[len(at) - len(rows.lengths) :])
        element = self._stored(view, at)
        inner: ast.stmt = (
            ast.Assign([element], source) if operation is None else ast.AugAssign(element, operation, source)
        )
        inner = ast.copy_location(inner, node)
        for counter, axis in zip(reversed(variables), reversed(view.free), strict=True):
            loop = ast.For(ast.Name(counter, ast.Store()), call_of("range", axis.length), [inner], [])
            inner = ast.copy_location(loop, node)
        return [inner]

    def _private_array(self, target: ast.expr, value: ast.expr) -> ast.expr | None:
        """`np.zeros` or `np.empty` of constant shape, as private memory of the work-item."""
        if not isinstance(value, ast.Call) or not isinstance(target, ast.Name):
            return None
        name = self._numpy_name(value)
        if name not in ("zeros", "empty") or not value.args:
            return None
        shape = self._constant(value.args[0])
        dtype = value.args[1] if len(value.args) > 1 else None
        for keyword in value.keywords:
            dtype = keyword.value if keyword.arg == "dtype" else dtype
        if shape is None:
            raise NotInKernelError("a temporary array whose shape is no constant", value)
        lengths = shape if isinstance(shape, tuple) else (shape,)
        self._ranks[target.id] = len(lengths)
        spelled = ast.Tuple([ast.Constant(each) for each in lengths], ast.Load())
        return ast.copy_location(
            ast.Call(
                variable("kapi_PrivateArray"), [spelled, dtype or attribute("np", "float64"), ast.Constant(True)], []
            ),
            value,
        )

    def _constant(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Tuple):
            items = [self._constant(each) for each in node.elts]
            return None if None in items else tuple(items)
        value = node.value if isinstance(node, ast.Constant) else self._names.value(node)
        return value if type(value) is int or (isinstance(value, tuple) and value) else None

    # ---------------------------------------------------------------------------------------------- elements

    def _scalar(self, node: ast.expr) -> ast.expr:
        """An expression of rank 0, rewritten."""
        if isinstance(node, ast.Subscript):
            view = self._view(node)
            if view is not None:
                if view.free:
                    raise NotInKernelError("a part of an array where a number is needed", node)
                return self._element(view, [])
        if isinstance(node, ast.Name) and (node.id in self._views):
            raise NotInKernelError(f"the whole array {node.id} where a number is needed", node)
        reduced = self._reduction(node)
        if reduced is not None:
            return reduced
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._views:
            lengths: list[ast.expr] = [axis.length for axis in self._views[node.value.id].free]
            if node.attr == "shape":
                return ast.Tuple(lengths, ast.Load())
            if node.attr == "size" and len(lengths) == 1:
                return lengths[0]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Name) and argument.id in self._views:
                return self._views[argument.id].free[0].length
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (isinstance(node, ast.Call) and field == "func"):
                setattr(node, field, self._scalar(value))
            elif isinstance(value, list):
                setattr(node, field, [self._scalar(each) if isinstance(each, ast.expr) else each for each in value])
        return node

    def _element(self, view: View, at: Sequence[ast.expr]) -> ast.expr:
        remaining = iter(at)
        index: list[ast.expr] = []
        for axis in view.axes:
            if isinstance(axis, FixedAxis):
                index.append(copy.deepcopy(axis.index))
            else:
                index.append(plus(axis.start, times(next(remaining), axis.step)))
        spelled = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        return ast.fix_missing_locations(ast.Subscript(variable(view.array), spelled, ast.Load()))

    def _stored(self, view: View, at: Sequence[ast.expr]) -> ast.Subscript:
        element = self._element(view, at)
        assert isinstance(element, ast.Subscript)
        element.ctx = ast.Store()
        return element

    def _view(self, node: ast.expr) -> View | None:
        """The part of an array that an expression names, None if it names none."""
        if isinstance(node, ast.Name):
            if node.id in self._views:
                return self._views[node.id]
            if node.id in self._ranks:
                axes = range(self._ranks[node.id])
                return View(node.id, tuple(FreeAxis(zero(), one(), length_of(node.id, axis)) for axis in axes))
            return None
        if not isinstance(node, ast.Subscript):
            return None
        outer = self._view(node.value)
        if outer is None:
            return None
        indices = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        dots = [number for number, each in enumerate(indices) if isinstance(each, ast.Constant) and each.value is ...]
        if dots:
            missing = len(outer.free) - len(indices) + 1
            indices[dots[0] : dots[0] + 1] = [ast.Slice()] * missing
        if len(indices) > len(outer.free):
            raise NotInKernelError("an index with more parts than the array has axes", node)
        indices += [ast.Slice()] * (len(outer.free) - len(indices))
        made: list[FixedAxis | FreeAxis] = []
        remaining = iter(indices)
        for axis in outer.axes:
            made.append(axis if isinstance(axis, FixedAxis) else self._indexed(axis, next(remaining)))
        return View(outer.array, tuple(made))

    def _indexed(self, axis: FreeAxis, index: ast.expr) -> FixedAxis | FreeAxis:
        if isinstance(index, ast.Slice):
            if index.lower is None and index.upper is None and index.step is None:
                return axis
            step = index.step.value if isinstance(index.step, ast.Constant) else 1 if index.step is None else 0
            if not isinstance(step, int) or step <= 0:
                raise NotInKernelError("a slice whose step is no positive constant", index)
            length = self._kept(copy.deepcopy(axis.length))
            start = self._kept(self._slice_bound(index.lower, length, zero()))
            stop = self._slice_bound(index.upper, length, length)
            count = self._kept(call_of("kapi_slice_length", start, stop, ast.Constant(step)))
            first = self._kept(plus(axis.start, times(start, axis.step)))
            return FreeAxis(first, times(axis.step, ast.Constant(step)), count)
        if isinstance(index, ast.Constant) and index.value is None:
            raise NotInKernelError("a new axis", index)
        low = self._lower.of(index)
        spelled = self._scalar(copy.deepcopy(index))
        if low is None or low < 0:
            spelled = call_of("kapi_wrapped_index", spelled, copy.deepcopy(axis.length))
        return FixedAxis(plus(axis.start, times(spelled, axis.step)))

    def _slice_bound(self, bound: ast.expr | None, length: ast.expr, missing: ast.expr) -> ast.expr:
        if bound is None:
            return copy.deepcopy(missing)
        return call_of("kapi_slice_bound", self._scalar(copy.deepcopy(bound)), copy.deepcopy(length))

    # -------------------------------------------------------------------------------------------------- rows

    def _rows(self, node: ast.expr) -> Rows | None:
        """An expression of rank 1 or more, element by element; None for numbers."""
        view = self._view(node)
        if view is not None:
            if not view.free:
                return None
            kept = view
            return Rows(
                tuple(axis.length for axis in view.free),
                lambda at: self._element(kept, at),
                frozenset({(view.array, self._text(view))}),
            )
        operation = self._operation(node)
        if operation is None:
            return None
        operands, build = operation
        rows = [self._rows(each) for each in operands]
        known = [each for each in rows if each is not None]
        if not known:
            return None
        numbers = [None if row is not None else self._kept(self._scalar(each))
                   for each, row in zip(operands, rows, strict=True)]  # fmt: skip
        rank = max(len(each.lengths) for each in known)
        lengths = self._broadcast(known, rank)

        def element(at: Sequence[ast.expr]) -> ast.expr:
            parts: list[ast.expr] = []
            for row, number in zip(rows, numbers, strict=True):
                if row is None:
                    assert number is not None
                    parts.append(copy.deepcopy(number))
                    continue
                own = at[len(at) - len(row.lengths) :]
                parts.append(row.element([
                    index if len(known) == 1 else or_zero(index, length)
                    for index, length in zip(own, row.lengths, strict=True)
                ]))  # fmt: skip
            return build(parts)

        return Rows(lengths, element, frozenset().union(*(each.arrays for each in known)))

    def _broadcast(self, rows: Sequence[Rows], rank: int) -> tuple[ast.expr, ...]:
        lengths: list[ast.expr] = []
        for axis in range(-rank, 0):
            own = [each.lengths[axis] for each in rows if len(each.lengths) >= -axis]
            texts = {ast.unparse(each): each for each in own}
            common = list(texts.values())
            lengths.append(common[0] if len(common) == 1 else self._kept(call_of("max", *common)))
        return tuple(lengths)

    def _operation(self, node: ast.expr) -> tuple[list[ast.expr], Callable[[list[ast.expr]], ast.expr]] | None:
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            binary = node.op
            return [node.left, node.right], lambda parts: ast.BinOp(parts[0], binary, parts[1])
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            unary = node.op
            return [node.operand], lambda parts: ast.UnaryOp(unary, parts[0])
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            comparison = node.ops[0]
            return [node.left, node.comparators[0]], lambda parts: ast.Compare(parts[0], [comparison], [parts[1]])
        if isinstance(node, ast.Call) and not node.keywords:
            name = self._numpy_name(node)
            if name == "where" and len(node.args) == 3:
                return node.args, lambda parts: ast.IfExp(parts[0], parts[1], parts[2])
            is_abs = isinstance(node.func, ast.Name) and self._names.value(node.func) is abs
            if (name in ELEMENTWISE and len(node.args) == ELEMENTWISE[name].arity) or is_abs:
                function = node.func
                return node.args, lambda parts: ast.Call(function, parts, [])
        return None

    def _reduction(self, node: ast.expr) -> ast.expr | None:
        """A reduction of rows to a number, as a loop before the statement."""
        if not isinstance(node, ast.Call):
            return None
        name, operands = self._numpy_name(node), node.args
        if name is None and isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS:
            name, operands = node.func.attr, [node.func.value, *node.args]
        if name not in _REDUCTIONS:
            return None
        if name == "dot":
            product: ast.expr = ast.BinOp(operands[0], ast.Mult(), operands[1])
            name, operands = "sum", [ast.copy_location(product, node)]
        rows = self._rows(operands[0]) if len(operands) == 1 and not node.keywords else None
        if rows is None:
            if self._names.value(node.func) is UNKNOWN or len(operands) != 1 or node.keywords:
                raise NotInKernelError(f"a reduction that kernels lack, {ast.unparse(node)}", node)
            return None
        return self._reduced(name.removeprefix("a") if name in ("amin", "amax") else name, rows, node)

    def _reduced(self, name: str, rows: Rows, node: ast.expr) -> ast.expr:
        total = self._new("r")
        variables = [self._new("k") for _ in rows.lengths]
        element = rows.element([variable(each) for each in variables])
        first = rows.element([zero() for _ in rows.lengths])
        dtypes = [self._dtypes.get(array) for array, _ in rows.arrays]
        start: ast.expr
        update: ast.stmt
        target = ast.Name(total, ast.Store())
        if name in ("min", "max"):
            start = first
            update = ast.Assign([target], call_of(name, variable(total), element))
        elif name in ("any", "all"):
            start = ast.Constant(name == "all")
            changed = ast.Compare(element, [ast.NotEq() if name == "any" else ast.Eq()], [zero()])
            update = ast.If(changed, [ast.Assign([target], ast.Constant(name == "any"))], [])
        else:
            number = 1 if name == "prod" else 0
            whole = all(each is not None and each.kind in "biu" for each in dtypes) and name != "mean"
            signed = any(each is not None and each.kind in "bi" for each in dtypes)
            start = (
                ast.Call(attribute("np", "int64" if signed else "uint64"), [ast.Constant(number)], [])
                if whole
                else ast.Constant(float(number))
            )
            update = ast.AugAssign(target, ast.Mult() if name == "prod" else ast.Add(), element)
        self._before.append(self._at(ast.Assign([ast.Name(total, ast.Store())], start), node))
        loop: ast.stmt = update
        for counter, length in zip(reversed(variables), reversed(rows.lengths), strict=True):
            loop = ast.For(ast.Name(counter, ast.Store()), call_of("range", copy.deepcopy(length)), [loop], [])
        self._before.append(self._at(loop, node))
        if name != "mean":
            return variable(total)
        count = rows.lengths[0]
        for length in rows.lengths[1:]:
            count = ast.BinOp(count, ast.Mult(), length)
        return ast.BinOp(variable(total), ast.Div(), copy.deepcopy(count))

    # ------------------------------------------------------------------------------------------- small parts

    def _kept(self, value: ast.expr) -> ast.expr:
        """A variable with the value of an expression, assigned before the statement; constants stay."""
        if isinstance(value, (ast.Constant, ast.Name)):
            return value
        name = self._new("t")
        self._before.append(self._at(ast.Assign([ast.Name(name, ast.Store())], value), value))
        return variable(name)

    @staticmethod
    def _at(statement: ast.stmt, where: ast.AST) -> ast.stmt:
        line = getattr(where, "lineno", 1)
        for each in ast.walk(statement):
            if isinstance(each, (ast.stmt, ast.expr)) and not hasattr(each, "lineno"):
                each.lineno = each.end_lineno = line
                each.col_offset = each.end_col_offset = 0
        return statement

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"kapi_{letter}{self._count}"

    def _numpy_name(self, node: ast.Call) -> str | None:
        function = self._names.value(node.func)
        return None if function is UNKNOWN else numpy_name(function)

    def _text(self, view: View) -> str:
        return ast.unparse(self._element(view, [variable("_")] * len(view.free)))
