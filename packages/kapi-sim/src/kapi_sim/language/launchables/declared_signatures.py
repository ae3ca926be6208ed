"""Signatures that kernels and device functions are declared with: types of Numba's, or texts.

Of several signatures, the first of those counts that convert least. Numba is not imported: its types are known by their
attributes and names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from types import FunctionType, NoneType
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, KernelCompilationError, KernelLaunchError
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.language.intrinsics.memory import AddressSpace, LocalAccessor, is_kernel_dtype
from kapi_sim.language.launchables.signature_parser import ParameterType, parameter_type, parameter_types
from kapi_sim.short_repr import short_repr

__all__ = [
    "Signature",
    "array_parameter",
    "best_signature",
    "declared_arguments",
    "declared_signatures",
    "described_type",
    "described_value",
    "is_signature",
    "signatures_of",
    "with_signatures",
]

_WEAK: dict[type, str] = {bool: "weak_bool", int: "weak_int", float: "weak_float", complex: "weak_complex"}
_KINDS = {"weak_bool": "biufc", "weak_int": "iufc", "weak_float": "fc", "weak_complex": "c"}
"""The kinds of dtypes that Python's numbers become without a loss."""
_ITEMS = ("item", "nd_item")


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters, and of its result.

    Attributes
    ----------
    parameters : tuple of ParameterType
        Those after the work-item, of a kernel.
    result : ParameterType or None
        Of kind ``"none"`` where nothing is returned; None where the signature does not say.
    item : ParameterType or None
        The work-item, where the signature names it.
    """

    parameters: tuple[ParameterType, ...]
    result: ParameterType | None = None
    item: ParameterType | None = None

    def __str__(self) -> str:
        parts = (self.item, *self.parameters) if self.item else self.parameters
        return f"{self.result.text if self.result else ''}({', '.join(each.text for each in parts)})"


def is_signature(given: object) -> bool:
    """Return whether a decorator is given signatures, and not a function."""
    return isinstance(given, (str, tuple, list)) or (hasattr(given, "args") and hasattr(given, "return_type"))


def declared_signatures(given: Any) -> tuple[Signature, ...]:
    """Return the signatures that a decorator is given: one, or a list.

    Parameters
    ----------
    given : str, tuple, Numba signature or list of these
        ``"item1, float32[:], int32"``, ``"float32(float32, int32)"``, ``(float32[:], int32)`` or ``float32(float32)``.

    Raises
    ------
    KernelCompilationError
        If one is none of these, or a part of it no type that kernels have.

    Examples
    --------
    >>> [str(each) for each in declared_signatures(["float32(float32, int64)", "item1, float32[:]"])]
    ['float32(float32, int64)', '(item1, float32[:])']
    """
    return tuple(map(_signature, given if isinstance(given, list) else [given]))


_OWN = "__kapi_signatures__"


def with_signatures(function: Callable[..., Any], given: Any) -> FunctionType:
    """Return a copy of a device function that has signatures.

    Raises
    ------
    KernelCompilationError
        If one is no signature.
    DtypeError
        If one has another number of types than the function has parameters, or a result that is no number.
    """
    code = function.__code__
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    update_wrapper(made, function)
    made.__kwdefaults__ = function.__kwdefaults__
    signatures = [
        replace(each, parameters=(each.item, *each.parameters) if each.item else each.parameters, item=None)
        for each in declared_signatures(given)
    ]
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for each in signatures:
        is_result = each.result is None or each.result.kind in ("scalar", "none")
        if len(each.parameters) != len(names) or not is_result:
            raise DtypeError(
                f"signature of device function `{function.__name__}` must have a type for each parameter "
                f"({', '.join(names)}), and a number or none as its result, got {each}",
                code="signature-count",
            )
    setattr(made, _OWN, tuple(signatures))
    return made


def signatures_of(function: Callable[..., Any]) -> tuple[Signature, ...]:
    """Return the signatures of a device function; none of one that takes any types."""
    found: tuple[Signature, ...] = getattr(function, _OWN, ())
    return found


def _signature(given: Any) -> Signature:
    result: Any = None
    if isinstance(given, str):
        result, parts = _parts_of_text(given.strip())
    elif isinstance(given, tuple):
        parts = tuple(map(described_type, given))
    elif hasattr(given, "args") and hasattr(given, "return_type"):
        parts, result = tuple(map(described_type, given.args)), described_type(given.return_type)
    else:
        raise _no_type(given)
    if parts and parts[0].kind in _ITEMS:
        return Signature(parts[1:], result, parts[0])
    return Signature(parts, result)


def _parts_of_text(text: str) -> tuple[ParameterType | None, tuple[ParameterType, ...]]:
    result, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")") or "," in result:
        return None, parameter_types(text)
    result = result.strip()
    return described_type(result) if result else None, parameter_types(rest[:-1])


def described_type(type_: Any) -> ParameterType:
    """Return the description of a type: a text, one of Numba's or NumPy's, or None.

    Raises
    ------
    KernelCompilationError
        If kernels have no such type.
    """
    text = "none" if type_ in (None, "void") else str(type_)
    if isinstance(type_, str) or text in ("none", *_WEAK.values()):
        return parameter_type(text)
    owner, ndim = getattr(type_, "owner", None), getattr(type_, "ndim", 0)
    if owner in ("Item", "NdItem"):
        return parameter_type(f"{'nd_' * (owner == 'NdItem')}item{ndim}")
    if hasattr(type_, "types"):
        members = tuple(map(described_type, type_.types))
        return ParameterType(f"({', '.join(each.text for each in members)})", "tuple", members=members)
    if hasattr(type_, "layout") and hasattr(type_, "dtype"):
        element = described_type(type_.dtype).dtype
        if element is not None and getattr(type_, "address_space", None) == AddressSpace.LOCAL:
            extents = type_.extents
            return ParameterType(text, "local", element, ndim, extents=extents)
        if element is not None:
            return array_parameter(element, ndim, type_.layout, not getattr(type_, "mutable", True))
    try:
        dtype = np.dtype(type_ if isinstance(type_, (type, np.dtype)) else text)
    except TypeError:
        raise _no_type(type_) from None
    if not is_kernel_dtype(dtype):
        raise _no_type(type_)
    return ParameterType(dtype.name, "scalar", dtype)


def _no_type(given: object) -> KernelCompilationError:
    return KernelCompilationError(
        "a signature must be a text such as 'item1, float32[:], int32' or 'float32(float32)', a tuple of types, or a "
        f"type called with types, got {short_repr(given)}",
        code="signature-form",
    )


def array_parameter(dtype: np.dtype[Any], ndim: int, layout: str, is_readonly: bool) -> ParameterType:
    """Return the description of an array, with its text."""
    words = {"C": "", "F": "fortran ", "A": "strided "}
    text = f"{'readonly ' * is_readonly}{words[layout]}{dtype.name}[{', '.join(':' * ndim)}]"
    return ParameterType(text, "array", dtype, ndim, layout, is_readonly)


def described_value(value: Any, array: Callable[[Any], ParameterType | None]) -> ParameterType | None:
    """Return the description of a launch's argument; None of an object that no kernel takes."""
    if isinstance(value, tuple):
        members = tuple(described_value(each, array) for each in value)
        if None in members:
            return None
        text = ", ".join(each.text for each in members if each)
        return ParameterType(f"({text})", "tuple", members=tuple(each for each in members if each))
    if isinstance(value, LocalAccessor):
        shape = tuple(value.shape)
        return ParameterType(f"local {value.dtype}{list(shape)}", "local", value.dtype, len(shape), extents=shape)
    if isinstance(value, np.generic):
        return ParameterType(value.dtype.name, "scalar", value.dtype)
    if isinstance(value, (*_WEAK, NoneType)):
        return described_type(next((name for kind, name in _WEAK.items() if isinstance(value, kind)), None))
    return array(value)


def declared_arguments(
    function: Callable[..., Any],
    signatures: Sequence[Signature],
    space: Range | NdRange,
    args: tuple[Any, ...],
    array: Callable[[Any], ParameterType | None],
) -> tuple[Any, ...]:
    """Return the arguments of a launch as the signature that fits them best has them: numbers are converted.

    Parameters
    ----------
    function : function
        The kernel.
    signatures : sequence of Signature
        Its own.
    space : Range or NdRange
        What it is launched over.
    args : tuple
        Those of the launch.
    array : callable
        Describes an argument that is an array; gives None of others.

    Raises
    ------
    KernelLaunchError
        If no signature is of this kind of index space.
    DtypeError
        If no signature takes the arguments.
    """
    defaults = function.__defaults__ or ()
    missing = function.__code__.co_argcount - 1 - len(args)
    if not 0 <= missing <= len(defaults):
        return args  # whoever binds them reports their number
    args = (*args, *defaults[len(defaults) - missing :])
    kind = f"{'item' if isinstance(space, Range) else 'nd_item'}{space.ndim}"
    suiting = [each for each in signatures if each.item is None or each.item.text == kind]
    listed = " or ".join(map(str, signatures))
    if not suiting:
        raise KernelLaunchError(
            f"index space of kernel `{function.__name__}` must suit a signature, {listed}, got {short_repr(space)}",
            code="compiled-for-other-space",
        )
    given = [described_value(value, array) for value in args]
    found = best_signature(suiting, given)
    try:
        if found is not None:
            return tuple(_converted(*each) for each in zip(found.parameters, args, strict=True))
    except (OverflowError, FloatingPointError):
        pass
    texts = ", ".join(each.text if each else type(value).__name__ for each, value in zip(given, args, strict=True))
    raise DtypeError(
        f"arguments of kernel `{function.__name__}` must be those of a signature, {listed}, got ({texts}): convert "
        "them, or leave the signatures out",
        code="compiled-for-other-arguments",
    )


def best_signature(
    signatures: Sequence[Signature], given: Sequence[ParameterType | None], is_call: bool = False
) -> Signature | None:
    """Return the first of the signatures that convert least; None if none takes these types.

    Parameters
    ----------
    signatures : sequence of Signature
        To choose from.
    given : sequence of ParameterType or None
        Types of the arguments; None stands for an unknown one.
    is_call : bool
        Whether a device function is called: then floats are also made integers.
    """
    costs = [
        [_cost(wanted, each, is_call) for wanted, each in zip(signature.parameters, given, strict=True)]
        for signature in signatures
        if len(signature.parameters) == len(given)
    ]
    sums = [(sum(each), number) for number, each in enumerate(costs)]
    least, number = min(sums, default=(np.inf, 0))
    return signatures[number] if least < np.inf else None


def _cost(wanted: ParameterType, given: ParameterType | None, is_call: bool) -> float:
    """The loss of a conversion; infinite if there is none."""
    if given is None:
        return np.inf
    if wanted.kind == "scalar" and given.kind in ("scalar", "weak"):
        return _cost_of_number(wanted, given, is_call)
    are_arrays = is_call and {wanted.kind, given.kind} <= {"array", "local"}  # wherever they are
    if wanted.kind != given.kind and not are_arrays:
        return np.inf
    if wanted.kind == "tuple":
        if len(wanted.members) != len(given.members):
            return np.inf
        return sum(_cost(*each, is_call) for each in zip(wanted.members, given.members, strict=True))
    if wanted.kind == "weak":
        return 0 if wanted.text == given.text else np.inf
    is_same = (wanted.dtype, wanted.ndim) == (given.dtype, given.ndim)
    if wanted.kind == "local":
        return 0 if is_same and (is_call or wanted.extents in (None, given.extents)) else np.inf
    is_laid_out = wanted.layout == given.layout or "A" == wanted.layout or (wanted.ndim < 2 and given.layout != "A")
    if not is_same or not is_laid_out or (given.is_readonly and not wanted.is_readonly):
        return np.inf if wanted.kind == "array" else 0
    return 0 if wanted.layout == given.layout else 1


def _cost_of_number(wanted: ParameterType, given: ParameterType, is_call: bool) -> float:
    assert wanted.dtype is not None
    if given.kind == "weak":
        is_kept = wanted.dtype.kind in _KINDS[given.text]
    elif given.dtype == wanted.dtype:
        return 0
    else:
        assert given.dtype is not None
        if np.can_cast(given.dtype, wanted.dtype, "safe"):
            return 1
        is_kept = np.can_cast(given.dtype, wanted.dtype, "same_kind")
    is_real = given.text != "weak_complex" and (given.dtype is None or given.dtype.kind != "c")
    return 2 if is_kept else 3 if is_call and (is_real or wanted.dtype.kind == "c") else np.inf


def _converted(wanted: ParameterType, value: Any) -> Any:
    if wanted.kind == "tuple":
        parts = [_converted(*each) for each in zip(wanted.members, value, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if wanted.kind != "scalar" or wanted.dtype is None:
        return value
    if wanted.dtype.kind in "iu":
        limits = np.iinfo(wanted.dtype.name)
        if not limits.min <= value <= limits.max:
            raise OverflowError
    with np.errstate(over="raise"):
        return wanted.dtype.type(value)
