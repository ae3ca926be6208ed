"""Unification: the one type of a variable to which control-flow paths assign values of different types."""

from __future__ import annotations

from collections.abc import Callable

from kapi_types._numba_compat import types
from kapi_types.kernel_api import VecType
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.tuples import tuple_like
from kapi_types.records import RecordRefType

__all__ = ["Unifier", "unify_types"]

Unifier = Callable[[types.Type, types.Type], "types.Type | None"]
"""Gives the one type of two, or None."""


def unify_types(first: types.Type, second: types.Type, unify_numbers: Unifier, unify_others: Unifier) -> types.Type:
    """The one type of a variable assigned values of both types.

    - `unify_numbers`: the rule of scalars.
    - `unify_others`: Numba's rule, for what is neither scalar nor tuple.

    Raises `KernelTypeProblem` if there is none.
    """
    unified = _unified(first, second, unify_numbers, unify_others)
    if unified is None:
        raise KernelTypeProblem(
            "variable-types",
            f"a variable must have one type throughout a kernel, got {spell_type(first)} and {spell_type(second)}"
            + _copy_hint(first, second),
        )
    return unified


def _unified(first: types.Type, second: types.Type, unify_numbers: Unifier, unify_others: Unifier) -> types.Type | None:
    if first == second:
        return first
    if is_scalar(first) and is_scalar(second):
        return unify_numbers(first, second)
    if isinstance(first, types.BaseTuple) and isinstance(second, types.BaseTuple):
        if len(first) != len(second) or isinstance(first, VecType) != isinstance(second, VecType):
            return None
        pairs = [_unified(a, b, unify_numbers, unify_others) for a, b in zip(first.types, second.types, strict=True)]
        if None in pairs:
            return None
        are_alike = getattr(first, "instance_class", None) is getattr(second, "instance_class", None)
        return tuple_like(first, tuple(pairs)) if are_alike else types.Tuple(tuple(pairs))
    unified = unify_others(first, second)
    return None if isinstance(unified, types.Optional) else unified


def _copy_hint(*given: types.Type) -> str:
    """The remedy where an element of an array of records joins a record's value."""
    is_both = any(isinstance(each, RecordRefType) for each in given) and any(
        isinstance(each, types.Record) for each in given
    )
    return ", an array's element and a value: `a[i].copy()` makes a value of an element" if is_both else ""
