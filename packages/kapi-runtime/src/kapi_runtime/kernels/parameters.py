"""The parameters of kernels that were compiled elsewhere: what their author says of them, and what a launch gives."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kapi_sim import DtypeError, KernelCompilationError
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.intrinsics.memory import is_kernel_dtype
from kapi_sim.language.launchables.signature_parser import parameter_type
from kapi_sim.short_repr import short_repr

__all__ = ["WORDS", "DeclaredParameter", "Parameters", "described", "parsed_parameters", "scalar_argument"]

WORDS = {"array": "a USM array", "scalar": "a number", "local": "a LocalAccessor"}
Parameters = Mapping[str, Any] | Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """One parameter: its name, what a launch gives for it, and the type of a number or an element."""

    name: str
    kind: Literal["array", "scalar", "local"]
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"{self.name}: " + {"array": f"{self.dtype}[:]", "local": f"local {self.dtype}[:]"}.get(
            self.kind, str(self.dtype)
        )


def parsed_parameters(entry: str, parameters: Parameters) -> tuple[DeclaredParameter, ...]:
    """Return the parameters of the kernel `entry` as its author gave them; KernelCompilationError if one is none."""
    if not isinstance(entry, str) or not entry:
        raise KernelCompilationError(f"entry must be the name of a kernel, got {short_repr(entry)}", code="entry-name")
    try:
        entries: Any = parameters.items() if isinstance(parameters, Mapping) else parameters
        pairs = [(name, given) for name, given in entries]
    except (TypeError, ValueError) as error:
        raise KernelCompilationError(
            f"parameters of kernel `{entry}` must be a mapping or a sequence of names and types, such as "
            f"{{'x': 'float32[:]'}}, got {short_repr(parameters)}",
            code="parameter-types",
        ) from error
    parsed: list[DeclaredParameter] = []
    for name, given in pairs:
        taken = ["item", *(each.name for each in parsed)]
        if not str(name).isidentifier() or keyword.iskeyword(name) or name in taken:
            raise KernelCompilationError(
                f"name of a parameter of kernel `{entry}` must be an identifier of its own, got {short_repr(name)}",
                code="parameter-name",
            )
        parameter = _parsed(str(name), given)
        if parameter is None:
            raise KernelCompilationError(
                f"parameter `{name}` of kernel `{entry}` must be a dtype, such as 'float32', an array 'float32[:]' or "
                f"local memory 'local float32[:]', got {short_repr(given)}",
                code="parameter-types",
            )
        parsed.append(parameter)
    return tuple(parsed)


def _parsed(name: str, given: Any) -> DeclaredParameter | None:
    """Return a parameter by its text or dtype; None for others, of which pointers have no axes but one."""
    if not isinstance(given, str):
        try:
            # Structures have no size that both sides would agree on.
            dtype = np.dtype(given) if given not in (None, []) else None
        except TypeError:
            return None
        return None if dtype is None or not is_kernel_dtype(dtype) else DeclaredParameter(name, "scalar", dtype)
    try:
        found = parameter_type(given)
    except KernelCompilationError:
        return None
    if found.dtype is None or found.ndim > 1 or found.layout != "C" or found.is_readonly or found.extents is not None:
        return None
    kinds: dict[str, Literal["array", "scalar", "local"]] = {"array": "array", "scalar": "scalar", "local": "local"}
    return DeclaredParameter(name, kinds[found.kind], found.dtype)


def scalar_argument(where: str, dtype: np.dtype[Any], value: Any) -> Any:
    """Return a number as a NumPy scalar of `dtype`; DtypeError, which says `where`, if it does not fit."""
    fits = isinstance(value, (bool, int, np.bool_)) or (
        (isinstance(value, float) and dtype.kind in "fc") or (isinstance(value, complex) and dtype.kind == "c")
    )
    if isinstance(value, np.generic):
        fits = value.dtype == dtype
    try:
        with np.errstate(over="raise"):
            if fits:
                return dtype.type(value)
    except (OverflowError, FloatingPointError):
        pass
    raise DtypeError(f"{where} must be a number that fits {dtype}, got {described(value)}", code="precompiled-argument")


def described(value: Any) -> str:
    """Name an argument in a few words, for messages."""
    if isinstance(value, ArrayFields):
        return f"a {value.dtype} array of shape {value.shape}{'' if value.layout == 'C' else ', not contiguous'}"
    return repr(value)
