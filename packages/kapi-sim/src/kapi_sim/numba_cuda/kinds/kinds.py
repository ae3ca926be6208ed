"""The static types that numba.cuda gives to values: immutable, compared by value, spelled as Numba spells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.numba_cuda.values.dtypes import StaticType, conversion_of, is_numba_type

__all__ = [
    "EITHER",
    "NOTHING",
    "UNKNOWN",
    "Array",
    "Kind",
    "Nothing",
    "Number",
    "Optional",
    "Other",
    "Pointer",
    "Record",
    "Signature",
    "Text",
    "Tuple",
    "Unknown",
    "array_of",
]


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
    """A type that the source does not tell."""

    def __str__(self) -> str:
        return "unknown"


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """A number or bool.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Its type; `None` if only that it is a number is known.
    literal : int, bool or None
        The value, where the compiler knows it.
    """

    dtype: np.dtype[Any] | None
    literal: int | bool | None = None

    @property
    def category(self) -> str:
        """``"bool"``, ``"int"``, ``"float"``, ``"complex"``; empty if that is not known."""
        return "" if self.dtype is None else _CATEGORIES[self.dtype.kind]

    @property
    def name(self) -> str:
        """As NumPy spells it."""
        return str(self)

    def __call__(self, *parameters: Any) -> Any:
        """Return a number as one of this type; of types, the signature of a function that returns this one."""
        if len(parameters) != 1 or is_numba_type(parameters[0]):
            return Signature(self, parameters)
        assert self.dtype is not None
        convert = conversion_of(self)
        return self.dtype.type(parameters[0]) if convert is None else convert(parameters[0])

    def __str__(self) -> str:
        return "a number" if self.dtype is None else str(self.dtype)

    __repr__ = __str__


_CATEGORIES = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


@dataclass(frozen=True, slots=True)
class Array(Kind):
    """An array.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Of its elements; `None` if that is not known.
    ndim : int or None
        How many axes it has; `None` if that is not known.
    layout : str
        ``"C"``, ``"F"``, ``"A"`` for any strides, or `EITHER`.
    is_readonly : bool
        Whether nothing can be stored to it.
    """

    dtype: np.dtype[Any] | None
    ndim: int | None
    layout: str = "A"
    is_readonly: bool = False

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else self.dtype
        axes = ["..."] if self.ndim is None else [":"] * self.ndim or ["()"]
        if self.ndim and self.layout != "A":
            axes[0 if self.layout == "F" else -1] = "::1"
        return f"{'readonly ' if self.is_readonly else ''}{dtype}[{', '.join(axes)}]"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Record(Kind):
    """A record.

    Attributes
    ----------
    dtype : numpy.dtype
        With its fields.
    """

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
        """Whether all members are of one type."""
        return len({_without_literal(each) for each in self.members}) <= 1

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
        return "none"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Optional(Kind):
    """A value or ``None``.

    Attributes
    ----------
    of : Kind
        Of the value.
    """

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
    """An address.

    Attributes
    ----------
    of : Kind
        Of what lies there.
    """

    of: Kind

    def __str__(self) -> str:
        return f"CPointer({self.of})"


@dataclass(frozen=True, slots=True)
class Other(Kind):
    """A type that only its name is known of.

    Attributes
    ----------
    name : str
        As messages spell it.
    """

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


EITHER = "CF"
"""The layout of an array in a kernel that runs, if it is contiguous in both orders."""
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
    DtypeError
        If the element is none, or the axes are something else.
    """
    if not isinstance(element, (Number, Record)) or element.dtype is None:
        raise DtypeError(f"element of an array must be a number or a record, got {element}", code="signature-text")
    given = axes if isinstance(axes, tuple) else (axes,)
    if not given or not all(isinstance(axis, slice) and axis.start is None and axis.stop is None for axis in given):
        raise DtypeError(
            f"axes of an array's type must be `:` or `::1`, got {axes!r}: write {element}[:] or {element}[:, ::1]",
            code="signature-text",
        )
    # One axis with a step is C-contiguous and F-contiguous, and Numba calls it C.
    layout = "C" if given[-1].step == 1 and (len(given) == 1 or given[0].step != 1) else "A"
    if len(given) > 1 and given[0].step == 1:
        layout = "F"
    return Array(element.dtype, len(given), layout)


def _without_literal(kind: Kind) -> Kind:
    return Number(kind.dtype) if isinstance(kind, Number) else Text() if isinstance(kind, Text) else kind
