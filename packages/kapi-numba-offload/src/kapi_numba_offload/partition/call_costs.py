"""Work of a function's calls: what its kernels save of it, and what their launches take, so far as the source shows."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, NamedTuple, TypeGuard

from kapi_numba_offload._numba_compat import CPUDispatcher, has_overloads, is_generic
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind, may_have_axes
from kapi_numba_offload.analysis.numpy_functions import CREATION, elementwise, numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import indices_of, names_in, nodes_in, substituted
from kapi_numba_offload.libraries.arrays import arrays_among
from kapi_numba_offload.libraries.host_array import as_views
from kapi_numba_offload.loops.host.loop_costs import UNCOUNTED, CountedLoop, bound, codes_of, known_values, numbers_of
from kapi_numba_offload.loops.host.worked_axes import largest
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function, is_alike_for_numba
from kapi_numba_offload.partition.loop_plans.work_estimates import worked_axes
from kapi_numba_offload.regions.compiled_histogram import has_equal_bins
from kapi_numba_offload.run.bounded_cache import BoundedCache

__all__ = ["CallWork", "call_work"]

# Nanoseconds of processor time, by one thread at 10,000 and 100,000 elements, Numba's less the kernels'; launches by
# functions of one, two and four of them over 16 elements. Only the order of magnitude counts.
# What a kernel saves of Numba's time, on an element: by vectors, fused statements and threads.
_OPERATION = 0.05  # of arrays; by Numba's parallel code, which fuses statements and has as many threads, nothing
_IN_LOOP = 0.15  # in a `prange` loop
_DIVISION = 3.0  # of integers, or a remainder
_BY_CONSTANT = -1.0  # the same by a literal, which LLVM multiplies by for Numba
_FUNCTION = 6.0  # of mathematics
_POWER = -5.0  # to a counter, in a loop: a kernel calls a function, where Numba multiplies
_SCATTER = -3.0  # an update of an element that no counter tells, which is atomic in a kernel
_ROW = 40.0  # of an array that an iteration of a `prange` loop makes
_WINDOW = -40.0  # of a row that has both ends: its length may differ between work-items
# What a kernel takes, whatever its arrays' sizes: Python, and the launch.
_PART = 14_000.0  # of an expression, a reduction, or a call of the library
_LOOP = 11_000.0  # of a `prange` loop
_REDUCTION = 11_000.0  # of one of its reductions

_SHARED = 0.5  # how much of it kernels save where Numba's code uses all threads, too
_SHORT = 20_000  # operations of Numba's that take it less time by one thread than by several
_OF_FUNCTION = 15  # operations that take as long as a function of mathematics, a division, or a window
_OF_ROWS = -1  # the axis of rows, for "so many axes"

_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign, ast.Call)
_FUNCTIONS = frozenset(
    (
        "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
        "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "float_power", "fmod",
        "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "pow", "power", "sin",
        "sinh", "tan", "tanh",
    )
)  # fmt: skip
_UNCOUNTED_FUNCTIONS = frozenset(
    (
        "argpartition", "argsort", "convolve", "correlate", "histogram", "lexsort", "median", "partition", "percentile",
        "quantile", "searchsorted", "sort", "unique",
    )
)  # fmt: skip
"""NumPy's functions that Numba has much slower, or with other results where elements are equal, nan or none."""
_LIBRARY_FUNCTIONS = {
    "argmax": 0.3, "argmin": 0.3, "cumprod": -2.0, "cumsum": -2.0, "histogram": 0.1, "interp": 10.0, "nonzero": 1.5,
    "ptp": 0.7, "repeat": 0.7, "roll": 1.0, "where": 1.0,
    **dict.fromkeys(
        (
            "append", "bincount", "clip", "column_stack", "concatenate", "diff", "flip", "fliplr", "flipud", "hstack",
            "kron", "meshgrid", "outer", "stack", "tile", "vstack",
        ),
        0.0,
    ),
}  # fmt: skip
"""Nanoseconds that NumPy's function, or a kernel, saves of Numba's time for each element of its arguments."""

_Values = Mapping[str, Any]


class _Times(NamedTuple):
    """Nanoseconds that kernels save, and that their launches take, and the operations of Numba's."""

    saved: float
    launched: float
    operations: float


@dataclass(frozen=True, slots=True)
class _Block:
    """The work of a block of statements.

    Attributes
    ----------
    saved : mapping of (int or None) to float
        Nanoseconds that kernels save for each element along so many axes, 0 for what is done once; None for all axes,
        and `_OF_ROWS` for one row.
    operations : mapping of (int or None) to float
        Operations for each of these elements.
    launched : float
        Nanoseconds that its launches take.
    loops : tuple of _Loop
        The loops in it.
    """

    saved: Mapping[int | None, float]
    operations: Mapping[int | None, float]
    launched: float
    loops: tuple[_Loop, ...]

    def times(self, values: _Values, shapes: _Shapes) -> _Times:
        """Times for arguments of these values and shapes."""
        saved, operations = (
            sum(each * (shapes.along(axes) if axes != 0 else 1) for axes, each in found.items())
            for found in (self.saved, self.operations)
        )
        inner = [each.times(values, shapes) for each in self.loops]
        return _Times(*map(sum, zip(_Times(saved, self.launched, operations), *inner, strict=True)))


@dataclass(frozen=True, slots=True)
class _Loop(CountedLoop):
    """The work of a loop.

    - `body`: what an iteration does.
    - `is_kernel`: whether it is one kernel.
    """

    body: _Block
    is_kernel: bool

    def times(self, values: _Values, shapes: _Shapes) -> _Times:
        count, values = self.middle(values, shapes.along(None) if self.is_kernel else UNCOUNTED)
        if not count:
            return _Times(0.0, 0.0, 0.0)
        saved, launched, operations = self.body.times(values, shapes)
        return _Times(count * saved, launched if self.is_kernel else count * launched, count * operations)


class _Shapes:
    """The shapes of arrays of a call."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], *, may_broadcast: bool) -> None:
        self._shapes = shapes
        self._joined = tuple(length for shape in shapes for length in shape) if may_broadcast else ()
        self._known: dict[int | None, int] = {}

    def along(self, axes: int | None) -> int:
        """The most elements along so many axes of one of the arrays, or of what they are broadcast to."""
        if axes not in self._known:
            if axes == _OF_ROWS:
                rows = [each[-1] for each in self._shapes if len(each) > 1]
                self._known[axes] = max(rows or [each[0] for each in self._shapes if each], default=1)
            elif self._joined and (axes is None or axes > 1):
                self._known[axes] = largest(self._joined, axes or 2)
            else:
                self._known[axes] = max((largest(each, axes) for each in self._shapes), default=1)
        return self._known[axes]


class CallWork:
    """The factors of the work of a call.

    Parameters
    ----------
    names : sequence of str
        The function's parameters.
    body : _Block
        What it does.
    made : sequence of tuple of code
        The lengths of the axes of arrays that it makes.
    may_broadcast : bool
        Whether an expression may have as many elements as several arrays have combinations of them.
    is_parallel : bool
        Whether Numba's code for it may use all threads.
    """

    def __init__(
        self,
        names: Sequence[str],
        body: _Block,
        made: Sequence[tuple[CodeType, ...]],
        *,
        may_broadcast: bool,
        is_parallel: bool,
    ) -> None:
        self._names, self._body, self._made = tuple(names), body, tuple(made)
        self._may_broadcast, self._is_parallel = may_broadcast, is_parallel
        self._known: BoundedCache[tuple[Any, ...], _Times] = BoundedCache()

    def is_small(self, values: Sequence[Any]) -> bool:
        """Whether launches take longer than what kernels save of Numba's time.

        Parameters
        ----------
        values : sequence
            The arguments, one for each parameter.
        """
        saved, launched, operations = self._times(values)
        return saved * (_SHARED if self._is_parallel and operations > _SHORT else 1) <= launched

    def is_short(self, values: Sequence[Any]) -> bool:
        """Whether one thread takes less time than several, by Numba's code, which has to start and await them."""
        return self._times(values).operations <= _SHORT

    def _times(self, values: Sequence[Any]) -> _Times:
        key = tuple([_key(each) for each in values])
        times = self._known.get(key)
        if times is None:
            given = [as_views(each) for each in values]
            known = known_values(dict(zip(self._names, given, strict=True)))
            shapes = [each.shape for each in arrays_among(given)]
            for lengths in self._made:
                found = numbers_of(lengths, known)
                shapes += [] if found is None else [found]
            times = self._body.times(known, _Shapes(shapes, may_broadcast=self._may_broadcast))
            self._known[key] = times
        return times


def _key(value: Any) -> Any:
    """The part of an argument that its work depends on."""
    if isinstance(value, int):
        return value
    shape = getattr(value, "shape", None)
    return tuple(map(_key, value)) if shape is None and isinstance(value, tuple) else shape


def call_work(facts: FunctionInfo, *, is_parallel: bool) -> CallWork | None:
    """The work of a function's calls; None where the source does not show how much that is.

    - `is_parallel`: whether Numba's code for it may use all threads.
    """
    try:
        reader = _Reader(facts, is_parallel=is_parallel)
        body = reader.block(facts.definition.body)
    except _Untold:
        return None
    return CallWork(
        facts.names.parameters, body, reader.made, may_broadcast=reader.may_broadcast,
        is_parallel=is_parallel,
    )  # fmt: skip


class _Untold(Exception):
    """The source does not tell how much work there is."""


class _Reader:
    """Reads the work of a function's statements."""

    def __init__(self, facts: FunctionInfo, *, is_parallel: bool, depth: int = 0) -> None:
        self._facts, self._depth, self._is_parallel = facts, depth, is_parallel
        self._operation = 0.0 if is_parallel else _OPERATION
        self.made: list[tuple[CodeType, ...]] = []
        self.may_broadcast = any(_may_broadcast(facts, each) for each in ast.walk(facts.definition))
        self._assigned = _assigned_once(facts)
        self._counters = {
            each.target.id for each in ast.walk(facts.definition)
            if isinstance(each, ast.For) and isinstance(each.target, ast.Name) and facts.names.is_range(each.iter)
        }  # fmt: skip

    def block(self, body: Iterable[ast.stmt], *, is_in_kernel: bool = False) -> _Block:
        """The work of statements."""
        saved: dict[int | None, float] = {}
        operations: dict[int | None, float] = {}
        loops: list[_Loop] = []
        launched, is_fused = 0.0, False
        waiting = list(body)
        while waiting:
            each = waiting.pop(0)
            if isinstance(each, ast.While) and is_in_kernel:
                raise _Untold
            if isinstance(each, (ast.For, ast.While)):
                loops.append(self._loop(each, is_in_kernel=is_in_kernel))
                is_fused = False
                continue
            if isinstance(each, (ast.If, ast.With, ast.Try)):
                within = [*each.body, *getattr(each, "orelse", ()), *getattr(each, "finalbody", ())]
                waiting[:0] = [*within, *(one for handler in getattr(each, "handlers", ()) for one in handler.body)]
                nodes = [node for part in _headers(each) for node in ast.walk(part)]
            else:
                nodes = list(ast.walk(each))
            parts, has_elements = 0, False
            for node in nodes:
                if isinstance(node, _OPERATIONS):
                    called = self._called(node, is_in_kernel=is_in_kernel)
                    if called is not None:
                        loops.append(_Loop(None, (_ONE,), called, is_kernel=is_in_kernel))
                        continue
                    axes = self._axes(node)
                    if axes != 0 or is_in_kernel:
                        for along, cost in self._costs(node, axes, is_in_kernel=is_in_kernel):
                            saved[along] = saved.get(along, 0.0) + cost
                            is_slow = abs(cost) >= min(_DIVISION, _FUNCTION)
                            operations[along] = operations.get(along, 0.0) + (_OF_FUNCTION if is_slow else 1)
                    if axes != 0 and not is_in_kernel:
                        if isinstance(node, ast.Call) and elementwise(node, self._facts.names) is None:
                            parts += 1
                        else:
                            has_elements = True
            launched += _PART * (parts + (has_elements and not (is_fused and not parts)))
            is_fused = has_elements and not parts
        return _Block(saved, operations, 0.0 if is_in_kernel else launched, tuple(loops))

    def _loop(self, loop: ast.For | ast.While, *, is_in_kernel: bool) -> _Loop:
        facts = self._facts
        is_kernel = isinstance(loop, ast.For) and is_parallel(loop, facts.names)
        bounds, variable = None, None
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and facts.names.is_range(loop.iter):
            bounds = codes_of(loop.iter.args, self._bound)
            variable = loop.target.id if isinstance(loop.target, ast.Name) else None
        if bounds is None and (is_kernel or is_in_kernel):
            raise _Untold
        body = self.block(loop.body, is_in_kernel=is_in_kernel or is_kernel)
        if is_kernel and not is_in_kernel:
            updated = {
                each.target.id for each in ast.walk(loop)
                if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
            }  # fmt: skip
            body = replace(body, launched=_LOOP + len(updated) * _REDUCTION)
        return _Loop(variable, bounds, body, is_kernel or is_in_kernel)

    def _called(self, node: ast.AST, *, is_in_kernel: bool) -> _Block | None:
        """The work of a call of a function of the user's; None for other operations."""
        called = called_function(self._facts, node) if isinstance(node, ast.Call) else None
        if called is None or not isinstance(node, ast.Call):
            return None
        if self._depth > _DEEPEST or not _is_alike_when_called(self._facts, node, called):
            raise _Untold
        inner = _Reader(called[0], is_parallel=self._is_parallel, depth=self._depth + 1)
        block = inner.block(called[1], is_in_kernel=is_in_kernel)
        self.may_broadcast |= inner.may_broadcast
        return block

    def _axes(self, node: ast.AST) -> int | None:
        """The number of axes that an operation works on, 0 for numbers; None for arrays of which that is not known."""
        if isinstance(node, ast.AugAssign):
            kind = self._facts.kinds.target(node)
            return kind.ndim if isinstance(kind, ArrayKind) else 0 if kind == SCALAR else None
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Call):
            name = _name(self._facts, node)
            if name in _UNCOUNTED_FUNCTIONS and not (name == "histogram" and has_equal_bins(node)):
                raise _Untold
            if name in CREATION:
                self._creation(name, node)
            if name == "len" or name in ("range", "prange"):
                return 0
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            operands = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
            if all(map(self._facts.is_number, operands)):
                return 0
        kinds = [self._facts.kinds.kind(each) for each in ast.walk(node) if _is_expression(each)]
        names_arrays = any(map(may_have_axes, kinds))
        return worked_axes(self._facts, [node]).most if names_arrays else 0

    def _creation(self, name: str, node: ast.Call) -> None:
        """Note the size of an array that is made of no array."""
        if name in ("array", "asarray"):
            return  # of what stands there, or of a list
        arguments = node.args[2:3] if name == "linspace" else node.args
        if name not in ("arange", "linspace") and arguments:
            arguments = arguments[0].elts if isinstance(arguments[0], ast.Tuple) else arguments[:1]
        known = codes_of(arguments, self._bound)
        if not known:
            if any(
                isinstance(each, ast.Attribute) and each.attr == "shape" for one in arguments for each in ast.walk(one)
            ):
                return  # as large as an array that is counted, or a part of it
            raise _Untold
        if name == "arange":
            known = known[1:2] or known
        self.made.append(known * 2 if name in ("eye", "identity") and len(known) == 1 else known)

    def _costs(self, node: ast.AST, axes: int | None, *, is_in_kernel: bool) -> Iterator[tuple[int | None, float]]:
        """Pairs of how many axes there are elements along, and nanoseconds that a kernel saves on each element."""
        cost = self._of_element(node, is_in_kernel=is_in_kernel)
        if not is_in_kernel:
            yield axes, cost
        elif not axes:  # what is not known is an element, mostly
            yield 0, cost
        else:
            if isinstance(node, ast.BinOp):
                yield 0, _ROW
            slices = [each for each in ast.walk(node) if isinstance(each, ast.Slice)]
            is_window = bool(slices) and all(each.lower is not None and each.upper is not None for each in slices)
            yield (0, _WINDOW) if is_window else (_OF_ROWS, cost)

    def _of_element(self, node: ast.AST, *, is_in_kernel: bool) -> float:
        facts, operation = self._facts, _IN_LOOP if is_in_kernel else self._operation
        if is_in_kernel and isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            indices = [name for each in indices_of(node.target) for name in names_in(ast.walk(each), ast.Load)]
            if not self._counters.intersection(indices) and facts.kinds.target(node) == SCALAR:
                return _SCATTER
        if isinstance(node, ast.Call):
            name = _name(facts, node)
            if name.startswith("linalg."):
                return 0.0  # the same library's, either way
            return _FUNCTION if name in _FUNCTIONS else _LIBRARY_FUNCTIONS.get(name, operation)
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            if isinstance(node.op, ast.MatMult):
                return 0.0
            if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                divisor = node.right if isinstance(node, ast.BinOp) else node.value
                is_literal = isinstance(divisor, ast.Constant) or type(facts.names.value(divisor)) is int
                return _BY_CONSTANT if is_literal else _DIVISION
            if isinstance(node.op, ast.Pow):
                exponent = node.right if isinstance(node, ast.BinOp) else node.value
                is_counter = isinstance(exponent, ast.Name) and exponent.id in self._counters
                is_integer = isinstance(exponent, ast.Constant) and type(exponent.value) is int
                if is_counter and is_in_kernel:
                    return _POWER
                return operation if is_counter or is_integer else _FUNCTION
        return operation

    def _bound(self, node: ast.expr) -> CodeType | None:
        """The code of a number that arguments tell."""
        return bound(_resolved(node, self._assigned), self._facts.names.value)


_ONE = compile("1", "<bound>", "eval")
_DEEPEST = 3  # calls of functions in functions


def _is_alike_when_called(facts: FunctionInfo, call: ast.Call, called: tuple[FunctionInfo, Sequence[ast.stmt]]) -> bool:
    """Whether a function of the user's does the same for Numba, what it calls itself left out."""
    value = facts.names.value(call.func)
    function = getattr(value, "py_func", value)
    if has_overloads(function) or (isinstance(value, CPUDispatcher) and not is_generic(value)):
        return False
    inner, body = called
    is_text = [isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in body]
    nodes = nodes_in([each for each, is_docstring in zip(body, is_text, strict=True) if not is_docstring])
    return all(is_alike_for_numba(inner, each) for each in nodes)


def _headers(statement: ast.If | ast.With | ast.Try) -> list[ast.AST]:
    """The expressions of a compound statement outside of its blocks."""
    if isinstance(statement, ast.If):
        return [statement.test]
    return list(statement.items) if isinstance(statement, ast.With) else []


def _is_expression(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp))


def _assigned_once(facts: FunctionInfo) -> dict[str, ast.expr]:
    """The values of local numbers that one statement assigns, and names of lengths as in `h, w = a.shape`."""
    counts = Counter(names_in(ast.walk(facts.definition), ast.Store, ast.Del))
    found: dict[str, ast.expr] = {}
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.Assign) and len(each.targets) == 1:
            (target,) = each.targets
            if isinstance(target, ast.Name):
                found[target.id] = each.value
            elif isinstance(target, ast.Tuple) and isinstance(each.value, ast.Attribute) and each.value.attr == "shape":
                for axis, name in enumerate(target.elts):
                    if isinstance(name, ast.Name):
                        found[name.id] = ast.Subscript(each.value, ast.Constant(axis), ast.Load())
    return {name: value for name, value in found.items() if counts[name] == 1 and name not in facts.names.parameters}


def _resolved(node: ast.expr, assigned: Mapping[str, ast.expr], depth: int = 0) -> ast.expr:
    """An expression with what its names were assigned."""

    def value(name: ast.Name) -> ast.expr | None:
        found = assigned.get(name.id)
        return None if found is None or depth > _DEEPEST else _resolved(found, assigned, depth + 1)

    return substituted(copy.deepcopy(node), value)


def _name(facts: FunctionInfo, call: ast.Call) -> str:
    value = facts.names.value(call.func)
    if value is not UNKNOWN:
        return numpy_name(value) or str(getattr(value, "__name__", ""))
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _may_broadcast(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether an expression may have more elements than its operands: by a new axis, or another shape."""
    if isinstance(node, ast.Subscript) and facts.is_usm(node.value):
        return any(
            (isinstance(each, ast.Constant) and each.value is None)
            or (isinstance(each, ast.Attribute) and each.attr == "newaxis")
            for each in indices_of(node)
        )
    if not isinstance(node, ast.Call):
        return False
    return _name(facts, node) in ("reshape", "expand_dims", "broadcast_to") or any(
        each.arg == "keepdims" for each in node.keywords
    )
