"""Problems of a kernel, as messages for its author: one a line, each with its source location.

Type errors are made as problems from the start: Numba's own texts change from version to version, so they are not
reworded afterwards.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from enum import Enum
from typing import Any

from kapi_sim import AddressSpace
from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.unsupported_syntax import PARAMETERS_OF_LOCAL
from kapi_types._numba_compat import errors, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import (
    AtomicRefType,
    ConstantType,
    EnumerationType,
    EnumMemberType,
    KernelApiType,
    VecType,
)
from kapi_types.records import spell_fields
from kapi_types.weak import WeakBool, WeakComplex, WeakFloat, WeakInt, WideInt

__all__ = [
    "FORMAT_IN_TEXT",
    "CONSEQUENCE",
    "NUMBA_PREFIX",
    "KernelTypeProblem",
    "NoKernelValueError",
    "ProblemsFound",
    "describe_problems",
    "first_words",
    "problem_at",
    "spell_type",
    "without_value",
]


_ARRAY_NAMES = {AddressSpace.LOCAL: "local array", AddressSpace.PRIVATE: "private array"}

FORMAT_IN_TEXT = Finding("print-format", "an f-string in a kernel cannot have a format: give print() plain values")

CONSEQUENCE = Finding("", "")
"""The finding of a problem that only follows from another one, and is not reported."""

NUMBA_PREFIX = "Numba has no way to compile this: "
"""The prefix of a message that quotes Numba's."""

_WORDS = (
    (r"Illegal IR, del found", Finding("del-in-kernel", "kernels have no del: leave it out")),
    (
        r"use of yield in a closure|generator expression",
        Finding("generator", "kernels have no generators: write a loop"),
    ),
    (r"Multiple argument raise", Finding("raise-from", "an exception in a kernel cannot have `from`")),
    (
        r"Unsupported use of cell variable",
        Finding("local-function-order", "a local function cannot call itself, or be used before it is defined"),
    ),
    (
        r"'with \(context manager\)|with.*not supported",
        Finding("with-in-kernel", "kernels have no with statement: enter the context around the launch"),
    ),
    (
        r"\*args in function call should be a tuple",
        Finding("call-star", "an argument after * in a call must be a tuple in a kernel"),
    ),
    (r"f-strings? not supported", FORMAT_IN_TEXT),
    (r"not a valid CALL_INTRINSIC", Finding("type-in-kernel", "a kernel cannot define a type: define it outside")),
    (
        r"not a valid parameter name",
        Finding("type-parameters", "a local function in a kernel cannot have type parameters: leave them out"),
    ),
    # Numba forgets the tuple of `f(*members, name=value)` where it is used elsewhere as well.
    (
        r"Type of variable '.*' cannot be determined|^unreachable$",
        Finding("call-star", "a call with * and arguments by name must have the tuple itself after *"),
    ),
    (r"MAKE_FUNCTION with kwdefaults", PARAMETERS_OF_LOCAL),
    (r"wrong tuple length", Finding("unpacking", "the number of names must be that of the tuple's members")),
    (
        r"No definition for lowering getiter|too many values to unpack|failed to unpack ",
        Finding("unpacking", "a kernel can unpack tuples only"),
    ),
)
"""Patterns of Numba's messages, and the findings that replace them."""


def problem_at(loc: Any, code: str, text: str) -> KernelProblem:
    """A problem at a source location of Numba's, which has `filename` and `line`."""
    return KernelProblem(code, loc.filename, loc.line, text)


class KernelTypeProblem(errors.TypingError):
    """A typing error whose text is meant for the kernel's author as it stands."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.finding = Finding(code, text)


class NoKernelValueError(ValueError):
    """A value of Python's that no kernel can take; the text follows its name."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


class ProblemsFound(Exception):
    """All that is wrong with one function.

    Parameters
    ----------
    problems : iterable of KernelProblem
        At least one.
    """

    def __init__(self, problems: Iterable[KernelProblem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(problem.text for problem in self.problems))


def describe_problems(problems: Iterable[KernelProblem]) -> str:
    """The problems as text: `file:line`, the source line, and what is wrong, sorted by line."""
    paragraphs = []
    for problem in sorted(problems, key=lambda each: (each.filename, each.line)):
        source = linecache.getline(problem.filename, problem.line).strip()
        line = f"\n    {source}" if source else ""
        paragraphs.append(f"{problem}{line}")
    return "\n".join(paragraphs)


def without_value(name: str) -> Finding:
    """The problem of a variable that is read where it may have no value."""
    return Finding("variable-unset", f"variable {name!r} may be unset here: assign it on every path before")


def first_words(error: BaseException) -> Finding:
    """The finding for an error of Numba's; if it is unknown, its first words without the stage and the advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Failed in ")]
    first = (said or lines or [type(error).__name__])[0].removesuffix(". Raised from None")
    known = next((words for pattern, words in _WORDS if re.search(pattern, str(error))), None)
    return known or Finding("numba-cannot", f"{NUMBA_PREFIX}{first}")


def spell_type(type_: Any) -> str:
    """A type as the author of a kernel would call it."""
    if isinstance(type_, ArrayType):
        location = _ARRAY_NAMES.get(type_.address_space, "array")
        if not type_.mutable and type_.address_space is AddressSpace.PRIVATE:
            return f"constant {type_.dtype} array of rank {type_.ndim}"
        access = "read-only " if not type_.mutable else ""
        element = spell_fields(type_.dtype) if isinstance(type_.dtype, types.Record) else type_.dtype
        return f"{access}{element} {location} of rank {type_.ndim}"
    if isinstance(type_, types.Record):
        return spell_fields(type_)
    if hasattr(type_, "spelled"):
        return str(type_.spelled)
    if isinstance(type_, WeakBool):
        return "Python bool"
    if isinstance(type_, WeakInt):
        return "Python int"
    if isinstance(type_, WideInt):
        return "Python int of 2**63 or more"
    if isinstance(type_, WeakFloat):
        return "Python float"
    if isinstance(type_, WeakComplex):
        return "Python complex"
    if isinstance(type_, (KernelApiType, AtomicRefType)):
        return type_.owner
    if isinstance(type_, ConstantType):
        is_member = isinstance(type_.value, Enum)
        return f"{type(type_.value).__name__}.{type_.value.name}" if is_member else str(type_.value)
    if isinstance(type_, (EnumerationType, EnumMemberType)):
        return type_.enumeration.__name__
    if isinstance(type_, VecType):
        return f"Vec of {len(type_)} {spell_type(type_.dtype)}"
    if isinstance(type_, types.BaseTuple):
        return f"tuple ({', '.join(spell_type(each) for each in type_.types)})"
    if isinstance(type_, types.MakeFunctionLiteral):
        return "function"
    if isinstance(type_, types.List):
        return "list"
    if isinstance(type_, types.NoneType):
        return "None"
    if isinstance(type_, types.Module):
        return f"module {type_.pymod.__name__}"
    if isinstance(type_, types.NumberClass):
        return f"numpy.{type_.instance_type}"
    if isinstance(type_, types.DType):
        return f"dtype {spell_type(type_.dtype)}"
    if isinstance(type_, types.BoundFunction):
        return f"method {type_.typing_key}"
    if isinstance(type_, types.Function):
        return f"function {getattr(type_.typing_key, '__name__', type_.typing_key)}"
    return str(type_)
