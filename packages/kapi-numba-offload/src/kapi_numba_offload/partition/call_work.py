"""Work of a function's calls: time of the processor for each element, where the source tells it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from math import sqrt

from kapi_numba_offload.analysis.numpy_functions import CREATION, numpy_name
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function
from kapi_numba_offload.partition.loop_plans.work_estimates import parallel_depth

__all__ = ["CallWork", "call_work"]

# Nanoseconds, measured on an AMD EPYC; only their order of magnitude counts.
_OPERATION = 0.5  # of compiled code, on an element
_FUNCTION = 8.0  # of a function of mathematics
_PART = 20_000.0  # of a statement or loop that is a kernel: Python, and the launch

_DEEPEST = 2  # loops and rows in a `prange` loop, as over pairs of elements

_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign, ast.Call)
_FUNCTIONS = frozenset(
    (
        "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
        "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "float_power", "fmod",
        "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "pow", "power", "sin",
        "sinh", "tan", "tanh",
    )
)  # fmt: skip
_UNCOUNTED = frozenset(
    (
        "argpartition", "argsort", "convolve", "correlate", "kron", "lexsort", "median", "meshgrid", "outer",
        "partition", "percentile", "quantile", "repeat", "searchsorted", "sort", "tile", "unique",
    )
)  # fmt: skip
"""NumPy's functions whose work is not that of their arguments' elements, or that NumPy does better than Numba."""


@dataclass(frozen=True, slots=True)
class CallWork:
    """The factors of the work of a call.

    Attributes
    ----------
    of_element : float
        Nanoseconds for each element.
    is_squared : bool
        Whether an expression may have as many elements as two arrays have pairs of them.
    """

    of_element: float
    is_squared: bool

    def most_elements(self, parts: int) -> int:
        """The elements of the largest argument up to which compiled code takes less time than launches do.

        Parameters
        ----------
        parts : int
            The statements and loops that are kernels, and calls of the library.
        """
        elements = parts * _PART / self.of_element
        return int(sqrt(elements) if self.is_squared else elements)


def call_work(facts: FunctionInfo) -> CallWork | None:
    """The work of a function's calls; None where the source does not tell how much that is."""
    nodes = [each for statement in facts.definition.body for each in ast.walk(statement)]
    loops = [each for each in nodes if isinstance(each, (ast.For, ast.While))]
    depth = parallel_depth(facts, nodes)
    if depth is None or depth > _DEEPEST:
        return None
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    within = {id(node) for loop in loops for node in ast.walk(loop)}
    for each in calls:
        is_outside = id(each) not in within
        if is_outside and called_function(facts, each) is not None:
            return None
        name = _name(facts, each)
        if name in _UNCOUNTED or (name in CREATION and not _is_as_large_as_arrays(facts, each)):
            return None
    time = sum(
        _FUNCTION if _is_function(facts, each) else _OPERATION for each in nodes if isinstance(each, _OPERATIONS)
    )
    # A loop that is none of a kernel's repeats the launches in it as often as the work.
    is_squared = depth == _DEEPEST or any(_may_broadcast(facts, each) for each in nodes)
    return CallWork(max(time, _OPERATION), is_squared)


def _name(facts: FunctionInfo, call: ast.Call) -> str:
    value = facts.names.value(call.func)
    if value is not UNKNOWN:
        return numpy_name(value) or str(getattr(value, "__name__", ""))
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _is_function(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether an operation is a function of mathematics, or a power that is none of multiplications."""
    if isinstance(node, ast.Call):
        return _name(facts, node) in _FUNCTIONS
    power = isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Pow)
    exponent = getattr(node, "right", getattr(node, "value", None))
    return power and not (isinstance(exponent, ast.Constant) and type(exponent.value) is int)


def _is_as_large_as_arrays(facts: FunctionInfo, call: ast.Call) -> bool:
    """Whether a new array has as many elements as arguments have, so far as its shape names no number."""
    names = {each.id for value in call.args[:1] for each in ast.walk(value) if isinstance(each, ast.Name)}
    return bool(call.args) and not names - facts.usm_names - {"np", "numpy", "len"}


def _may_broadcast(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether an expression may have more elements than its operands: by a new axis, or another shape."""
    if isinstance(node, ast.Subscript) and facts.is_usm(node.value):
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(
            (isinstance(each, ast.Constant) and each.value is None)
            or (isinstance(each, ast.Attribute) and each.attr == "newaxis")
            for each in indices
        )
    if not isinstance(node, ast.Call):
        return False
    return _name(facts, node) in ("reshape", "expand_dims", "broadcast_to") or any(
        each.arg == "keepdims" for each in node.keywords
    )
