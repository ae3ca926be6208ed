"""Types of what only the source of a kernel has: functions, modules, types, iterators, and variables that conflict."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.static_types.kinds import (
    ANY_LAYOUT,
    UNKNOWN,
    Array,
    Kind,
    Nothing,
    Number,
    Optional,
    Text,
    Tuple,
    Unknown,
    may_be_one,
    without_literal,
)

__all__ = [
    "BOOL",
    "FLOAT",
    "INT",
    "INT64",
    "Conflict",
    "Dim3",
    "DtypeOf",
    "Enumeration",
    "Iterable",
    "ListOf",
    "LocalFunction",
    "Member",
    "Method",
    "Module",
    "Named",
    "Slice",
    "TypeOf",
    "element_of",
    "is_known",
    "joined",
]

INT = Number(None, None, "int")
FLOAT = Number(None, None, "float")
INT64 = Number(np.dtype(np.int64))
BOOL = Number(np.dtype(bool))


@dataclass(frozen=True, slots=True)
class Conflict(Kind):
    """The type of a variable to which control-flow paths gave types without a common one.

    Attributes
    ----------
    one, other : Kind
        Its types.
    """

    one: Kind
    other: Kind

    def __str__(self) -> str:
        return f"{self.one} on one path and {self.other} on another"


@dataclass(frozen=True, slots=True, eq=False)
class Named(Kind):
    """An object from outside that is called, or has attributes: a function, a word of numba.cuda's."""

    value: Any
    name: str = field(default="")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __str__(self) -> str:
        return f"the function {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Module(Named):
    """A module."""

    def __str__(self) -> str:
        return f"the module {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Enumeration(Named):
    """A class of enumerations, of which kernels know the members."""

    def __str__(self) -> str:
        return f"the class {self.name}"


@dataclass(frozen=True, slots=True)
class Member(Kind):
    """A member of an enumeration."""

    made_by: type[Any]
    value: Kind

    def __str__(self) -> str:
        return f"a member of {self.made_by.__name__}"


@dataclass(frozen=True, slots=True)
class TypeOf(Kind):
    """A type that is used as a value: called, or given for the elements of an array.

    Attributes
    ----------
    kind : Kind
        The type.
    is_python_type : bool
        Whether it is ``int``, ``float`` or the like, which no array has.
    """

    kind: Kind
    is_python_type: bool = False

    def __str__(self) -> str:
        return f"the type {self.kind}"


@dataclass(frozen=True, slots=True)
class DtypeOf(Kind):
    """A dtype."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"the dtype {self.dtype}"


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction(Kind):
    """A function that is defined in the kernel."""

    node: ast.FunctionDef | ast.Lambda

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalFunction) and self.node is other.node

    def __hash__(self) -> int:
        return id(self.node)

    def __str__(self) -> str:
        return "a local function"


@dataclass(frozen=True, slots=True)
class Iterable(Kind):
    """A range, ``enumerate(...)`` or the like."""

    element: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.name}(...)"


@dataclass(frozen=True, slots=True)
class ListOf(Kind):
    """A list, which the compiler knows as the tuple of a loop only."""

    members: tuple[Kind, ...]

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True, slots=True)
class Dim3(Kind):
    """``cuda.threadIdx`` and its kin."""

    def __str__(self) -> str:
        return "three indices"


@dataclass(frozen=True, slots=True)
class Method(Kind):
    """A method of an array that gives the same memory as another array."""

    owner: Array
    name: str

    def __str__(self) -> str:
        return f"the method {self.name}"

    def result(self) -> Array:
        """Return the type of what a call gives."""
        dtype = None if self.name == "view" else self.owner.dtype
        ndim = {"ravel": 1, "reshape": None}.get(self.name, self.owner.ndim)
        return Array(dtype, ndim, ANY_LAYOUT, self.owner.is_readonly, True)


@dataclass(frozen=True, slots=True)
class Slice(Kind):
    """A slice."""

    def __str__(self) -> str:
        return "a slice"


def joined(one: Kind, other: Kind) -> Kind:
    """Return the type of a variable that is of one type on a path, and of another on another path."""
    if one == other:
        return one
    match one, other:
        case Conflict(), _:
            return one
        case _, Conflict():
            return other
        case (Unknown(), _) | (_, Unknown()):
            return UNKNOWN
        case Number(), Number():
            return _number(one, other)
        case Text(), Text():
            return Text()
        case Nothing(), _:
            return _optional(one, other, other)
        case _, Nothing():
            return _optional(one, other, one)
        case Optional(), _:
            return _optional(one, other, joined(one.of, other.of if isinstance(other, Optional) else other))
        case _, Optional():
            return _optional(one, other, joined(one, other.of))
        case Array(), Array():
            if may_be_one(_laid_out(one), _laid_out(other)):
                layout = one.layout if one.layout == other.layout else "A"
                layout = ANY_LAYOUT if ANY_LAYOUT in (one.layout, other.layout) else layout
                known = one if one.dtype is not None and one.ndim is not None else other
                is_readonly = one.is_readonly or other.is_readonly
                return Array(known.dtype, known.ndim, layout, is_readonly, one.is_made or other.is_made)
        case Tuple(), Tuple():
            if len(one.members) == len(other.members) and one.made_by is other.made_by:
                members = tuple(map(joined, one.members, other.members))
                if not any(isinstance(each, Conflict) for each in members):
                    return Tuple(members, one.made_by)
        case Iterable(), Iterable():
            return UNKNOWN
    return Conflict(one, other)


def is_known(kind: Kind) -> bool:
    """Return whether all of a type is known."""
    match kind:
        case Number():
            return kind.dtype is not None
        case Array():
            return kind.dtype is not None and kind.ndim is not None and kind.layout != ANY_LAYOUT
        case Tuple():
            return all(map(is_known, kind.members))
        case Optional():
            return is_known(kind.of)
    return not isinstance(kind, Unknown)


def _number(one: Number, other: Number) -> Number:
    if one.dtype is not None and other.dtype is not None:
        return Number(np.promote_types(one.dtype, other.dtype))
    return Number(None, None, one.category if one.category == other.category else "")


def _optional(one: Kind, other: Kind, value: Kind) -> Kind:
    return Conflict(one, other) if isinstance(value, Conflict) else Optional(without_literal(value))


def _laid_out(array: Array) -> Array:
    return Array(array.dtype, array.ndim, ANY_LAYOUT)


def element_of(kind: Kind) -> Kind | None:
    """Return the type of what a loop over a value gives; `None` if there is no such loop."""
    match kind:
        case Unknown():
            return UNKNOWN
        case Iterable():
            return kind.element
        case Array():
            if kind.ndim is None or kind.dtype is None:
                return UNKNOWN
            if kind.ndim > 1:
                return Array(kind.dtype, kind.ndim - 1, ANY_LAYOUT, kind.is_readonly, True)
            return Number(kind.dtype) if kind.dtype.kind in "biufc" else UNKNOWN
        case Tuple() | ListOf():
            members = kind.members
            if not members:
                return UNKNOWN
            if not all(may_be_one(members[0], each) for each in members):
                return None
            element = without_literal(members[0])
            for each in members[1:]:
                element = joined(element, without_literal(each))
            return UNKNOWN if isinstance(element, Conflict) else element
        case Number() | Nothing() | Dim3() | Named():
            return None
    return UNKNOWN
