"""Device functions that are declared with signatures: what they are given and what they return converts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.memory.declared_types import ENTER, convert_around
from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.inference.call_graph import taken_by
from kapi_sim.numba_cuda.launches.launch_signatures import to_number
from kapi_sim.numba_cuda.static_types.conversions import best_overloads, grade_of
from kapi_sim.numba_cuda.static_types.kinds import (
    EITHER,
    UNKNOWN,
    Array,
    Declared,
    Kind,
    Nothing,
    Number,
    Optional,
    Record,
    Tuple,
)
from kapi_sim.numba_cuda.static_types.types_of_values import array_kind, kind_of_value
from kapi_sim.numba_cuda.values.dtypes import Narrow
from kapi_sim.numba_cuda.values.views import Record as RecordView

__all__ = ["converting", "declare_types", "with_declared_types"]

_DECLARED: WeakKeyDictionary[Callable[..., Any], tuple[Declared, ...]] = WeakKeyDictionary()
_INT32 = Number(np.dtype(np.int32))


def declare_types(function: Callable[..., Any], declared: Sequence[Declared]) -> None:
    """Keep the signatures of a device function, for when a kernel that calls it is rewritten."""
    if declared:
        _DECLARED[function] = tuple(declared)


def with_declared_types(tree: ast.FunctionDef, function: FunctionType) -> dict[str, Any]:
    """Let a device function convert, as its signatures say, what it is given and what it returns.

    Parameters
    ----------
    tree : ast.FunctionDef
        Its source, changed in place.
    function : function
        Of which it is the source.

    Returns
    -------
    dict of str to object
        What the new names in the source stand for.
    """
    declared = _DECLARED.get(function)
    if declared is None or tree.args.vararg is not None or tree.args.kwarg is not None:
        return {}
    convert_around(tree)
    return {ENTER: partial(_entered, function.__name__, declared)}


def converting(function: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """Return what converts as the signatures of a function say, and calls `made`; that itself, if there are none.

    Parameters
    ----------
    function : function
        The device function, whose source is not followed.
    made : callable
        What a kernel calls in its place.
    """
    declared = _DECLARED.get(function)
    if declared is None:
        return made

    def called(*args: Any, **named: Any) -> Any:
        bound = signature(function).bind(*args, **named)
        bound.apply_defaults()
        convert, *given = _entered(function.__name__, declared, *bound.args)
        return convert(made(*given))

    return called


def _entered(name: str, declared: Sequence[Declared], *args: Any) -> tuple[Any, ...]:
    """Return what converts the function's result, and the arguments as the best signature has them."""
    candidates: Sequence[Declared] = declared
    if len(declared) > 1:
        numbers = taken_by(sys._getframe(2))
        candidates = [declared[number] for number in sorted(numbers)] if numbers else declared
    if len(candidates) == 1 < len(declared):
        return _as_declared(name, candidates[0], args)
    # Of what the source does not tell, the values do.
    found = best_overloads([_kind(value) for value in args], [each.parameters for each in candidates])
    if not found:
        given = ", ".join(str(_kind(value)) for value in args)
        raise KernelCompilationError(
            f"arguments of device function `{name}` must be those of a signature, {' or '.join(map(str, declared))}, "
            f"got ({given}): convert them, or leave the signature out",
            code="call-arguments",
        )
    return _as_declared(name, candidates[found[0]], args)  # a tie is decided by the order of the signatures


def _as_declared(name: str, chosen: Declared, args: tuple[Any, ...]) -> tuple[Any, ...]:
    values = [_as_kind(kind, value) for kind, value in zip(chosen.parameters, args, strict=True)]
    return (partial(_left, name, chosen.result), *values)


def _left(name: str, wanted: Kind | None, value: Any) -> Any:
    """Return the result of a function as one of its declared type."""
    if wanted is None or value.__class__ is Undefined:
        return value
    kind = _kind(value)
    if grade_of(kind, wanted) is None:
        given, hint = str(kind), "convert it"
        if isinstance(kind, Nothing):
            given, hint = "no value", "return one on every path"
        elif isinstance(wanted, Nothing):
            hint = "declare the type of the result"
        raise KernelCompilationError(
            f"result of device function `{name}` must be {wanted}, as its signature says, got {given}: {hint}",
            code="return-types",
        )
    return _as_kind(wanted, value)


def _kind(value: Any) -> Kind:
    """Return the type of a value in a kernel."""
    if isinstance(value, View):
        kind = array_kind(value.array)
        flags = value.array.flags
        is_both = flags.c_contiguous and flags.f_contiguous
        return Array(kind.dtype, kind.ndim, EITHER if is_both else kind.layout, kind.is_readonly)
    if isinstance(value, Narrow):
        return _INT32
    if isinstance(value, RecordView):
        return Record(value.record_dtype)
    if isinstance(value, tuple):
        return Tuple(tuple(map(_kind, value)), type(value) if hasattr(value, "_fields") else None)
    return kind_of_value(value) or UNKNOWN


def _as_kind(wanted: Kind, value: Any) -> Any:
    if value is None or value.__class__ is Undefined:
        return value
    match wanted:
        case Number():
            return to_number(wanted, value)
        case Optional():
            return _as_kind(wanted.of, value)
        case Tuple():
            parts = [_as_kind(kind, part) for kind, part in zip(wanted.members, value, strict=True)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
