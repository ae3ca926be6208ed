"""Dtypes of operations by NumPy's rules, and a table of the array libraries' differences: nothing runs on a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["CUPY", "DIFFERENCES", "DPNP", "NUMPY", "ArrayType", "DtypeRules", "LibraryDifferences", "coerced_kind"]

_KINDS = ("device", "shared", "host")

_NARROWER = {"float64": "float32", "complex128": "complex64", "float16": "float32"}
"""The dtype in which a device computes that lacks the one of the operands."""


@dataclass(frozen=True, slots=True)
class LibraryDifferences:
    """Differences of a library's functions from NumPy's.

    - `dtypes`: names of the dtypes that its arrays may have.
    - `elementwise`: by function, the dtypes of results that are not NumPy's; and for each, those that all operands must
      be of.
    - `refused`: by function, kinds of dtypes that no operand may have and that NumPy takes.
    - `has_held_integers`: whether a Python integer must be one of the array's integer dtype in every function; in
      NumPy, where the result has that dtype.
    - `has_64_bit_integers`: whether Python's integers must have 64 bits also with floats.
    - `mixes_signs_in_place`: whether arrays of signed integers are updated in place by uint64, which has no integer
      dtype in common with them.
    """

    dtypes: frozenset[str]
    elementwise: Mapping[str, Mapping[str, frozenset[str]]]
    refused: Mapping[str, str] = field(default_factory=dict)
    has_held_integers: bool = False
    has_64_bit_integers: bool = False
    mixes_signs_in_place: bool = False


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_BELOW_DOUBLE = frozenset(("bool", "int8", "int16", "uint8", "uint16", "float16", "float32"))

DPNP = LibraryDifferences(
    dtypes=frozenset(("bool", *_INTEGERS, "float16", "float32", "float64", "complex64", "complex128")),
    elementwise={
        "float_power": {"float32": _BELOW_DOUBLE, "complex64": _BELOW_DOUBLE | {"complex64"}},
        "reciprocal": {
            "float16": frozenset(("bool", "int8", "uint8")),
            "float32": frozenset(("int16", "uint16")),
            "float64": frozenset(("int32", "int64", "uint32", "uint64")),
        },
        "rint": {each: frozenset((each, "bool") if each == "int8" else (each,)) for each in _INTEGERS},
    },
    has_held_integers=True,
    mixes_signs_in_place=True,
)
"""The differences of dpnp 0.20 on devices that have all of its dtypes."""

CUPY = LibraryDifferences(
    dtypes=DPNP.dtypes,
    elementwise={"sign": {"int8": frozenset(("bool",))}},
    refused={"spacing": "biufc"} | dict.fromkeys(("logical_and", "logical_not", "logical_or", "logical_xor"), "c"),
    has_64_bit_integers=True,
)
"""The differences of CuPy 14.2, as far as a kernel can be the same.

Besides, CuPy wraps a Python integer that the array's dtype does not hold, and has functions such as `hypot` for complex
numbers: the rules refuse both, so that CuPy computes them itself.
"""

NUMPY = LibraryDifferences(dtypes=DPNP.dtypes, elementwise={})
"""Those of a library that has none."""

DIFFERENCES = {"cupy": CUPY, "dpnp": DPNP}
"""The differences by the names of libraries."""


@dataclass(frozen=True, slots=True)
class DtypeRules:
    """The rules of an array library on a device.

    - `library`: the library's differences from NumPy.
    - `missing`: names of the library's dtypes that the device lacks.
    """

    library: LibraryDifferences
    missing: frozenset[str] = frozenset()

    def elementwise(self, name: str, operands: Sequence[Any]) -> ArrayType:
        """The type of an elementwise function's result.

        - `name`: NumPy's name of it.
        - `operands`: `ArrayType`, numbers of Python's and of NumPy's; one of them an `ArrayType`.

        Raises `TypeError` where the library refuses the operands.
        """
        arrays = [each for each in operands if isinstance(each, ArrayType)]
        if name == "where" and not isinstance(operands[0], ArrayType):
            raise TypeError("the condition of where must be an array")
        given = tuple([_operand(each) for each in operands])
        dtype = self._elementwise(name, given)
        if self.library.has_64_bit_integers and any(
            type(each) is int and not -(2**63) <= each < 2**64 for each in operands
        ):
            raise TypeError(f"Python integers of {name} must have 64 bits")
        if self.library.has_held_integers or dtype.kind in "iu":
            _require_held(operands[-2:])  # the first of three is a condition
        return ArrayType(dtype, max(each.ndim for each in arrays), coerced_kind(each.kind for each in arrays), self)

    def require_in_place(self, name: str, target: ArrayType, operand: Any) -> None:
        """Refuse an update in place whose result the target does not hold.

        Raises `TypeError` where the library refuses it.
        """
        is_mixed = target.dtype.kind == "i" and getattr(operand, "dtype", None) == np.uint64
        if is_mixed and name != "divide" and self.library.mixes_signs_in_place:
            return
        made = self.elementwise(name, (target, operand)).dtype
        if not np.can_cast(made, target.dtype, "same_kind"):
            raise TypeError(f"{made} must be of the same kind as the array that it is stored to, {target.dtype}")

    def reduction(self, name: str, operand: ArrayType) -> ArrayType:
        """The type of a reduction's result, whose axes are left in."""
        return ArrayType(self._supported(_reduced(name, operand.dtype)), operand.ndim, operand.kind, self)

    def supported(self, dtype: Any) -> np.dtype[Any]:
        """A dtype that arrays on the device may have.

        Raises `TypeError` if they may not.
        """
        made: np.dtype[Any] = np.dtype(dtype)
        if made.name not in self.library.dtypes or made.name in self.missing or not made.isnative:
            raise TypeError(f"arrays on the device must have another dtype than {made}")
        return made

    def _elementwise(self, name: str, given: tuple[Any, ...]) -> np.dtype[Any]:
        for each in given:
            kind = np.dtype(each).kind
            is_known = not isinstance(each, np.dtype) or each.name in self.library.dtypes
            if not is_known or kind in self.library.refused.get(name, ""):
                raise TypeError(f"operands of {name} must have another dtype than {each}")
        row = self.library.elementwise.get(name)
        found = None
        if row is not None:
            strong = [each for each in given if isinstance(each, np.dtype)]
            names = {(np.result_type(each(0), *strong) if isinstance(each, type) else each).name for each in given}
            found = next((made for made, dtypes in row.items() if names <= dtypes), None)
        return self._supported(_numpy_dtype(name, given) if found is None else np.dtype(found))

    def _supported(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """A dtype, or the one that the device has in its place."""
        return np.dtype(_NARROWER[dtype.name]) if dtype.name in self.missing else dtype


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array on a device as far as the types of operations depend on it.

    - `dtype`: of its elements.
    - `ndim`: its axes.
    - `kind` (`{"device", "shared", "host"}`): USM kind of its memory.
    - `rules`: those of its library on its device.
    """

    dtype: np.dtype[Any]
    ndim: int
    kind: str
    rules: DtypeRules

    def astype(self, dtype: Any) -> ArrayType:
        """The type of a copy in another dtype.

        Raises `TypeError` if arrays on the device may not have it.
        """
        return ArrayType(self.rules.supported(dtype), self.ndim, self.kind, self.rules)


def coerced_kind(kinds: Iterable[str]) -> str:
    """The USM kind of a result: that of the operands which is most the device's own."""
    return min(kinds, key=_KINDS.index)


@lru_cache(maxsize=4096)
def _numpy_dtype(name: str, given: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of the result of a NumPy function.

    - `given`: the dtypes of its operands; `int`, `float` and `complex` for Python's numbers, which take those of the
      others.

    Raises `TypeError` if NumPy refuses them.
    """
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        dtypes: tuple[np.dtype[Any], ...] = function.resolve_dtypes((*given, None))
        if dtypes[-1].kind == "O":  # any dtype is one of objects, too
            raise TypeError(f"{name} must have operands of other dtypes than {given}")
        return dtypes[-1]
    made: np.dtype[Any] = function(*(each(1) if isinstance(each, type) else np.ones(1, each) for each in given)).dtype
    return made


@lru_cache(maxsize=256)
def _reduced(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of NumPy's accumulator, by the result for one element on the host."""
    made: np.dtype[Any] = getattr(np, name)(np.ones(1, dtype)).dtype
    return made


def _operand(value: Any) -> Any:
    """The dtype of an operand; `int`, `float` or `complex` for a number of Python's.

    Raises `TypeError` for anything else.
    """
    if isinstance(value, (ArrayType, np.generic)):
        return value.dtype
    if isinstance(value, bool):
        return np.dtype(bool)
    for type_ in (int, float, complex):
        if isinstance(value, type_):
            return type_
    raise TypeError(f"operands must be arrays and numbers, got {type(value).__name__}")


def _require_held(operands: Sequence[Any]) -> None:
    """Refuse Python's integers that the dtype of the other operand does not hold; with bools it is int64.

    Raises `TypeError` if there is one.
    """
    other = next((each.dtype for each in operands if isinstance(each, (ArrayType, np.generic))), np.dtype(np.int64))
    if other.kind in "biu":
        ends = np.iinfo(np.int64 if other.kind == "b" else other)
        for each in operands:
            if type(each) is int and not ends.min <= each <= ends.max:
                raise TypeError(f"Python integer {each} must be one of {ends.dtype}")
