"""Signatures that a kernel or device function is declared with, and the arguments of launches that they convert."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, as_host_array, is_hint
from kapi_sim.numba_cuda.static_types.conversions import best_overloads
from kapi_sim.numba_cuda.static_types.kinds import (
    UNKNOWN,
    Array,
    Declared,
    Kind,
    Nothing,
    Number,
    Optional,
    Record,
    Signature,
    SignatureError,
    Tuple,
)
from kapi_sim.numba_cuda.static_types.type_spellings import kind_of_type, of_text
from kapi_sim.numba_cuda.static_types.types_of_values import array_kind, kind_of_value
from kapi_sim.numba_cuda.values.dtypes import conversion_of
from kapi_sim.short_repr import short_repr

__all__ = ["argument_kind", "declared_signature", "is_signature", "prepared_arguments", "to_number"]


def is_signature(given: object) -> bool:
    """Return whether a decorator was given a signature, and not a function or a list of signatures."""
    return isinstance(given, (str, tuple)) or (hasattr(given, "args") and hasattr(given, "return_type"))


def declared_signature(given: Any) -> Declared:
    """Return what a program means by a signature.

    Parameters
    ----------
    given : str, tuple or signature
        ``"void(float32[:], int32)"``, ``"(float32[:], int32)"``, ``(float32[:], int32)`` or
        ``void(float32[:], int32)``.

    Raises
    ------
    SignatureError
        If it is none of these.
    """
    made = of_text(given) if isinstance(given, str) else given
    if isinstance(made, tuple):
        return Declared(tuple(map(kind_of_type, made)))
    if isinstance(made, Kind) or not hasattr(made, "args") or not hasattr(made, "return_type"):
        hint = f"write 'void({given})'" if isinstance(made, Kind) else "write 'void(float32[:], int32)'"
        raise SignatureError(
            f"a signature must be a text, a tuple of types or a type called with types, got {short_repr(given)}: "
            f"{hint}",
            code="signature-form",
        )
    result = made.return_type if isinstance(made, Signature) else kind_of_type(made.return_type)
    return Declared(tuple(map(kind_of_type, made.args)), result)


def argument_kind(value: Any) -> Kind | None:
    """Return the type of a launch's argument; `None` if numba.cuda has no type for it."""
    if is_hint(value):
        return argument_kind(value.value)
    host = as_host_array(value)
    if isinstance(host, np.ndarray) and host is not value:
        # Memory of the device can always be written to.
        kind = array_kind(host)
        return Array(kind.dtype, kind.ndim, kind.layout)
    if isinstance(value, tuple):
        members = tuple(map(argument_kind, value))
        made_by = type(value) if hasattr(value, "_fields") else None
        return None if None in members else Tuple(tuple(each for each in members if each is not None), made_by)
    return kind_of_value(host)


def prepared_arguments(
    name: str, parameters: Sequence[str], declared: Sequence[Declared], is_list: bool, args: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Kind, ...]]:
    """Return a launch's arguments as the signatures of the kernel have them, and the types that it is compiled for.

    Parameters
    ----------
    name : str
        The kernel's.
    parameters : sequence of str
        Names of its parameters.
    declared : sequence of Declared
        Its signatures; there may be none.
    is_list : bool
        Whether the best of several signatures is taken, as Numba does for a list of one as well.
    args : tuple
        One for each parameter.

    Raises
    ------
    ArgumentKindError
        If no signature, or more than one, takes the arguments best, or one is not of its type.
    """
    if not declared or (not is_list and len(args) != len(declared[0].parameters)):
        # Whoever binds them reports their number.
        return args, tuple(argument_kind(value) or UNKNOWN for value in args)
    chosen = _chosen(name, declared, args) if is_list else declared[0]
    with np.errstate(all="ignore"):
        prepared = tuple(
            _prepared(f"argument `{each}` of kernel `{name}`", kind, value)
            for each, kind, value in zip(parameters, chosen.parameters, args, strict=False)
        )
    return prepared, chosen.parameters


class ArgumentKindError(DtypeError):
    """An argument is not of the type that a signature says."""


def _chosen(name: str, declared: Sequence[Declared], args: tuple[Any, ...]) -> Declared:
    kinds = [argument_kind(value) for value in args]
    given = ", ".join("an object" if each is None else str(each) for each in kinds)
    found = [] if None in kinds else best_overloads([k for k in kinds if k], [each.parameters for each in declared])
    if len(found) == 1:
        return declared[found[0]]
    which = [declared[number] for number in found] or declared
    listed = " and ".join(map(str, which))
    problem = f"one signature that fits best, got {listed} alike" if found else f"those of a signature, {listed}"
    raise ArgumentKindError(
        f"arguments of kernel `{name}` must have {problem} for ({given}): convert them, or add a signature",
        code="compiled-for-other-arguments",
    )


def _prepared(subject: str, wanted: Kind, value: Any) -> Any:
    """Return an argument as a GPU's kernel gets it."""
    match wanted:
        case Array():
            return _as_declared(subject, wanted, value)
        case Number():
            return _number(subject, wanted, value)
        case Tuple():
            if isinstance(value, tuple) and len(value) == len(wanted.members):
                parts = [
                    _prepared(f"member {i} of {subject}", kind, part)
                    for i, (kind, part) in enumerate(zip(wanted.members, value, strict=True))
                ]
                return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        case Record():
            if isinstance(value, np.void) and value.dtype == wanted.dtype:
                return value
        case Optional() | Nothing():
            raise ArgumentKindError(
                f"{subject} must not be declared as {wanted}: numba.cuda passes no None to a kernel",
                code="argument-type",
            )
        case _:
            return value
    _fail(subject, wanted, value, "pass a value of that type")


def _fail(subject: str, wanted: Kind, value: Any, hint: str) -> Any:
    kind = argument_kind(value)
    given = f"{short_repr(value)} of type {type(value).__name__}" if kind is None else str(kind)
    raise ArgumentKindError(
        f"{subject} must be {wanted}, as its signature says, got {given}: {hint}", code="compiled-for-other-arguments"
    )


def _as_declared(subject: str, wanted: Array, value: Any) -> Any:
    """Return an array whose memory the kernel may read as declared."""
    host = as_host_array(value)
    if not isinstance(host, np.ndarray):
        return _fail(subject, wanted, value, "pass an array")
    is_laid_out = wanted.layout == "A" or host.flags["C_CONTIGUOUS" if wanted.layout == "C" else "F_CONTIGUOUS"]
    if host.dtype == wanted.dtype and host.ndim == wanted.ndim and is_laid_out:
        return value
    if host.dtype != wanted.dtype:
        hint = f"convert it with astype(np.{wanted.dtype}), or leave the signature out"
    elif host.ndim != wanted.ndim:
        hint = "reshape it, or leave the signature out"
    else:
        element = Array(wanted.dtype, wanted.ndim)
        hint = f"declare {element}, or pass np.{'ascontiguousarray' if wanted.layout == 'C' else 'asfortranarray'}(...)"
    return _fail(subject, wanted, value, hint)


def _number(subject: str, wanted: Number, value: Any) -> Any:
    """Return a number as the host packs it: integers wrap, and no fraction is cut off."""
    try:
        if isinstance(value, (DeviceArray, np.ndarray, str, bytes)):
            raise TypeError
        match wanted.category:
            case "bool":
                return bool(int(value))
            case "int":
                return to_number(wanted, operator.index(value))
            case "float":
                return to_number(wanted, float(value))
        return to_number(wanted, complex(value))
    except (TypeError, ValueError):
        is_fraction = wanted.category == "int" and isinstance(value, (float, np.floating))
        return _fail(
            subject, wanted, value, "convert it with int(...)" if is_fraction else "pass a number of that type"
        )


def to_number(kind: Number, value: Any) -> Any:
    """Return a number as one of a declared type: it wraps, is cut or is rounded as C's conversions do."""
    assert kind.dtype is not None
    if kind.category == "bool":
        return bool(value)
    convert: Callable[[Any], Any] = conversion_of(kind) or kind.dtype.type
    return convert(value)
