"""Types of parts of values: elements and slices of arrays, members of tuples, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.numba_cuda.inference.values import (
    INT,
    INT64,
    Dim3,
    DtypeOf,
    Iterable,
    Member,
    Method,
    Named,
    Slice,
    TypeOf,
    joined,
)
from kapi_sim.numba_cuda.static_types.kinds import (
    ANY_LAYOUT,
    UNKNOWN,
    Array,
    Kind,
    Nothing,
    Number,
    Optional,
    Other,
    Record,
    Text,
    Tuple,
    Unknown,
    without_literal,
)
from kapi_sim.numba_cuda.static_types.type_spellings import kind_of_type

__all__ = ["attribute_kind", "index_problem", "part_of"]


def part_of(owner: Kind, index: Kind, spelled: str) -> Kind | Finding:
    """Return the type of ``owner[index]``, or what is wrong with it.

    Parameters
    ----------
    owner, index : Kind
        Their types.
    spelled : str
        The owner, as the source spells it.
    """
    match owner:
        case Array():
            return _part_of_array(owner, index, spelled)
        case Tuple():
            return _member(owner, index, spelled)
        case Text():
            return Finding("text-in-kernel", f"a string has no parts in a kernel, got those of `{spelled}`")
        case Number() | Nothing() | Iterable() | Dim3():
            return Finding("indexed-value", f"{owner} cannot be indexed, got `{spelled}`: pass an array")
        case Named(value=DeviceFunction()):
            return Finding(
                "kernel-in-kernel",
                f"kernel `{spelled}` cannot be launched in a kernel: launch it on the host, or call it",
            )
    return UNKNOWN


def index_problem(owner: Array, index: Kind, spelled: str) -> Finding | None:
    """Return what is wrong with the index of an array; `None` if nothing is."""
    components = index.members if isinstance(index, Tuple) else (index,)
    if isinstance(index, Text) and (owner.dtype is None or owner.dtype.names is not None):
        return None  # a field
    for each in components:
        is_number = isinstance(each, Number) and each.category not in ("int", "")
        if is_number or isinstance(each, (Text, Nothing, Optional, Array)):
            if isinstance(each, Nothing) and len(components) >= 1:
                continue  # a new axis
            return Finding("index-type", f"index of `{spelled}` must be made of integers and slices, got {each}")
    named = [each for each in components if not isinstance(each, (Nothing, Other, Unknown))]
    if owner.ndim is not None and len(named) > owner.ndim:
        return Finding(
            "too-many-indices", f"index of `{spelled}` must have at most {owner.ndim} components, got {len(named)}"
        )
    return None


def _part_of_array(owner: Array, index: Kind, spelled: str) -> Kind | Finding:
    wrong = index_problem(owner, index, spelled)
    if wrong is not None:
        return wrong
    components = index.members if isinstance(index, Tuple) else (index,)
    if any(isinstance(each, (Unknown, Other, Text)) for each in components):
        return UNKNOWN
    if owner.ndim is None:
        return UNKNOWN
    taken = sum(isinstance(each, (Number, Member)) for each in components)
    added = sum(isinstance(each, Nothing) for each in components)
    rank = owner.ndim - taken + added
    if rank:
        return Array(owner.dtype, rank, ANY_LAYOUT, owner.is_readonly, True)
    if owner.dtype is None:
        return UNKNOWN
    if owner.dtype.names is not None:
        return Record(owner.dtype)
    return Number(owner.dtype) if owner.dtype.kind in "biufc" else UNKNOWN


def _member(owner: Tuple, index: Kind, spelled: str) -> Kind | Finding:
    count = len(owner.members)
    if isinstance(index, Slice):
        return UNKNOWN
    if not isinstance(index, Number):
        return UNKNOWN
    if index.category == "float":
        return Finding("tuple-index", f"index of the tuple `{spelled}` must be an integer, got {index}")
    if isinstance(index.literal, int):
        if -count <= index.literal < count:
            found = owner.members[index.literal]
            # What is taken of a tuple in a tuple is no literal.
            return without_literal(found) if isinstance(found, Tuple) else found
        return Finding("tuple-index", f"index of the tuple `{spelled}` must be below {count}, got {index.literal}")
    if not owner.is_homogeneous:
        return Finding(
            "tuple-index", f"index of `{spelled}` must be constant, for its members are of several types, got {owner}"
        )
    found = without_literal(owner.members[0]) if owner.members else UNKNOWN
    for each in owner.members[1:]:
        found = joined(found, without_literal(each))
    return found


_OF_NUMBERS = ("real", "imag", "conjugate", "item", "view", "bit_count")


def attribute_kind(owner: Kind, name: str) -> Kind | Finding:
    """Return the type of an attribute, or what is wrong with it."""
    match owner:
        case Array():
            return _of_array(owner, name)
        case Number():
            return _of_number(owner, name)
        case Tuple():
            return _of_tuple(owner, name)
        case Record():
            fields: Mapping[str, Any] = owner.dtype.fields or {}
            return _of_field(fields[name][0]) if name in fields else UNKNOWN
        case Member():
            return owner.value if name == "value" else UNKNOWN
        case Dim3():
            if name in ("x", "y", "z"):
                return INT
            return Finding("attribute-unknown", f"three indices have x, y and z, got {name!r}")
        case DtypeOf():
            if name == "type" and owner.dtype.kind in "biufc":
                return TypeOf(Number(owner.dtype))
            if name == "itemsize":
                return Finding("attribute-unknown", "a dtype has no 'itemsize' in a kernel: take that of the array")
    return UNKNOWN


def _of_array(owner: Array, name: str) -> Kind | Finding:
    count = owner.ndim
    if name in ("shape", "strides"):
        return UNKNOWN if count is None else Tuple((INT64,) * count)
    if name == "ndim":
        return INT if count is None else Number(INT64.dtype, count)
    if name in ("size", "itemsize", "nbytes"):
        return INT64
    if name == "dtype":
        return UNKNOWN if owner.dtype is None else DtypeOf(owner.dtype)
    if name == "T":
        layout = {"C": "F", "F": "C"}.get(owner.layout, owner.layout)
        return Array(owner.dtype, count, layout, owner.is_readonly, True)
    if name == "flags":
        return Finding("array-attribute", "arrays have no 'flags' in a kernel: look at them before the launch")
    if owner.dtype is not None and owner.dtype.names is not None and name in owner.dtype.names:
        return UNKNOWN
    return Method(owner, name) if name in _VIEWS else UNKNOWN


_VIEWS = ("ravel", "reshape", "transpose", "view")
"""Methods of arrays that give the same memory as another array."""


def _of_number(owner: Number, name: str) -> Kind | Finding:
    if owner.category == "bool" and name != "item":
        return Finding("attribute-unknown", f"a bool has no {name!r} in a kernel")
    if name in ("real", "imag"):
        return Number(None, None, "float") if owner.category == "complex" else without_literal(owner)
    if name in _OF_NUMBERS:
        return UNKNOWN
    return Finding("attribute-unknown", f"a number has no {name!r} in a kernel")


def _of_tuple(owner: Tuple, name: str) -> Kind | Finding:
    if owner.made_by is not None and name in owner.made_by._fields:
        # A member by its name is no literal, as one by its index is.
        return without_literal(owner.members[owner.made_by._fields.index(name)])
    if name == "index":
        return UNKNOWN
    return Finding("attribute-unknown", f"a tuple has no {name!r} in a kernel")


def _of_field(dtype: np.dtype[np.generic]) -> Kind:
    if dtype.subdtype is not None:
        return Array(dtype.subdtype[0], len(dtype.shape), ANY_LAYOUT, False, True)
    kind = kind_of_type(dtype)
    return kind if isinstance(kind, (Number, Record)) else UNKNOWN
