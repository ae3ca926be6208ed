"""Types of a kernel's parameters as text, such as ``"item1, float32, float32[:]"``: the one parser of such texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.intrinsics.index_space import MAX_DIMENSIONS
from kapi_sim.language.intrinsics.memory import MAX_RANK, is_kernel_dtype
from kapi_sim.short_repr import short_repr

__all__ = ["ParameterType", "parameter_type", "parameter_types"]

Kind = Literal["item", "nd_item", "scalar", "weak", "array", "local", "tuple", "none"]

_ITEM = re.compile(r"(nd_)?item([0-9]+)")
_WEAK = ("weak_bool", "weak_int", "weak_float", "weak_complex")
_AMBIGUOUS = {"int": "int64", "float": "float64", "complex": "complex128"}
_WITH_WIDTH = ("half", "single", "double")
_LAYOUTS = {"": "C", "strided": "A", "fortran": "F"}
_FORMS = (
    "write item1 or nd_item1 for the work-item, a dtype such as float32 for a number, float32[:, :] for an array, "
    "local float32[16] for local memory"
)


@dataclass(frozen=True, slots=True)
class ParameterType:
    """The type of one parameter.

    Attributes
    ----------
    text : str
        As it was given.
    kind : str
        ``"item"``, ``"nd_item"``, ``"scalar"``, ``"weak"`` for Python's own numbers, ``"array"``, ``"local"``,
        ``"tuple"``, or ``"none"`` for None.
    dtype : numpy.dtype or None
        Of a number, or of an element.
    ndim : int
        Axes of an array, or dimensions of the index space.
    layout : str
        ``"C"``, ``"F"``, or ``"A"`` for an array with strides.
    is_readonly : bool
        Whether the kernel may not write to the array.
    extents : tuple of int or None
        Shape of local memory, where it is given.
    members : tuple of ParameterType
        Of a tuple.
    """

    text: str
    kind: Kind
    dtype: np.dtype[np.generic] | None = None
    ndim: int = 0
    layout: str = "C"
    is_readonly: bool = False
    extents: tuple[int, ...] | None = None
    members: tuple[ParameterType, ...] = ()


def parameter_types(signature: str) -> tuple[ParameterType, ...]:
    """Return the types that a text lists, with commas between.

    Parameters
    ----------
    signature : str
        ``item1`` to ``item3``, ``nd_item1`` to ``nd_item3``; a dtype, ``float32``; one of Python's own numbers,
        ``weak_int``; an array, ``float32[:, :]``, with ``strided``, ``fortran`` or ``readonly`` before it; local
        memory, ``local float32[16, 16]``; a tuple of these, ``(int64, float32[:])``; ``none``.  Without a word before
        them, arrays are C-contiguous.

    Raises
    ------
    KernelCompilationError
        If a part is none of these.

    Examples
    --------
    >>> [each.kind for each in parameter_types("item1, float32, float32[:], local int32[4, 4]")]
    ['item', 'scalar', 'array', 'local']
    >>> parameter_types("item1, int")
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelCompilationError: type of parameter 2 must be one that kernels have, got 'int': write int64, \
or weak_int for a number of Python's own [signature-text]
    """
    return tuple(
        parameter_type(part, f"type of parameter {position}") for position, part in enumerate(_parts(signature), 1)
    )


def parameter_type(text: str, subject: str = "type of a parameter") -> ParameterType:
    """Return the type that a text names.

    Parameters
    ----------
    text : str
        As `parameter_types` takes it, of one parameter.
    subject : str
        What to call it in the error.

    Raises
    ------
    KernelCompilationError
        If it is none.
    """
    text = text.strip()
    item = _ITEM.fullmatch(text)
    if item and 1 <= int(item[2]) <= MAX_DIMENSIONS:
        return ParameterType(text, "nd_item" if item[1] else "item", ndim=int(item[2]))
    if text in _WEAK:
        return ParameterType(text, "weak")
    if text in ("none", "void"):
        return ParameterType("none", "none")
    if text.startswith("(") and text.endswith(")"):
        members = tuple(parameter_type(part, f"member of {subject}") for part in _parts(text[1:-1]))
        if all(each.kind in ("scalar", "weak", "array", "tuple") for each in members):
            return ParameterType(text, "tuple", members=members)
    name, bracket, axes = text.partition("[")
    found = _memory(text, name.split(), axes) if bracket else _number(text)
    if found is None:
        hint = _FORMS
        if text in _AMBIGUOUS:
            hint = f"write {_AMBIGUOUS[text]}, or weak_{text} for a number of Python's own"
        raise KernelCompilationError(
            f"{subject} must be one that kernels have, got {short_repr(text)}: {hint}", code="signature-text"
        )
    return found


def _parts(text: str) -> list[str]:
    """Return what stands between the commas of a text that are not in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts if len(parts) > 1 and parts[-1].strip() else [part for part in parts if part.strip()]


def _dtype(text: str) -> np.dtype[np.generic] | None:
    try:
        dtype = np.dtype(text)
    except TypeError:
        return None
    # Other names of NumPy's, such as int and long, have another width on another system, or in another language.
    has_width = text == dtype.name or text in _WITH_WIDTH or re.fullmatch("[biufc][0-9]+", text)
    return dtype if has_width and is_kernel_dtype(dtype) else None


def _number(text: str) -> ParameterType | None:
    dtype = _dtype(text)
    return None if dtype is None else ParameterType(text, "scalar", dtype)


def _memory(text: str, words: list[str], rest: str) -> ParameterType | None:
    """Return an array or local memory: words, the last of them a dtype, and what follows the bracket."""
    *before, name = words or [""]
    dtype = _dtype(name)
    axes = [axis.strip() for axis in rest[:-1].split(",")] if rest.endswith("]") else []
    if dtype is None or not 1 <= len(axes) <= MAX_RANK:
        return None
    is_readonly = "readonly" in before
    kinds = [word for word in before if word != "readonly"]
    if kinds == ["local"] and not is_readonly:
        extents = tuple(int(axis) for axis in axes if axis.isdecimal() and int(axis) > 0)
        if len(extents) == len(axes):
            return ParameterType(text, "local", dtype, len(axes), extents=extents)
        return ParameterType(text, "local", dtype, len(axes)) if set(axes) == {":"} else None
    layout = _LAYOUTS.get(" ".join(kinds))
    if not kinds and "::1" in axes:  # as Numba spells a contiguous array
        layout = "C" if axes[-1] == "::1" else "F"
        axes[-1 if layout == "C" else 0] = ":"
    if layout is None or before.count("readonly") > 1 or set(axes) != {":"}:
        return None
    return ParameterType(text, "array", dtype, len(axes), layout, is_readonly)
