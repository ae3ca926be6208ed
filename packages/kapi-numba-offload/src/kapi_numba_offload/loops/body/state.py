"""State of the lowering of a loop's body, and the statements that come before the current one."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import names_in, nodes_in, root_variable
from kapi_numba_offload.loops.body.index_analysis import LowerBounds
from kapi_numba_offload.loops.body.syntax_parts import nested_loops, statements, variable
from kapi_numba_offload.loops.body.views import ArrayPart, LaunchFacts, Rows

__all__ = ["BodyState", "NotANumberError", "NotInKernelError", "stored_to"]

_CHANGING = ("sort", "fill")  # methods that store to their array


class NotInKernelError(Exception):
    """Unsupported code in a kernel, with its line."""

    def __init__(self, text: str, node: ast.AST) -> None:
        super().__init__(text)
        self.node = node
        self.line = getattr(node, "lineno", 0)


class NotANumberError(NotInKernelError):
    """An array, or a part of one, where a kernel needs a number."""


class BodyState:
    """Mutable state of the lowering of a loop's body: filled statement by statement, in their order.

    Parameters
    ----------
    names : Scope
        What the function's names mean.
    known : LaunchFacts
        Facts of the values of the launch.
    body : sequence of ast.stmt
        The loop's body as written.

    Attributes
    ----------
    arrays : dict
        Facts of the arrays of the launch, and of the private arrays of a work-item, once they are lowered.
    views : dict of str to ArrayPart
        Variables that are views of arrays.
    expressions : dict of str to Rows
        Variables that are expressions of arrays, whose elements are computed at each use.
    before : list of ast.stmt
        Statements that come before the current one.
    made : dict of str to list of ast.expr
        Temporaries of the lowering, and all values that are assigned to each.
    is_put_off : bool
        Whether the current expression is computed at its uses, where variables of its indices may have changed.
    bounds : dict of str to callable
        Variables of lengths, by their names, and what tells the most that each may be, or None.
    sizes : dict of str to int
        The lengths of private arrays, such as `a.shape[0]`.
    wide : set of str
        Private arrays that hold no integers of fewer than 64 bits.
    unnamed : set of str
        Variables that may be an array out of a tuple, of unknown rank.
    sliced : set of str
        Variables that are assigned a slice of an array, whose length may differ from the array's.
    renewed : set of str
        Temporaries that are recomputed at each assignment of their source variable.
    integers_of_arrays : set of int
        Lines with operations of rows of integers and Python integers, which have other types for Numba.
    """

    def __init__(self, names: Scope, known: LaunchFacts, body: Sequence[ast.stmt]) -> None:
        self.names = names
        self.numbers = known.numbers
        self.arrays = dict(known.arrays)
        self.lower = LowerBounds(names, known.lower)
        self.views: dict[str, ArrayPart] = {}
        self.expressions: dict[str, Rows] = {}
        self.before: list[ast.stmt] = []
        self.made: dict[str, list[ast.expr]] = {}
        self.bounds: dict[str, Callable[[], int | None]] = {}
        self.sizes: dict[str, int] = {}
        self.wide: set[str] = set()
        self.is_put_off = False
        self.renewed: set[str] = set()
        self.integers_of_arrays: set[int] = set()
        self._count = 0
        nodes = nodes_in(body)
        self._assignments = Counter(names_in(nodes, ast.Store))
        self.lower.assigned_once = {name for name in self._assignments if self.is_assigned_once(name)}
        self.stored_to = stored_to(nodes)
        self.unnamed = _unnamed(nodes)
        self.sliced = {
            each.targets[0].id
            for each in nodes
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
            if any(isinstance(part, ast.Slice) for part in ast.walk(each.value))
        }

    def is_assigned_once(self, name: str) -> bool:
        """Whether the body has one assignment to the variable."""
        return self._assignments[name] == 1

    def is_assigned_at_most_once(self, name: str) -> bool:
        """Whether the body has one assignment to the variable, or the variable is none of the body's."""
        return self._assignments[name] <= 1

    def is_constant(self, node: ast.expr) -> bool:
        """Whether an expression, of numbers and variables that are only read, has one value in all of an iteration."""
        return all(
            isinstance(each, (ast.Constant, ast.operator, ast.unaryop, ast.BinOp, ast.UnaryOp, ast.expr_context))
            or (isinstance(each, ast.Name) and not self._assignments[each.id] and each.id not in self.renewed)
            for each in ast.walk(node)
        )

    def most(self, length: ast.expr) -> int | None:
        """The most that a length may be, for the numbers of the launch; None if they do not tell."""
        match length:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name) if name in self.bounds:
                return self.bounds[name]()
            case ast.Name(id=name) if name in self.made:
                return _largest([self.most(each) for each in self.made[name]])
            case ast.Call(func=ast.Name(id="max"), args=args):
                return _largest([self.most(each) for each in args])
            case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(value))):
                most = self.most(left)
                return None if most is None else most - value
        text = ast.unparse(length)
        return self.sizes[text] if text in self.sizes else self.numbers.of(text)

    def difference(self, upper: ast.expr, lower: ast.expr) -> int | None:
        """The difference of two integers, if it is the same in all iterations and the launch tells it; else None."""
        terms: Counter[str] = Counter()
        _add_terms(upper, 1, terms)
        _add_terms(lower, -1, terms)
        found = terms.pop("", 0)
        for text, factor in terms.items():
            value = self.numbers.of(text) if factor else 0
            if value is None:
                return None
            found += factor * value
        return found

    def new(self, letter: str) -> str:
        """A variable's name that the author has not."""
        self._count += 1
        return f"kapi_{letter}{self._count}"

    def kept(self, value: ast.expr) -> ast.expr:
        """A variable with the value of an expression, assigned before the statement; constants stay."""
        if isinstance(value, (ast.Constant, ast.Name)):
            return value
        return self.assigned(self.new("t"), value)

    def frozen(self, value: ast.expr) -> ast.expr:
        """An expression for the value that `value` has here, wherever it is used."""
        return value if self.is_constant(value) else self.assigned(self.new("t"), value)

    def assigned(self, name: str, value: ast.expr) -> ast.expr:
        """The variable `name`, assigned before the statement."""
        self.made.setdefault(name, []).append(value)
        self.put_before(ast.Assign([ast.Name(name, ast.Store())], value), value)
        return variable(name)

    def put_before(self, statement: ast.stmt, where: ast.AST) -> None:
        """Put a statement before the one at hand, at the line of `where`."""
        line = getattr(where, "lineno", 1)
        for each in ast.walk(statement):
            if isinstance(each, (ast.stmt, ast.expr)) and not hasattr(each, "lineno"):
                each.lineno = each.end_lineno = line
                each.col_offset = each.end_col_offset = 0
        self.before.append(statement)

    def put_lines_before(
        self, text: str, names: Mapping[str, str], holes: Mapping[str, ast.expr], where: ast.AST
    ) -> None:
        """Put statements before the one at hand, whose capital names are variables of these names, or expressions."""
        for each in statements(text, names, holes):
            self.put_before(each, where)

    def put_loops_before(self, rows: Rows, where: ast.AST, body: Callable[[list[ast.expr]], list[ast.stmt]]) -> None:
        """Put loops over the elements that rows select before the statement; `body` is given the index of one.

        What `body` puts before a statement is in the loops, before its own.
        """
        counters = [self.new("k") for _ in rows.lengths]
        at: list[ast.expr] = [variable(each) for each in counters]
        outer, self.before = self.before, []
        made = body(at)
        made = [*self.before, *made]
        self.before = outer
        if rows.mask is not None:
            made = [ast.If(rows.mask.broadcast_at(rows.lengths, rows.ones, at), made, [])]
        self.put_before(nested_loops(counters, rows.lengths, made), where)

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


def _largest(numbers: Sequence[int | None]) -> int | None:
    known = [each for each in numbers if each is not None]
    return max(known) if known and len(known) == len(numbers) else None


def _add_terms(node: ast.expr, sign: int, terms: Counter[str]) -> None:
    """Add the terms of a sum: their texts, and the empty text for numbers."""
    match node:
        case ast.Constant(value=int(value)):
            terms[""] += sign * value
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operation, right=right):
            _add_terms(left, sign, terms)
            _add_terms(right, sign if isinstance(operation, ast.Add) else -sign, terms)
        case _:
            terms[ast.unparse(node)] += sign


def stored_to(nodes: Sequence[ast.AST]) -> set[str]:
    """Variables through which elements may be stored, and those that they were made of."""
    subscripts = [each for each in nodes if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store)]
    stored = {root for each in subscripts if (root := root_variable(each)) is not None}
    stored |= {
        each.target.id for each in nodes if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
    }
    stored |= {
        root
        for each in nodes
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _CHANGING
        if (root := root_variable(each.func.value)) is not None
    }
    # What is given to a function may be stored to there.
    stored |= {
        given.id
        for each in nodes
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id not in vars(builtins)
        for given in each.args
        if isinstance(given, ast.Name)
    }
    links = [
        (each.targets[0].id, root)
        for each in nodes
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        if (root := root_variable(each.value)) is not None
    ]
    while True:
        more = {root for name, root in links if name in stored} - stored
        if not more:
            return stored
        stored |= more


def _unnamed(nodes: Sequence[ast.AST]) -> set[str]:
    """Variables that a loop over what is no `range` assigns, or an assignment of a part of something."""
    found: set[str] = set()
    for each in nodes:
        if isinstance(each, ast.For) and not (
            isinstance(each.iter, ast.Call) and "range" in ast.unparse(each.iter.func)
        ):
            found |= {part.id for part in ast.walk(each.target) if isinstance(part, ast.Name)}
        elif isinstance(each, ast.Assign) and not isinstance(each.value, (ast.Tuple, ast.Constant)):
            found.update(names_in(nodes_in(each.targets), ast.Store))
    return found
