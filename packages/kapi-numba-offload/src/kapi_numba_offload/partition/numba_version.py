"""The version of a function that Numba compiles for small calls: updates read before they store, sums do not drift."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numba
import numpy as np

from kapi_numba_offload._numba_compat import CPUDispatcher
from kapi_numba_offload.analysis.effects import has_effects
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.partition.dtype_equivalence import NumberType, numba_dtypes
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo
from kapi_numba_offload.partition.loop_plans.fusion_races import races_by_fusion, stores_rows
from kapi_numba_offload.partition.loop_plans.numba_equivalence import (
    buffered,
    called_function,
    is_read_after_stores,
    updates_arrays,
    updates_unlike_numba,
)
from kapi_numba_offload.partition.rewritten_function import rewritten_function
from kapi_numba_offload.regions.compiled_histogram import compiled_histogram, has_equal_bins

__all__ = ["NumbaVersion", "numba_version"]

_jit = numba.njit(fastmath={"reassoc"})  # so that sums are vectors


@_jit
def _sum(a: Any) -> Any:
    flat, total = a.ravel(), 0.0
    for k in range(flat.size):
        total += np.float64(flat[k])
    return np.float32(total)


@_jit
def _mean(a: Any) -> Any:
    flat, total = a.ravel(), 0.0
    for k in range(flat.size):
        total += np.float64(flat[k])
    return np.float32(np.float64(total) / np.float64(flat.size))


@_jit
def _var(a: Any) -> Any:
    flat, total, squares = a.ravel(), 0.0, 0.0
    for k in range(flat.size):
        total += np.float64(flat[k])
    mean = np.float64(total) / np.float64(flat.size)
    for k in range(flat.size):
        squares += (np.float64(flat[k]) - mean) ** 2
    return np.float32(squares / np.float64(flat.size))


@_jit
def _std(a: Any) -> Any:
    return np.float32(np.sqrt(_var(a)))


_SUMS = {"sum": _sum, "mean": _mean, "var": _var, "std": _std}
"""Sums of float32 in float64: Numba's add one element after the other in float32, whose error grows with each."""

_HISTOGRAM = f"{PREFIX}histogram"


class NumbaVersion:
    """A function for `numba.njit`, written where it is first asked for.

    - `definition`: what it is written from, None where it is the function itself.
    - `helpers`: what its text names besides.
    - `is_parallel`: whether Numba may do its array expressions in parallel.
    - `requires_disjoint`: whether its results are NumPy's for arguments alone that share no memory.
    """

    def __init__(
        self,
        facts: FunctionInfo,
        definition: ast.FunctionDef | None,
        helpers: Mapping[str, Callable[..., Any]],
        *,
        is_parallel: bool,
        requires_disjoint: bool,
    ) -> None:
        self._facts, self._definition, self._helpers = facts, definition, helpers
        self.is_parallel, self.requires_disjoint = is_parallel, requires_disjoint

    def dispatcher(self, own: Any, *, is_short: bool) -> Any:
        """Dispatcher that compiles it: the function's own one, or another with the same options.

        - `is_short`: whether it is for calls of so little work that one thread does it.
        """
        options = {name: value for name, value in own.targetoptions.items() if name != "nopython"}
        was_parallel = bool(options.get("parallel"))
        is_parallel = was_parallel and self.is_parallel and not is_short
        if self._definition is None and is_parallel == was_parallel:
            return own
        function = self._facts.original if self._definition is None else self._written(self._definition)
        return numba.njit(**(options if is_parallel else {**options, "parallel": False}))(function)

    def _written(self, definition: ast.FunctionDef) -> FunctionType:
        own = self._facts.original
        made = rewritten_function(own, definition, {**self._facts.names.closure, **self._helpers})
        made.__defaults__, made.__kwdefaults__ = own.__defaults__, own.__kwdefaults__
        return made


def numba_version(facts: FunctionInfo, parameters: Mapping[str, NumberType], *, is_alike: bool) -> NumbaVersion | None:
    """The version of a function in which Numba's results are NumPy's; None if there is none.

    It is written before the function is partitioned.

    - `parameters`: the types of the parameters that are arrays or numbers.
    - `is_alike`: whether all dtypes that it has are the same for both.
    """
    nodes = list(ast.walk(facts.definition))
    updates = {each for each in nodes if isinstance(each, ast.AugAssign) and is_read_after_stores(facts, each)}
    if (
        updates_unlike_numba(facts, besides=updates)
        or any(has_effects(each.target, facts.names) for each in updates)
        or any(map(partial(_calls_racing, facts), nodes))
    ):
        return None
    sums: Mapping[ast.Call, tuple[str, ast.expr]] = {}
    if not is_alike or updates:  # Numba has no error where an array cannot hold what it is updated by
        found = numba_dtypes(facts, parameters)
        if found is None:
            return None
        sums = found
    is_parallel = facts.options.parallel and not updates and not races_by_fusion(facts)
    requires_disjoint = updates_arrays(facts) or (is_parallel and stores_rows(facts))
    histograms = [each for each in nodes if _is_histogram(facts, each)]
    made = None
    if updates or sums or histograms:
        made = copy.deepcopy(facts.definition)
        copies: dict[ast.AST, Any] = dict(zip(nodes, ast.walk(made), strict=True))
        calls = {copies[call]: (f"{PREFIX}{name}", copies[owner]) for call, (name, owner) in sums.items()}
        for each in histograms:
            copies[each].func = ast.copy_location(ast.Name(_HISTOGRAM, ast.Load()), each)
        made = _Sums(calls).visit(buffered(made, {copies[each] for each in updates}))
    helpers = {f"{PREFIX}{name}": _SUMS[name] for name, _ in sums.values()}
    helpers.update(dict.fromkeys([_HISTOGRAM] if histograms else [], compiled_histogram))
    return NumbaVersion(facts, made, helpers, is_parallel=is_parallel, requires_disjoint=requires_disjoint)


def _calls_racing(facts: FunctionInfo, node: ast.AST) -> bool:
    """Whether a call is of a function of the user's whose own parallel code may have wrong elements."""
    if not isinstance(node, ast.Call):
        return False
    value = facts.names.value(node.func)
    if not isinstance(value, CPUDispatcher) or not value.targetoptions.get("parallel"):
        return False
    found = called_function(facts, node)
    return found is None or races_by_fusion(found[0], is_called=True)


def _is_histogram(facts: FunctionInfo, node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and numpy_name(facts.names.value(node.func)) == "histogram" and has_equal_bins(node)
    )


class _Sums(ast.NodeTransformer):
    """Replaces sums by calls of `_SUMS`, for their names and arrays."""

    def __init__(self, calls: Mapping[ast.AST, tuple[str, ast.AST]]) -> None:
        self._calls = calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self._calls.get(node)
        self.generic_visit(node)
        if found is None:
            return node
        name, _ = found
        owner = node.args[0] if node.args else getattr(node.func, "value", None)
        assert isinstance(owner, ast.expr)
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [owner], []), node)
