"""State of the lowering of a loop's body, and the statements that come before the current one."""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import (
    Part,
    assignment,
    expression,
    names_in,
    nested_loops,
    nodes_in,
    root_variable,
    statements,
    variable,
)
from kapi_numba_offload.loops.body.index_analysis import LowerBounds, Range, counted_range
from kapi_numba_offload.loops.body.launches.equal_lengths import EqualLengths
from kapi_numba_offload.loops.body.launches.integer_expressions import FUNCTIONS
from kapi_numba_offload.loops.body.launches.launch_integers import LaunchIntegers
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, LaunchFacts, Rows

__all__ = ["BodyState", "NotANumberError", "NotInKernelError", "stored_to", "unsupported_option"]


class NotInKernelError(Exception):
    """Unsupported code in a kernel, with its line."""

    def __init__(self, text: str, node: ast.AST) -> None:
        super().__init__(text)
        self.node = node
        self.line = getattr(node, "lineno", 0)


class NotANumberError(NotInKernelError):
    """An array, or a part of one, where a kernel needs a number."""


def unsupported_option(call: ast.Call) -> NotInKernelError:
    """The error of a call that kernels have, but not with these arguments."""
    return NotInKernelError(f"an option of `{ast.unparse(call)}`", call)


class BodyState:
    """Mutable state of the lowering of a loop's body: filled statement by statement, in their order.

    - `operands`: prefixes of variables, as those of `Inliner`.
    - `rows`, `is_row`, `scalar`, `view`: an expression of rank 1 or more, or None; whether a part of an array, or an
      elementwise operation, is one; an expression of rank 0; the part of an array that an expression names, or None.
      `RowExpressions` defines them.
    - `arrays`: facts of the arrays of the launch, and of the private arrays of a work-item, once they are lowered.
    - `views`: variables that are views of arrays.
    - `loops`: the names that are read in each loop around the current statement.
    - `expressions`: variables that are expressions of arrays, whose elements are computed at each use.
    - `counters`: loops over ranges around the current statement, by their variables if nothing else assigns these.
    - `assignments`: how often the body assigns each variable.
    - `is_put_off`: whether the current expression is computed at its uses, where variables of its indices may have
      changed.
    - `tuples`: variables that are tuples of views, and the variables of these.
    - `unnamed`: variables that may be an array out of a tuple, of unknown rank.
    - `sliced`: variables that are assigned a slice of an array, whose length may differ from the array's.
    - `renewed`: temporaries that are recomputed at each assignment of their source variable.
    - `integers_of_arrays`: lines with operations of rows of integers and Python integers, which have other types for
      Numba.
    - `group`: the arrays of the one work-group that does the loop; None for loops that are parallel.
    - `hoisted`: variables that are assigned before the loop that a group does, by the texts of their values.
    """

    rows: Callable[[ast.expr], Rows | None]
    is_row: Callable[[ast.expr], bool]
    scalar: Callable[[ast.expr], ast.expr]
    view: Callable[[ast.expr], ArrayPart | None]

    def __init__(
        self,
        names: Scope,
        known: LaunchFacts,
        body: Sequence[ast.stmt],
        live: Iterable[str],
        operands: Set[str],
        *,
        checks_lengths: bool,
    ) -> None:
        self.names, self._known, self._live, self._operands = names, known, frozenset(live), operands
        self.arrays = dict(known.arrays)
        self.views: dict[str, ArrayPart] = {}
        self.loops: list[set[str]] = []
        self._bound_in: dict[str, list[set[str]]] = {}
        self._outdated: set[str] = set()
        self.expressions: dict[str, Rows] = {}
        self.before: list[ast.stmt] = []
        self.tuples: dict[str, list[str]] = {}
        self.is_put_off = False
        self.renewed: set[str] = set()
        self.integers_of_arrays: set[int] = set()
        self.group = known.group
        self.hoisted: dict[str, str] = {}
        self._count = 0
        nodes = nodes_in(body)
        self.assignments = Counter(names_in(nodes, ast.Store))
        self._by_loops = Counter(names_in([each.target for each in nodes if isinstance(each, ast.For)], ast.Store))
        self.counters: dict[str, Range] = {}
        self.launch = LaunchIntegers(names, known, self.assignments, self.counters, self.loops)
        self.lengths = EqualLengths(self.launch.resolve, are_checked=checks_lengths)
        once = {name for name, count in self.assignments.items() if count == 1}
        kept = {*known.arrays, *known.integers} - self.assignments.keys()
        self.lower = LowerBounds(names, known.lower, once, self.counters, kept)
        self.stored_to = stored_to(nodes)
        self.unnamed = _unnamed(nodes)
        self.sliced = {
            each.targets[0].id
            for each in nodes
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
            and any(isinstance(part, ast.Slice) for part in ast.walk(each.value))
        }  # fmt: skip

    @property
    def loop_variables(self) -> list[str]:
        """The variables of the parallel loops that the body assigns nothing to."""
        return [each for each in self._known.numbers.spans if not self.assignments[each]]

    def holds(self, condition: str) -> bool:
        """Whether a condition of the launch holds, as of `LaunchNumbers`: launches that disagree have other kernels."""
        return self._known.numbers.holds(condition)

    def require_own(self, name: str, node: ast.AST) -> None:
        """Require that a variable that becomes an array or a view has no value outside of the iteration."""
        if name in self._live:
            raise NotInKernelError(f"variable {name} for several arrays", node)

    def require_read(self, name: str, node: ast.AST) -> None:
        """Require that no function that is written out for an operand updates an array by a name of its own for it."""
        if any(each in name for each in self._operands):
            raise NotInKernelError("a call, within an expression, of a function that updates elements", node)

    def bind(self, name: str, view: ArrayPart) -> None:
        """Let a variable be a view."""
        self.views[name] = view
        self._bound_in[name] = list(self.loops)
        self._outdated.discard(name)

    def reassign(self, array: str, node: ast.AST, own: str = "") -> None:
        """Note that the variable of a private array becomes another array, which views of the first one are none of.

        - `own`: the variable, where it has another name than the array.
        """
        for name, view in self.views.items():
            if view.array != array or name in (array, own):
                continue
            loops = self.loops[len(self._bound_in.get(name, ())) :]
            if any(name in each for each in loops):
                raise NotInKernelError(f"variable {array} for several arrays, of which {name} is one", node)
            self._outdated.add(name)

    def bound_view(self, node: ast.Name) -> ArrayPart | None:
        """The view that a variable is; None if it is none."""
        view = self.views.get(node.id)
        if view is not None and node.id in self._outdated:
            raise NotInKernelError(f"variable {view.array} for several arrays, of which {node.id} is one", node)
        return view

    def take_loop(self, node: ast.For) -> None:
        """Note a loop over a range, until `leave_loop`."""
        found = counted_range(node)
        if found is not None and isinstance(node.target, ast.Name):
            name = node.target.id
            if self.assignments[name] in (1, self._by_loops[name]):
                self.counters[name] = found

    def leave_loop(self, node: ast.For) -> None:
        """Note the end of a loop."""
        if isinstance(node.target, ast.Name):
            self.counters.pop(node.target.id, None)

    def is_constant(self, node: ast.expr) -> bool:
        """Whether an expression, of numbers and variables that are only read, has one value in all of an iteration."""
        return all(
            isinstance(each, (ast.Constant, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp, ast.expr_context))
            or (isinstance(each, ast.Name) and not self.assignments[each.id] and each.id not in self.renewed)
            for each in ast.walk(node)
        )

    def new(self, letter: str) -> str:
        """A variable's name that the author has not."""
        self._count += 1
        return f"kapi_{letter}{self._count}"

    def kept(self, value: ast.expr) -> ast.expr:
        """A variable with the value of an expression, assigned before the statement; constants stay."""
        if isinstance(value, (ast.Constant, ast.Name)):
            return value
        return self._hoisted(value) or self._named(value)

    def frozen(self, value: ast.expr) -> ast.expr:
        """An expression for the value that `value` has here, wherever it is used."""
        if self.is_constant(value):
            return value
        return self._hoisted(value) or self._named(value)

    def _hoisted(self, value: ast.expr) -> ast.expr | None:
        """A variable, before the loop that a group does, for an integer that the launch tells; None for others."""
        resolved = None if self.group is None else self.launch.resolve(value)
        if self.group is None or resolved is None or isinstance(resolved, ast.Constant):
            return resolved
        text = ast.unparse(resolved)
        if text not in self.hoisted:
            name = self.hoisted[text] = self.new("h")
            known = {*self.group.given, *self.group.hoisted, *self.group.made, *FUNCTIONS}
            own = value if known.issuperset(names_in(ast.walk(value), ast.Load)) else resolved
            self.group.hoisted[name] = self.launch.values[name] = own
        return variable(self.hoisted[text])

    def _named(self, value: ast.expr) -> ast.expr:
        """A new variable with the value of an expression, assigned before the statement, and never again."""
        name = self.new("t")
        self.launch.values[name] = value
        return self.assigned(name, value)

    def take_assignment(self, name: str, value: ast.expr) -> None:
        """Note what a variable of the source is assigned, if it has no other value."""
        if self.assignments[name] == 1 and name not in self._live:
            self.launch.values[name] = value

    def assigned(self, name: str, value: ast.expr) -> ast.expr:
        """The variable `name`, assigned before the statement."""
        self.launch.made.setdefault(name, []).append(value)
        self.put([assignment(name, value)], value)
        return variable(name)

    def started(self, name: str, value: ast.expr) -> ast.expr:
        """The variable `name`, which gets other values afterwards, assigned before the statement."""
        self.put([assignment(name, value)], value)
        return variable(name)

    def put(self, text: str | list[ast.stmt], where: ast.AST, **holes: Part) -> None:
        """Put statements, or those of a text with holes, before the one at hand, at the line of `where`."""
        line = getattr(where, "lineno", 1)
        made = statements(text, **holes) if isinstance(text, str) else text
        for each in nodes_in(made):
            if isinstance(each, (ast.stmt, ast.expr)) and not hasattr(each, "lineno"):
                each.lineno = each.end_lineno = line
                each.col_offset = each.end_col_offset = 0
        self.before += made

    def put_loops(
        self,
        shape: Sequence[Extent],
        where: ast.AST,
        body: Callable[[list[ast.expr]], list[ast.stmt]],
        mask: Rows | None = None,
    ) -> None:
        """Put loops over the elements of a shape, those that a mask selects, before the statement.

        `body` is given the index of an element. What it puts before a statement is in the loops, before its own.
        """
        counters = [self.new("k") for _ in shape]
        self.counters.update(
            {each: (ast.Constant(0), own.length, 1) for each, own in zip(counters, shape, strict=True)}
        )
        at: list[ast.expr] = [variable(each) for each in counters]
        outer, self.before = self.before, []
        made = body(at)
        made, self.before = [*self.before, *made], outer
        if mask is not None:
            made = [ast.If(mask.broadcast_at(shape, at), made, [])]
        self.put([nested_loops(counters, [each.length for each in shape], made)], where)

    def wrapped(self, index: ast.expr, length: ast.expr) -> ast.expr:
        """An index, rewritten, that counts from the start: kernels count none from the end."""
        low, at = self.lower.of(index), self.scalar(copy.deepcopy(index))
        if low is not None and low >= 0:
            return at
        return expression("kapi_wrapped_index(AT, LENGTH)", AT=at, LENGTH=length)

    def holds_integers(self, rows: Rows) -> bool:
        """Whether rows surely are made of arrays of integers, and are no truth values."""
        return not rows.is_bool and bool(rows.reads) and all(self.has_integers(each.array) for each in rows.reads)

    def has_integers(self, array: str) -> bool:
        """Whether the elements of an array surely are integers, and no truth values."""
        return array in self.arrays and self.arrays[array].has_integers

    def kind(self, array: str) -> str:
        """NumPy's kind of the elements of an array; empty if it is not known."""
        dtype = self.dtype(array)
        return "" if dtype is None else dtype.kind

    def dtype(self, array: str) -> np.dtype[Any] | None:
        """The dtype of an array; None if it is not known."""
        return self.arrays[array].dtype if array in self.arrays else None

    def kinds(self, rows: Rows) -> set[str]:
        """The kinds of the arrays that rows are made of."""
        return {self.kind(each.array) for each in rows.reads}

    def called(self, node: ast.Call) -> tuple[str | None, Sequence[ast.expr]]:
        """NumPy's name of the function that is called, and its operands; a method's owner is the first one."""
        name = self.numpy_name(node)
        if name is None and isinstance(node.func, ast.Attribute) and self.names.value(node.func) is UNKNOWN:
            return node.func.attr, [node.func.value, *node.args]
        return name, node.args

    def numpy_name(self, node: ast.Call) -> str | None:
        """NumPy's name of the function that is called."""
        function = self.names.value(node.func)
        return None if function is UNKNOWN else numpy_name(function)


def stored_to(nodes: Sequence[ast.AST]) -> set[str]:
    """Variables through which elements may be stored, and those that they were made of."""
    stored: set[str | None] = set()
    links: list[tuple[str, str | None]] = []
    for each in nodes:
        match each:
            case ast.Subscript(ctx=ast.Store()) | ast.AugAssign(target=ast.Name()):
                stored.add(root_variable(each if isinstance(each, ast.Subscript) else each.target))
            case ast.Call(func=ast.Attribute(value=owner, attr="sort" | "fill")):
                stored.add(root_variable(owner))
            case ast.Expr(ast.Call(args=[*_, output])) | ast.keyword("out", output):  # as of NumPy's functions
                stored.add(root_variable(output))
            case ast.Call(func=ast.Name(name), args=args) if name not in vars(builtins):
                stored.update(given.id for given in args if isinstance(given, ast.Name))  # it may store to them
            case ast.Assign(targets=[ast.Name(name), *_], value=value):
                links.append((name, root_variable(value)))
    while more := {root for name, root in links if name in stored} - stored - {None}:
        stored |= more
    return {each for each in stored if each is not None}


def _unnamed(nodes: Sequence[ast.AST]) -> set[str]:
    """Variables that a loop over what is no `range` assigns, or an assignment of a part of something."""
    found: set[str] = set()
    for each in nodes:
        match each:
            case ast.For(iter=ast.Call(func=function)) if "range" in ast.unparse(function):
                pass
            case ast.For(target=target):
                found.update(part.id for part in ast.walk(target) if isinstance(part, ast.Name))
            case ast.Assign(targets, value) if not isinstance(value, (ast.Tuple, ast.Constant)):
                found.update(names_in(nodes_in(targets), ast.Store))
    return found
