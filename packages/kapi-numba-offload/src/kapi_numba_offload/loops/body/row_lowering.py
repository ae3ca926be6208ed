"""From the body of a parallel loop to statements over elements: slices become loops, negative indices wrap.

What the kernel language has not, full rows of arrays above all, is written out here with the ranks of the arrays in
hand; everything else stays as its author wrote it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import replace

import numba
import numpy as np

from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.elements.expression import Leaf
from kapi_numba_offload.loops.body.atomic_updates import AtomicUpdates, Extremum, added_values, as_update, extremum_of
from kapi_numba_offload.loops.body.functions.private_arrays import private_array
from kapi_numba_offload.loops.body.loops_over_rows import LoopsOverRows
from kapi_numba_offload.loops.body.row_expressions import RowExpressions
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.syntax_parts import counted_loop, nested_loops, variable, zero
from kapi_numba_offload.loops.body.views import ArrayPart, RowLeaf, Rows

__all__ = ["RowLowering"]


class RowLowering:
    """Lowers statements over rows of arrays to loops over elements.

    Attributes
    ----------
    late_reads : set of str
        Arrays whose elements are read later than in the source.
    row_reads : set of tuple
        Array that elements of a row are made of, array that the row is stored to, and whether both are the same part:
        if so, they may be the same view, and else they may share no memory.
    """

    def __init__(self, state: BodyState, atomics: AtomicUpdates) -> None:
        self._state, self._atomics, self._names = state, atomics, state.names
        self._expressions = RowExpressions(state, atomics.read)
        self._views = self._expressions.views
        self._loops_over_rows = LoopsOverRows(state, self._expressions)
        self.late_reads: set[str] = set()
        self.row_reads: set[tuple[str, str, bool]] = set()

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, lowered.

        Raises
        ------
        NotInKernelError
            If one cannot be written with elements.
        """
        made: list[ast.stmt] = []
        state = self._state
        for statement in statements:
            outer, state.before = state.before, []
            rewritten = self._statement(statement)
            made += state.before + rewritten
            state.before = outer
        return made or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        scalar = self._expressions.scalar
        if self._is_stored_as_it_runs(node):
            return []
        if (made := self._sorted_in_place(node)) is not None:
            return made
        count = len(self._state.before)
        self._expressions.functions.take_kept(node)
        if isinstance(node, ast.While) and len(self._state.before) != count:
            raise NotInKernelError("an array in the condition of a while loop", node)
        extremum = extremum_of(node, self._names.value)
        if extremum is not None and (made := self._extremum(extremum, node)) is not None:
            return made
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._assign(node, node.targets[0], node.value)
        if isinstance(node, ast.AugAssign):
            return self._in_place(node)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.While):
            count = len(self._state.before)
            node.test = scalar(node.test)
            if len(self._state.before) != count:
                raise NotInKernelError("a reduction in the condition of a while loop", node)
            node.body = self.block(node.body)
            return [node]
        if isinstance(node, ast.If):
            node.test = scalar(node.test)
            node.body = self.block(node.body)
            node.orelse = self.block(node.orelse) if node.orelse else []
            return [node]
        if isinstance(node, ast.Return):
            raise NotInKernelError("a return from within the loop", node)
        if isinstance(node, ast.FunctionDef):
            for each in ast.walk(node):
                # Other iterations may update the same element, and kernels count no index from the end.
                if isinstance(each, ast.Subscript) and not isinstance(each.slice, ast.Constant):
                    raise NotInKernelError(
                        f"function {node.name}, which has elements and could not be written out", each
                    )
            return [node]
        if isinstance(node, ast.Expr):
            assigned = self._as_stored(node.value)
            if assigned is not None:
                return self._assign(assigned, assigned.targets[0], assigned.value)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, scalar(value))
        return [node]

    def _sorted_in_place(self, node: ast.stmt) -> list[ast.stmt] | None:
        """`row.sort()`; None for other statements."""
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="sort"), args=[], keywords=[])):
                view = self._expressions.view(owner)
                if view is None or not view.order:
                    return None
                part = self._expressions.functions.sorted(self._views.rows(view), node)
                return self._loops(view, owner, self._views.rows(part), None, node)
        return None

    def _is_stored_as_it_runs(self, node: ast.stmt) -> bool:
        """Whether a statement is `out[i] = numpy.cumsum(row)`: then a loop for it is put before it."""
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=ast.Call() as value):
                found = self._expressions.functions.running_name(value)
                view = self._expressions.view(target) if found is not None else None
            case _:
                return False
        if found is None or view is None or len(view.order) != 1:
            return False
        name, rows = found
        spelled = self._views.text(view)
        if any(array == view.array and text != spelled for array, text in rows.arrays):
            return False
        self.row_reads |= {(array, view.array, text == spelled) for array, text in rows.arrays if array != view.array}
        self._expressions.functions.running(name, rows, lambda at: self._views.stored(view, [at], node), node)
        return True

    def _as_stored(self, call: ast.expr) -> ast.Assign | None:
        """`row[:] = numpy.add(x, y)` for `numpy.add(x, y, row)`; None for others, and where types may not suit."""
        function = getattr(np, self._state.numpy_name(call) or "", None) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or not isinstance(function, np.ufunc) or function.nout != 1:
            return None
        words = {each.arg: each.value for each in call.keywords}
        out = words.get("out", call.args[-1] if len(call.args) == function.nin + 1 and not words else None)
        if out is None or not words.keys() <= {"out"} or len(call.args) - (not words) != function.nin:
            return None
        view = self._expressions.view(out)
        facts = self._state.arrays.get(view.array) if view is not None and view.order else None
        if facts is None or facts.dtype is None or facts.dtype.kind != "f":
            return None
        target = ast.Subscript(out, ast.Slice(None, None, None), ast.Store())
        made = ast.Assign([target], ast.Call(call.func, call.args[: function.nin], []))
        return located(made, call)

    def _for(self, node: ast.For) -> list[ast.stmt]:
        node = self._loops_over_rows.over_indices(node)
        node.iter = self._expressions.scalar(node.iter)
        if isinstance(node.iter, ast.Call) and self._names.value(node.iter.func) is numba.prange:
            # In an iteration, one after another.
            node.iter.func = ast.copy_location(variable("range"), node.iter.func)
        self._state.lower.take_loop(node)
        node.body = self.block(node.body)
        node.orelse = self.block(node.orelse) if node.orelse else []
        return [node]

    # ------------------------------------------------------------------------------------------ assignments

    def _assign(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return self._assign_variable(node, target.id, value)
        if isinstance(target, ast.Subscript):
            update = as_update(node)
            if update is not None:
                return self._in_place(update)
            view = self._expressions.view(target)
            if view is None:
                raise NotInKernelError("an assignment to something that is no array", node)
            if view.order:
                product = self._product(target, view, value, None, node)
                return product or self._loops(view, value, self._expressions.rows(value), None, node)
            values = added_values(node)
            if values:
                self._atomics.add_update(node, view, values)
            else:
                self._atomics.store(node, view)
            node.targets = [self._views.stored(view, [], node)]
        elif isinstance(target, (ast.Tuple, ast.List)):
            if (made := self._unpacked(node, target.elts, value)) is not None:
                return made
            node.targets = [self._stored_part(target, node)]
        node.value = self._expressions.scalar(value)
        return [node]

    def _unpacked(self, node: ast.Assign, targets: Sequence[ast.expr], value: ast.expr) -> list[ast.stmt] | None:
        """`x, y, z = row`, each element read before one is stored; None for what is no row."""
        rows = None if isinstance(value, (ast.Tuple, ast.List)) else self._expressions.rows(value)
        if rows is None or len(rows.lengths) != 1 or any(isinstance(each, ast.Starred) for each in targets):
            return None
        if rows.mask is not None:
            raise NotInKernelError("variables for what a mask selects", node)
        read = [
            self._state.assigned(self._state.new("t"), rows.element([ast.Constant(at)])) for at in range(len(targets))
        ]
        made: list[ast.stmt] = []
        for target, each in zip(targets, read, strict=True):
            one = located(ast.Assign([target], each), node)
            assert isinstance(one, ast.Assign)
            made += self._assign(one, target, each)
        return made

    def _extremum(self, found: Extremum, node: ast.stmt) -> list[ast.stmt] | None:
        """`if x > a[k]: a[k] = x`, atomically where several iterations may have the element; None if it is a row."""
        view = self._expressions.view(found.target)
        if view is None or view.order:
            return None
        name = self._state.new("x")
        first = ast.Assign([ast.Name(name, ast.Store())], self._expressions.scalar(copy.deepcopy(found.value)))
        stored = self._views.stored(view, [], node)
        assert isinstance(stored, ast.Subscript)
        element = copy.deepcopy(stored)
        element.ctx = ast.Load()
        test = ast.Compare(variable(name), [found.comparison()], [element])
        kept = ast.If(test, [ast.Assign([stored], variable(name))], [])
        self._atomics.add_extremum(kept, view, found)
        for each in (first, kept):
            located(each, node)
        return [first, kept]

    def _stored_part(self, target: ast.expr, node: ast.stmt) -> ast.expr:
        if isinstance(target, (ast.Tuple, ast.List)):
            target.elts = [self._stored_part(each, node) for each in target.elts]
        elif isinstance(target, ast.Subscript):
            view = self._expressions.view(target)
            if view is None or view.order:
                raise NotInKernelError("an assignment of several parts of arrays at once", node)
            self._atomics.store(node, view)
            return self._views.stored(view, [], node)
        return target

    def _assign_variable(self, node: ast.Assign, name: str, value: ast.expr) -> list[ast.stmt]:
        state = self._state
        made = private_array(state, name, value)
        if made is not None:
            node.value, number = made
            if number is None:
                return [node]
            full = self._expressions.view(variable(name))
            assert full is not None
            return [node, *self._loops(full, number, None, None, node)]
        view = None if self._expressions.is_selection(value) else self._expressions.view(value)
        if view is not None and view.order:
            self._bind(name, view, node)
            return []
        state.is_put_off = True
        rows = self._expressions.rows(value)
        state.is_put_off = False
        if rows is not None:
            self._put_off(name, rows, node)
            return []
        if name in state.views or name in state.expressions:
            raise NotInKernelError(f"variable {name} for arrays and numbers", node)
        node.value = self._expressions.scalar(value)
        state.lower.take_assignment(name, value)
        return [node]

    def _bind(self, name: str, view: ArrayPart, node: ast.AST) -> None:
        """Let a variable be a part of an array, which is stored to if the variable is."""
        self._views.bind(name, view, node)
        if name in self._state.stored_to:
            self._state.stored_to.add(view.array)

    def _put_off(self, name: str, rows: Rows, node: ast.stmt) -> None:
        """Let a variable be an expression whose elements are computed where they are used."""
        state = self._state
        read = {array for array, _ in rows.arrays}
        if not state.is_assigned_once(name) or name in state.stored_to or read & state.stored_to:
            part = self._expressions.functions.temporary(rows, node)
            if part is None:
                raise NotInKernelError("a temporary array of a length that only the launch knows", node)
            self._bind(name, part, node)
            return
        self.late_reads |= read
        lengths = tuple(map(state.frozen, rows.lengths))
        state.expressions[name] = replace(rows, lengths=lengths)

    def _in_place(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = node.target
        as_read = copy.deepcopy(target)
        assert isinstance(as_read, (ast.Name, ast.Subscript))
        as_read.ctx = ast.Load()
        view = self._expressions.view(as_read)
        if view is None and isinstance(target, ast.Subscript):
            # Other iterations may update the same element, and what array it is of is not known.
            raise NotInKernelError(f"an update of {ast.unparse(target)}, which is part of no array by its name", node)
        if view is None or (isinstance(target, ast.Name) and not view.axes):
            node.value = self._expressions.scalar(node.value)
            return [node]
        product = self._product(as_read, view, node.value, node.op, node) if view.order else None
        if product is not None:
            return product
        rows = self._expressions.rows(node.value)
        if view.order:
            return self._loops(view, node.value, rows, node.op, node)
        self._atomics.add_update(node, view, [node.value])
        node.target, node.value = self._views.stored(view, [], node), self._expressions.scalar(node.value)
        return [node]

    def _product(
        self, target: ast.expr, view: ArrayPart, value: ast.expr, operation: ast.operator | None, node: ast.stmt
    ) -> list[ast.stmt] | None:
        """A loop over the elements of a row that is assigned a row times a matrix, or a matrix times a column."""
        factors = self._factors(value)
        if factors is None or len(view.order) != 1:
            return None
        left, right = (copy.deepcopy(each) for each in factors)
        rows = [each for factor in factors if (each := self._expressions.rows(factor)) is not None]
        counter = self._state.new("k")
        at = variable(counter)
        ranks = tuple(len(each.lengths) for each in rows)
        if ranks == (1, 2):
            right = ast.Subscript(right, ast.Tuple([ast.Slice(None, None, None), at], ast.Load()), ast.Load())
        elif ranks == (2, 1):
            left = ast.Subscript(left, at, ast.Load())
        else:
            return None
        read = {name for each in rows for name, _ in each.arrays}
        length, is_one = view.free[0].length, view.free[0].is_one
        part: ArrayPart | None = None
        owner: ast.expr
        if view.array in read:
            first = [each.element([zero() for _ in each.lengths]) for each in rows]
            leaf = RowLeaf((length,), (is_one,), lambda at: ast.BinOp(first[0], ast.Mult(), first[1]))
            made = Rows((length,), (is_one,), Leaf(0), (leaf,), frozenset())
            part = self._expressions.functions.room(made, node)
            owner = variable(self._state.new("v"))
            self._state.views[owner.id] = part
        else:
            # The product is there before any of it is stored.
            self.row_reads |= {(name, view.array, False) for name in read}
            owner = copy.deepcopy(target)
        assert isinstance(owner, (ast.Name, ast.Subscript))
        owner.ctx = ast.Load()
        element, number = ast.Subscript(owner, at, ast.Store()), ast.BinOp(left, ast.MatMult(), right)
        stored: ast.stmt = (
            ast.AugAssign(element, operation, number) if operation and not part else ast.Assign([element], number)
        )
        self._state.lower.take_counter(counter)
        loops = self._for(located(counted_loop(counter, copy.deepcopy(length), [stored]), node))
        return loops + self._loops(view, owner, self._views.rows(part), operation, node) if part else loops

    def _factors(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """The factors of a product of matrices; None for anything else."""
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
            return value.left, value.right
        is_product = isinstance(value, ast.Call) and self._state.numpy_name(value) in ("dot", "matmul")
        if isinstance(value, ast.Call) and is_product and len(value.args) == 2 and not value.keywords:
            return value.args[0], value.args[1]
        return None

    def _loops(
        self, view: ArrayPart, value: ast.expr, rows: Rows | None, operation: ast.operator | None, node: ast.stmt
    ) -> list[ast.stmt]:
        """Loops over the elements of a view that is assigned to."""
        spelled = self._views.text(view)
        if rows is not None and rows.mask is not None:
            raise NotInKernelError("an assignment of what a mask selects", node)
        if rows is not None and any(
            name == view.array and text != spelled and not self._views.is_parallel_to(text, spelled)
            for name, text in rows.arrays
        ):
            part = self._expressions.functions.temporary(rows, node)
            if part is None:
                raise NotInKernelError("an assignment of one part of an array to another part of it", node)
            rows = self._views.rows(part)
        if rows is not None:
            self.row_reads |= {(name, view.array, text == spelled) for name, text in rows.arrays if name != view.array}
        counters = [self._state.new("k") for _ in view.order]
        at: list[ast.expr] = [variable(each) for each in counters]
        if rows is None:
            source = self._state.frozen(self._expressions.scalar(value))
        else:
            if len(rows.lengths) > len(at):
                raise NotInKernelError("an assignment of an array of higher rank", node)
            free = view.free
            source = rows.broadcast_at([each.length for each in free], [each.is_one for each in free], at)
        element = self._views.stored(view, at, node)
        inner: ast.stmt = (
            ast.Assign([element], source) if operation is None else ast.AugAssign(element, operation, source)
        )
        inner = ast.copy_location(inner, node)
        if isinstance(inner, ast.AugAssign):
            self._atomics.add_update(inner, view, [value])
        return [located(nested_loops(counters, [axis.length for axis in view.free], [inner]), node)]
