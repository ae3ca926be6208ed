"""The static types that numba.cuda gives to values: immutable, compared by value, spelled as Numba spells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.numba_cuda.values.dtypes import StaticType, conversion_of, is_numba_type

__all__ = [
    "ANY_LAYOUT",
    "EITHER",
    "NOTHING",
    "UNKNOWN",
    "Array",
    "Declared",
    "Kind",
    "Nothing",
    "Number",
    "Optional",
    "Other",
    "Pointer",
    "Record",
    "Signature",
    "SignatureError",
    "Text",
    "Tuple",
    "Unknown",
    "array_of",
    "may_be_one",
    "without_literal",
]


class SignatureError(KernelCompilationError, TypeError):
    """A signature, or a type in one, is none."""


@dataclass(frozen=True, slots=True)
class Kind(StaticType):
    """A static type.

    As Numba's types do, it makes a signature of the types that it is called with, and an array's type of slices.
    """

    def __call__(self, *parameters: Any) -> Any:
        """Return the signature of a function that returns this type."""
        return Signature(self, parameters)

    def __getitem__(self, axes: Any) -> Array:
        """Return the type of arrays: ``float32[:]``, ``float32[:, ::1]``."""
        return array_of(self, axes)


@dataclass(frozen=True, slots=True)
class Unknown(Kind):
    """A type that the source does not show."""

    def __str__(self) -> str:
        return "unknown"


def _of_dtype(dtype: np.dtype[Any] | None) -> tuple[Any, ...]:
    """Return what a dtype is compared by: NumPy takes None for float64."""
    return () if dtype is None else (dtype,)


@dataclass(frozen=True, slots=True, eq=False)
class Number(Kind):
    """A number or bool.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Its type; `None` if the source does not show it.
    literal : int, float, bool or None
        The value, where the compiler knows it.
    family : str
        What is known of a number without a dtype: ``"bool"``, ``"int"``, ``"float"`` or ``"complex"``.
    """

    dtype: np.dtype[Any] | None
    literal: float | bool | None = None
    family: str = ""

    @property
    def category(self) -> str:
        """``"bool"``, ``"int"``, ``"float"``, ``"complex"``; empty if that is not known."""
        return self.family if self.dtype is None else _CATEGORIES[self.dtype.kind]

    @property
    def name(self) -> str:
        """The name as NumPy spells it."""
        return str(self)

    def _key(self) -> tuple[Any, ...]:
        return _of_dtype(self.dtype), type(self.literal), self.literal, self.family

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *parameters: Any) -> Any:
        """Return a number as one of this type; of types, the signature of a function that returns this one."""
        if len(parameters) != 1 or is_numba_type(parameters[0]):
            return Signature(self, parameters)
        assert self.dtype is not None
        convert = conversion_of(self)
        return self.dtype.type(parameters[0]) if convert is None else convert(parameters[0])

    def __str__(self) -> str:
        return self.family or "a number" if self.dtype is None else str(self.dtype)

    __repr__ = __str__


_CATEGORIES = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


@dataclass(frozen=True, slots=True, eq=False)
class Array(Kind):
    """An array.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Of its elements; `None` if that is not known.
    ndim : int or None
        How many axes it has; `None` if that is not known.
    layout : str
        ``"C"``, ``"F"``, ``"A"`` for any strides, `EITHER` or `ANY_LAYOUT`.
    is_readonly : bool
        Whether nothing can be stored to it.
    is_made : bool
        Whether a function made it, as memory of its own or as a view, and was not given it.
    """

    dtype: np.dtype[Any] | None
    ndim: int | None
    layout: str = "A"
    is_readonly: bool = False
    is_made: bool = False

    def _key(self) -> tuple[Any, ...]:
        return _of_dtype(self.dtype), self.ndim, self.layout, self.is_readonly, self.is_made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else self.dtype
        axes = ["..."] if self.ndim is None else [":"] * self.ndim or ["()"]
        if self.ndim and "A" not in self.layout:
            axes[0 if self.layout == "F" else -1] = "::1"
        return f"{'readonly ' if self.is_readonly else ''}{dtype}[{', '.join(axes)}]"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Record(Kind):
    """A record."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return f"record{self.dtype.names}"


@dataclass(frozen=True, slots=True)
class Tuple(Kind):
    """A tuple.

    Attributes
    ----------
    members : tuple of Kind
        Of its members.
    made_by : type or None
        The class of a named tuple.
    """

    members: tuple[Kind, ...]
    made_by: type[Any] | None = None

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members are of one type, as far as that is known."""
        first = self.members[0] if self.members else UNKNOWN
        return all(may_be_one(first, each) for each in self.members)

    def __str__(self) -> str:
        if self.made_by is not None:
            return f"{self.made_by.__name__}({', '.join(map(str, self.members))})"
        if self.members and self.is_homogeneous:
            return f"UniTuple({self.members[0]}, {len(self.members)})"
        return f"Tuple({', '.join(map(str, self.members))})"


@dataclass(frozen=True, slots=True)
class Nothing(Kind):
    """``None``, and what a kernel returns."""

    def __str__(self) -> str:
        return "None"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Optional(Kind):
    """A value or ``None``."""

    of: Kind

    def __str__(self) -> str:
        return f"optional({self.of})"


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """A string.

    Attributes
    ----------
    literal : str or None
        The string, where the compiler knows it.
    """

    literal: str | None = None

    def __str__(self) -> str:
        return "a string"


@dataclass(frozen=True, slots=True)
class Pointer(Kind):
    """An address."""

    of: Kind

    def __str__(self) -> str:
        return f"CPointer({self.of})"


@dataclass(frozen=True, slots=True)
class Other(Kind):
    """A type that only its name is known of."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function.

    Attributes
    ----------
    return_type : Kind or None
        Of its result; `None` if it is left to the compiler.
    args : tuple
        Of its parameters, in any spelling.
    """

    return_type: Any
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """A signature that a function is declared with.

    Attributes
    ----------
    parameters : tuple of Kind
        Types of its parameters.
    result : Kind or None
        Type of its result; `None` if the compiler is to find it.
    """

    parameters: tuple[Kind, ...]
    result: Kind | None = None

    @property
    def has_pointers(self) -> bool:
        """Whether a parameter is an address."""
        return any(isinstance(each, Pointer) for each in self.parameters)

    def __str__(self) -> str:
        result = "" if self.result is None else "void" if isinstance(self.result, Nothing) else str(self.result)
        return f"{result}({', '.join(map(str, self.parameters))})"


EITHER = "CF"
"""The layout of an array in a kernel that runs, if it is contiguous in both orders."""
ANY_LAYOUT = "ACF"
"""The layout of an array of which the source does not show it."""
UNKNOWN = Unknown()
NOTHING = Nothing()


def array_of(element: Any, axes: Any) -> Array:
    """Return the type of arrays of an element's type.

    Parameters
    ----------
    element : Kind
        A number or record.
    axes : slice or tuple of slice
        ``:`` for each axis; ``::1`` for the last, or the first, if the array is contiguous.

    Raises
    ------
    SignatureError
        If the element is none, or the axes are something else.
    """
    if not isinstance(element, (Number, Record)) or element.dtype is None:
        raise SignatureError(f"element of an array must be a number or a record, got {element}", code="signature-text")
    given = axes if isinstance(axes, tuple) else (axes,)
    if not given or not all(isinstance(axis, slice) and axis.start is None and axis.stop is None for axis in given):
        raise SignatureError(
            f"axes of an array's type must be `:` or `::1`, got {axes!r}: write {element}[:] or {element}[:, ::1]",
            code="signature-text",
        )
    # One axis with a step is C-contiguous and F-contiguous, and Numba calls it C.
    layout = "C" if given[-1].step == 1 and (len(given) == 1 or given[0].step != 1) else "A"
    if len(given) > 1 and given[0].step == 1:
        layout = "F"
    return Array(element.dtype, len(given), layout)


def may_be_one(one: Kind, other: Kind) -> bool:
    """Return whether two types may be the same, by what the source shows of them."""
    match one, other:
        case (Unknown(), _) | (_, Unknown()):
            return True
        case Number(), Number():
            if one.dtype is not None and other.dtype is not None:
                return one.dtype == other.dtype
            return one.category == other.category or not one.category or not other.category
        case Text(), Text():
            return True
        case Array(), Array():
            is_of_type = one.dtype is None or other.dtype is None or one.dtype == other.dtype
            is_of_rank = one.ndim is None or other.ndim is None or one.ndim == other.ndim
            return is_of_type and is_of_rank and bool({*one.layout} & {*other.layout})
        case Tuple(), Tuple():
            is_alike = len(one.members) == len(other.members) and one.made_by is other.made_by
            return is_alike and all(map(may_be_one, one.members, other.members))
        case Optional(), Optional():
            return may_be_one(one.of, other.of)
    return one == other


def without_literal(kind: Kind) -> Kind:
    """Return a type without the value that the compiler knows."""
    match kind:
        case Number():
            return Number(kind.dtype, None, kind.family)
        case Text():
            return Text()
        case Tuple():
            return Tuple(tuple(map(without_literal, kind.members)), kind.made_by)
    return kind
