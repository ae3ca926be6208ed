"""Inference of the types of a region's statements, from those of its operands; shapes do not matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.operations import IN_PLACE
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.expression import Apply, Node, apply, apply_as_numba, evaluate
from kapi_numba_offload.elements.operands import Unfused, number_key, require_held, type_of
from kapi_numba_offload.elements.statements import Statement, check_array_integers
from kapi_numba_offload.libraries.arrays import is_device_array, kind_of
from kapi_numba_offload.run.bounded_cache import BoundedCache

__all__ = ["InferredTypes", "TypeInference", "by_library"]


@dataclass(frozen=True, slots=True, eq=False)
class InferredTypes:
    """Types of statements for operands of some types; numbers have values. Equal is the same object alone.

    - `values`: the type or number of each node.
    - `results`: that of each statement, or of what it is stored to.
    """

    values: dict[Node, Any]
    results: list[Any]


class TypeInference:
    """The types of a region's statements, for operands as they come.

    - `numba_types`: whether operations have the types that Numba gives them for NumPy arrays; else dpnp's.
    - `operation`: an operation for its name and operands, with those types.
    """

    def __init__(self, statements: Sequence[Statement], *, numba_types: bool) -> None:
        self._statements = statements
        self.operation: Callable[[str, Sequence[Any]], Any] = apply_as_numba if numba_types else apply
        self._numba_types = numba_types
        self._known: BoundedCache[tuple[Any, ...], InferredTypes] = BoundedCache(64)

    def of(self, leaves: Sequence[Any], queue: Any) -> InferredTypes:
        """Types for operands, whose types decide, and which types hold a Python integer.

        Raises `OverflowError` where the only statement has one of Python's integers that a type does not hold;
        `Unfused` where dpnp refuses. It refuses with its own words when the statement is run by dpnp.
        """
        key = (
            queue,
            *((each.ndim, each.dtype, kind_of(each)) if is_device_array(each) else number_key(each) for each in leaves),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._infer(leaves)
        return found

    def _infer(self, leaves: Sequence[Any]) -> InferredTypes:
        operands = [type_of(leaf) for leaf in leaves]
        values: dict[Node, Any] = {}
        results: list[Any] = []
        try:
            for statement in self._statements:
                result = evaluate(statement.node, operands, results, values, self.operation)
                if statement.in_place is not None:
                    result = _in_place(statement, operands, values)
                elif statement.target is not None:
                    result = _as_stored(result, operands[statement.target])
                results.append(result)
        except Exception as error:
            if isinstance(error, OverflowError) and len(self._statements) == 1:
                raise
            raise Unfused(str(error)) from error
        for statement in self._statements if not self._numba_types else ():
            check_array_integers(statement, values)
        return InferredTypes(values, results)


def by_library(
    statement: Statement,
    leaves: Sequence[Any],
    earlier: Sequence[Any],
    operation: Callable[[str, Sequence[Any]], Any] = apply,
) -> Any:
    """Run a statement by the array library's own operations: its value, or the array that it is stored to."""
    if statement.in_place is not None:
        assert isinstance(statement.node, Apply)
        assert statement.target is not None
        target = leaves[statement.target]
        if isinstance(target, (int, float, complex, np.generic)):  # a number is no memory: it gets another value
            return evaluate(statement.node, leaves, earlier, operation=operation)
        operand = evaluate(statement.node.operands[1], leaves, earlier, operation=operation)
        return IN_PLACE[statement.in_place](target, operand)
    value = evaluate(statement.node, leaves, earlier, operation=operation)
    if statement.target is None:
        return value
    leaves[statement.target][...] = value
    return leaves[statement.target]


def _in_place(statement: Statement, operands: Sequence[Any], values: dict[Node, Any]) -> ArrayType:
    """The type of the array that a statement updates in place.

    Raises `TypeError` if the library refuses to do it in place.
    """
    assert isinstance(statement.node, Apply)
    assert statement.in_place is not None
    assert statement.target is not None
    target: ArrayType = operands[statement.target]
    target.rules.require_in_place(statement.in_place, target, values[statement.node.operands[1]])
    return target


def _as_stored(value: Any, target: ArrayType) -> ArrayType:
    """The type of a statement's stored value: that of an array, also where it is a number.

    Raises `OverflowError` if the value is one of Python's integers that the target's type does not hold, as NumPy has
    it; `Unfused` if the value's type is of another kind than the target's.
    """
    require_held(value, target.dtype)
    if isinstance(value, ArrayType):
        return value
    dtype = value.dtype if isinstance(value, np.generic) else np.result_type(value)
    is_fit = dtype == target.dtype or np.can_cast(dtype, target.dtype, "same_kind")
    if not is_fit:
        raise Unfused("it stores a number of another kind")
    return target
