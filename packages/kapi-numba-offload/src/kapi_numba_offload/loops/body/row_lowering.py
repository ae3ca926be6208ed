"""Lowering of a parallel loop's body to statements over elements: slices become loops, negative indices wrap.

What the kernel language has not, full rows of arrays above all, is written out here with the ranks of the arrays in
hand; everything else stays as its author wrote it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numba
import numpy as np

from kapi_numba_offload.analysis.syntax import (
    COMPREHENSIONS,
    located,
    names_in,
    rewrite_expressions,
    root_variable,
    statements,
    variable,
)
from kapi_numba_offload.loops.body.atomic_updates import AtomicUpdates
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.group_memory import copied_by_group, made_by_call
from kapi_numba_offload.loops.body.functions.matrix_functions import factors, matrix_product, product_rows
from kapi_numba_offload.loops.body.functions.positions import POSITIONS, nonzero_positions
from kapi_numba_offload.loops.body.functions.row_calls import made_by
from kapi_numba_offload.loops.body.functions.row_functions import ARRAYS, RUNNING, run
from kapi_numba_offload.loops.body.functions.searches import searched_rows
from kapi_numba_offload.loops.body.in_place_updates import checked, require_held
from kapi_numba_offload.loops.body.launches.launch_conditions import require_equal
from kapi_numba_offload.loops.body.loops_over_rows import LoopsOverRows
from kapi_numba_offload.loops.body.row_expressions import RowExpressions
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import Access, ArrayPart, Extent, Rows
from kapi_numba_offload.loops.updates import Extremum, added_values, are_made_of, as_update, extremum_of

__all__ = ["RowLowering"]


class RowLowering:
    """Lowers statements over rows of arrays to loops over elements.

    - `late_reads`: arrays whose elements are read later than in the source.
    - `row_reads`: array that elements of a row are made of, array that the row is stored to, and whether both are the
      same part: if so, they may be the same view, and else they may share no memory.
    """

    def __init__(self, state: BodyState, atomics: AtomicUpdates) -> None:
        self._state, self._atomics, self._names = state, atomics, state.names
        self._expressions = RowExpressions(state, atomics.read)
        self._views = self._expressions.views
        self._loops_over_rows = LoopsOverRows(state, self._views)
        self.late_reads: set[str] = set()
        self.row_reads: set[tuple[str, str, bool]] = set()

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, lowered; `NotInKernelError` if one cannot be written with elements."""
        made: list[ast.stmt] = []
        state = self._state
        for statement in statements:
            outer, state.before = state.before, []
            rewritten = self._statement(statement)
            made += state.before + rewritten
            state.before = outer
        return made or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if self._is_made_by_group(node) or self._is_stored_as_it_runs(node) or self._is_sorted_in_place(node):
            return []
        comprehension = next((each for each in ast.walk(node) if isinstance(each, COMPREHENSIONS)), None)
        if comprehension is not None:
            raise NotInKernelError("a comprehension, for which kernels have a loop", comprehension)
        rewrite_expressions(node, _PrivateResults(self._state, self._stored_product(node)).visit)
        if isinstance(node, ast.While) and self._state.before:
            raise NotInKernelError("an array in the condition of a while loop", node)
        extremum = extremum_of(node, self._names.value)
        if extremum is not None and (made := self._extremum(extremum, node)) is not None:
            return made
        match node:
            case ast.Assign([target], value):
                return self._assign(node, target, value)
            case ast.Assign(targets, value) if len(targets) > 1 and (made := self._assign_several(node)) is not None:
                return made
            case ast.AugAssign():
                return self._in_place(node)
            case ast.Expr(ast.Call() as call) if (assigned := self._as_stored(call)) is not None:
                return self._assign(assigned, assigned.targets[0], assigned.value)
            case ast.Return():
                raise NotInKernelError("a return from within the loop", node)
            case ast.FunctionDef():
                for each in ast.walk(node):
                    # Other iterations may update the same element, and kernels count no index from the end.
                    if isinstance(each, ast.Subscript) and not isinstance(each.slice, ast.Constant):
                        raise NotInKernelError(
                            f"function {node.name}, which has elements and could not be written out", each
                        )
                return [node]
            case ast.For():
                node = self._loop(node)
            case ast.While():
                self._state.loops.append({*names_in(ast.walk(node), ast.Load)})
                node.test = self._state.scalar(node.test)
            case _:
                for field, value in ast.iter_fields(node):
                    if isinstance(value, ast.expr):
                        setattr(node, field, self._state.scalar(value))
        if isinstance(node, ast.While) and self._state.before:
            raise NotInKernelError("a reduction in the condition of a while loop", node)
        if isinstance(node, (ast.For, ast.While, ast.If)):
            if isinstance(node, ast.For):
                self._state.loops.append({*names_in(ast.walk(node), ast.Load)})
            node.body = self.block(node.body)
            if isinstance(node, (ast.For, ast.While)):
                self._state.loops.pop()
            if isinstance(node, ast.For):
                self._state.leave_loop(node)
            node.orelse = self.block(node.orelse) if node.orelse else []
        return [node]

    def _stored_product(self, node: ast.stmt) -> ast.expr | None:
        """The product of a vector and a matrix that a statement stores, an element at a time; None if it has none."""
        match node:
            case ast.Assign([ast.Subscript() as target], value) | ast.AugAssign(target, _, value):
                given = factors(self._state, value)
            case _:
                return None
        name = root_variable(target) or ""
        stored = self._state.views[name].array if name in self._state.views else name
        if given is None or any(each.array == stored for row in given for each in row.reads):
            return None  # the product is there before any of it is stored
        return value if sum(len(each.shape) for each in given) == 3 else None

    def _loop(self, node: ast.For) -> ast.For:
        """A loop, but for its body."""
        node = self._loops_over_rows.counted(node) or node
        node.iter = self._state.scalar(node.iter)
        if isinstance(node.iter, ast.Call) and self._names.value(node.iter.func) is numba.prange:
            # In an iteration, one after another.
            node.iter.func = ast.copy_location(variable("range"), node.iter.func)
        self._state.take_loop(node)
        return node

    def _is_made_by_group(self, node: ast.stmt) -> bool:
        """Whether a statement is `x = numpy.zeros(n)` or its like in a loop that a group does."""
        match node:
            case ast.Assign([ast.Name(name)], ast.Call() as call) if self._state.group is not None:
                part = made_by_call(self._state, name, call)
                if part is not None:
                    self._bind(name, part, node)
                return part is not None
        return False

    def _is_sorted_in_place(self, node: ast.stmt) -> bool:
        """Whether a statement is `row.sort()`: then loops for it are put before it."""
        match node:
            case ast.Expr(ast.Call(ast.Attribute(owner, "sort"), [], []) as call):
                view = self._state.view(owner)
                part = made_by(ARRAYS, self._state, call) if view is not None and view.order else None
                if view is not None and part is not None:
                    self._put_loops(view, owner, self._views.rows(part), None, node)
                    return True
        return False

    def _is_stored_as_it_runs(self, node: ast.stmt) -> bool:
        """Whether a statement is `out[i] = numpy.cumsum(row)`: then a loop for it is put before it."""
        match node:
            case ast.Assign([ast.Subscript() as target], ast.Call() as value):
                rows = made_by(RUNNING, self._state, value)
                view = self._state.view(target) if rows is not None else None
            case _:
                return False
        if rows is None or view is None or len(view.order) != 1:
            return False
        own = view.access
        if any(each.array == own.array and each != own for each in rows.reads):
            return False
        self._note_reads(rows, own)
        require_equal(self._state, rows.shape, view.shape, node, _STORED, ones="first")
        run(self._state, rows, lambda at: self._views.stored(view, at, node), value, view.shape[0])
        return True

    def _note_reads(self, rows: Rows, own: Access) -> None:
        """Note what the elements are made of that are stored to a part of an array."""
        self.row_reads |= {(each.array, own.array, each.text == own.text) for each in rows.reads
                           if each.array != own.array}  # fmt: skip

    def _as_stored(self, call: ast.Call) -> ast.Assign | None:
        """`row[:] = numpy.add(x, y)` for `numpy.add(x, y, row)`; None for others, and where types may not suit."""
        function = getattr(np, self._state.numpy_name(call) or "", None)
        if not isinstance(function, np.ufunc) or function.nout != 1:
            return None
        words = {each.arg: each.value for each in call.keywords}
        out = words.get("out", call.args[-1] if len(call.args) == function.nin + 1 and not words else None)
        if out is None or not words.keys() <= {"out"} or len(call.args) - (not words) != function.nin:
            return None
        view = self._state.view(out)
        if view is None or not view.order or self._state.kind(view.array) != "f":
            return None
        target = ast.Subscript(out, ast.Slice(None, None, None), ast.Store())
        return located(ast.Assign([target], ast.Call(call.func, call.args[: function.nin], [])), call)

    # ------------------------------------------------------------------------------------------ assignments

    def _assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return self._assign_variable(node, target.id, value)
        if isinstance(target, ast.Subscript):
            update = as_update(node)
            if update is not None:
                return self._in_place(update)
            view = self._state.view(target)
            if view is None:
                raise NotInKernelError("an assignment to something that is no array", node)
            if view.order:
                return self._assign_rows(view, value, None, node)
            values = added_values(node)
            if values:
                self._atomics.add_update(node, view, values, reads_itself=False)
            else:
                self._atomics.store(node, view)
            node.targets = [self._views.stored(view, [], node)]
        elif isinstance(target, (ast.Tuple, ast.List)):
            if (made := self._unpacked(node, target.elts, value)) is not None:
                return made
            for each in names_in(ast.walk(target), ast.Store):
                self._state.reassign(each, node)
            node.targets = [self._stored_part(target, node)]
        node.value = self._state.scalar(value)
        return [node]

    def _assign_several(self, node: ast.Assign) -> list[ast.stmt] | None:
        """`a[i] = b[:, i] = row`, the first target first; None for numbers, which the kernel language assigns so."""
        state = self._state
        state.is_put_off = True
        rows = state.rows(node.value)
        state.is_put_off = False
        if rows is None:
            return None
        name = state.new("v")
        self._put_off(name, rows, node, is_assigned_once=True)
        return self._assign_each([(target, variable(name)) for target in node.targets], node)

    def _assign_each(self, pairs: Iterable[tuple[ast.expr, ast.expr]], node: ast.stmt) -> list[ast.stmt]:
        """Assign values to targets, one after the other, before the statement."""
        for target, value in pairs:
            self._state.before += self._assign(located(ast.Assign([target], value), node), target, value)
        return []

    def _unpacked(self, node: ast.Assign, targets: Sequence[ast.expr], value: ast.expr) -> list[ast.stmt] | None:
        """`x, y, z = row`, each element read before one is stored; None for what is no row."""
        parts = self._state.tuples.get(value.id) if isinstance(value, ast.Name) else None
        if parts is not None and len(parts) == len(targets):
            return self._assign_each(zip(targets, map(variable, parts), strict=True), node)
        rows = None if isinstance(value, (ast.Tuple, ast.List)) else self._state.rows(value)
        if rows is None or len(rows.shape) != 1 or any(isinstance(each, ast.Starred) for each in targets):
            return None
        if rows.mask is not None:
            raise NotInKernelError("variables for what a mask selects", node)
        state = self._state
        count = [Extent(ast.Constant(len(targets)))]
        require_equal(state, rows.shape, count, node, f"length of a row must be {len(targets)} for as many variables")
        read = [state.assigned(state.new("t"), rows.element([ast.Constant(at)])) for at in range(len(targets))]
        return self._assign_each(zip(targets, read, strict=True), node)

    def _extremum(self, found: Extremum, node: ast.stmt) -> list[ast.stmt] | None:
        """`if x > a[k]: a[k] = x`, atomically where several iterations may have the element; None if it is a row."""
        view = self._state.view(found.target)
        if view is None or view.order or (found.is_of_integers and not self._state.has_integers(view.array)):
            return None
        value = self._state.scalar(copy.deepcopy(found.value))
        element = self._views.element(view, [])
        self._views.stored(view, [], node)
        text = f"X = VALUE\nif X {'>' if found.comparison is ast.Gt else '<'} ELEMENT:\n    STORED = X"
        first, kept = statements(text, X=self._state.new("x"), VALUE=value, ELEMENT=element, STORED=element)
        assert isinstance(kept, ast.If)
        kept.body[0].targets[0].ctx = ast.Store()  # type: ignore[attr-defined]
        self._atomics.add_extremum(kept, view, found)
        return [located(first, node), located(kept, node)]

    def _stored_part(self, target: ast.expr, node: ast.stmt) -> ast.expr:
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._stored_part(each, node) for each in target.elts]
        elif isinstance(target, ast.Subscript):
            view = self._state.view(target)
            if view is None or view.order:
                raise NotInKernelError("an assignment of several parts of arrays at once", node)
            self._atomics.store(node, view)
            return self._views.stored(view, [], node)
        return target

    def _assign_variable(self, node: ast.Assign, name: str, value: ast.expr) -> list[ast.stmt]:
        state = self._state
        if isinstance(value, ast.Name) and value.id in state.tuples:
            if state.assignments[name] != 1:
                raise NotInKernelError(f"variable {name} for several tuples of arrays", node)
            state.tuples[name] = state.tuples[value.id]
            return []
        if private_arrays.private_array(state, name, value):
            return []
        view = None if self._expressions.is_selection(value) else state.view(value)
        if view is not None and view.order:
            self._bind(name, view, node)
            return []
        state.is_put_off = True
        rows = state.rows(value)
        state.is_put_off = False
        if rows is not None:
            self._put_off(name, rows, node, is_assigned_once=state.assignments[name] == 1)
            return []
        if name in state.views or name in state.expressions:
            raise NotInKernelError(f"variable {name} for arrays and numbers", node)
        node.value = state.scalar(value)
        state.lower.take_assignment(name, value)
        state.take_assignment(name, node.value)
        return [node]

    def _bind(self, name: str, view: ArrayPart, node: ast.AST) -> None:
        """Let a variable be a part of an array, which is stored to if the variable is."""
        self._views.bind(name, view, node)
        if name in self._state.stored_to:
            self._state.stored_to.add(view.array)

    def _put_off(self, name: str, rows: Rows, node: ast.stmt, *, is_assigned_once: bool) -> None:
        """Let a variable be an expression whose elements are computed where they are used."""
        state = self._state
        read = {each.array for each in rows.reads}
        varying = state.stored_to | {each for each in read if state.assignments[each] > 1}
        if not is_assigned_once or name in state.stored_to or read & varying:
            text = "a temporary array of a length that only the launch knows"
            self._bind(name, self._temporary(rows, text, node, name), node)
            return
        state.require_own(name, node)
        self.late_reads |= read
        shape = tuple(each._replace(length=state.frozen(each.length)) for each in rows.shape)
        state.expressions[name] = replace(rows, shape=shape)

    def _temporary(
        self, rows: Rows, refusal: str, node: ast.AST, name: str = "", dtype: np.dtype[Any] | None = None
    ) -> ArrayPart:
        """A copy of rows in private memory, or in memory of the group; an error with this text without room for it.

        - `name`: the variable that it is for.
        - `dtype`: that of the elements to which it is stored.
        """
        if self._state.group is not None:
            return copied_by_group(self._state, name, rows, node, dtype)
        if rows.mask is not None or not private_arrays.fits(self._state, rows):
            raise NotInKernelError(refusal, node)
        return private_arrays.filled(self._state, rows, node, rows.element)

    def _in_place(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = copy.deepcopy(node.target)
        target.ctx = ast.Load()
        view = self._state.view(target)
        if view is None and isinstance(target, ast.Subscript):
            # Other iterations may update the same element, and what array it is of is not known.
            raise NotInKernelError(f"an update of {ast.unparse(target)}, which is part of no array by its name", node)
        if view is not None and view.order:
            if isinstance(target, ast.Name):
                self._state.require_read(target.id, node)
            require_held(self._state, view, node)
            return self._assign_rows(view, node.value, node.op, node)
        if view is not None and not isinstance(target, ast.Name):
            self._atomics.add_update(node, view, [node.value], reads_itself=are_made_of(target, [node.value]))
            node.target = self._views.stored(view, [], node)
        node.value = self._state.scalar(node.value)
        return [node]

    def _assign_rows(
        self, view: ArrayPart, value: ast.expr, operation: ast.operator | None, node: ast.stmt
    ) -> list[ast.stmt]:
        rows = product_rows(self._state, value, are_stored=True) if len(view.order) == 1 else None
        self._put_loops(view, value, rows or self._state.rows(value), operation, node)
        return []

    def _put_loops(
        self, view: ArrayPart, value: ast.expr, rows: Rows | None, operation: ast.operator | None, node: ast.stmt
    ) -> None:
        """Put loops over the elements of a view that is assigned to before the statement, in its place."""
        own = view.access
        reads_itself = rows is not None and any(each.array == own.array for each in rows.reads)
        if rows is None:
            source = self._state.frozen(self._state.scalar(value))
        else:
            if rows.mask is not None:
                raise NotInKernelError("an assignment of what a mask selects", node)
            if any(each.array == own.array and each.free != own.free for each in rows.reads):
                # Elements of the same axes are the same one, or no other element of either is.
                text = "an assignment of one part of an array to another part of it"
                facts = self._state.arrays[own.array]
                rows = self._views.rows(self._temporary(rows, text, node, dtype=facts.dtype))
            self._note_reads(rows, own)
            if len(rows.shape) > len(view.order):
                raise NotInKernelError("an assignment of an array of higher rank", node)
            require_equal(self._state, rows.shape, view.shape, node, _STORED, ones="first")

        def body(at: list[ast.expr]) -> list[ast.stmt]:
            element = self._views.stored(view, at, node)
            number = source if rows is None else rows.broadcast_at(view.shape, at)
            if operation is None:
                return [ast.Assign([element], number)]
            made = ast.AugAssign(element, operation, checked(self._state, view, number))
            self._atomics.add_update(made, view, [value], reads_itself=reads_itself)
            return [made]

        self._state.put_loops(view.shape, node, body)


class _PrivateResults(ast.NodeTransformer):
    """Variables instead of calls that give arrays, which are made before the statement."""

    def __init__(self, state: BodyState, kept: ast.expr | None) -> None:
        self._state, self._kept = state, kept

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        part = None if node is self._kept else matrix_product(self._state, node)
        return node if part is None else ast.copy_location(variable(self._named(part)), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        state = self._state
        positions = nonzero_positions(state, node)
        if positions is not None:
            name = state.new("v")
            state.tuples[name] = [self._named(each) for each in positions]
            return ast.copy_location(variable(name), node)
        makers = _MAKERS if node is self._kept else (*_MAKERS, matrix_product)
        part = next((part for make in makers if (part := make(state, node)) is not None), None)
        return node if part is None else ast.copy_location(variable(self._named(part)), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self._conditional(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return self._conditional(node)

    def _conditional(self, node: ast.IfExp | ast.BoolOp) -> ast.expr:
        with self._state.lengths.where(None):
            self.generic_visit(node)
        return node

    def _named(self, part: ArrayPart) -> str:
        name = self._state.new("v")
        self._state.bind(name, part)
        return name


_STORED = "lengths of what is stored must be those of its target, or 1"

_MAKERS = (partial(made_by, ARRAYS | POSITIONS), searched_rows, private_arrays.array_of_numbers)
"""The writers of calls that give an array."""
