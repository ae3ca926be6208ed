"""NumPy's structured dtypes as elements of arrays: which of them kernels know, and how their fields are aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.short_repr import short_repr

__all__ = [
    "alignment_of",
    "dtype_of_interface",
    "field_dtypes",
    "field_view_problem",
    "is_element_dtype",
    "is_kernel_dtype",
    "members_of",
    "unmet_requirement",
]

_NUMBERS = "bool, an integer, float16 to float64 or complex, in native byte order"
_KERNEL_KINDS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}


def is_kernel_dtype(dtype: np.dtype[Any]) -> bool:
    """Return whether `dtype` is that of numbers in kernels: bool, (u)int8..64, float16..64, complex64/128."""
    return dtype.isnative and dtype.itemsize in _KERNEL_KINDS.get(dtype.kind, ())


def is_element_dtype(dtype: np.dtype[Any]) -> bool:
    """Return whether kernels may have elements of `dtype`: a number, or a record whose fields kernels know."""
    return is_kernel_dtype(dtype) if dtype.names is None else not _field_problem(dtype)


def field_dtypes(dtype: np.dtype[Any]) -> dict[str, tuple[np.dtype[Any], int]]:
    """Return the dtype of each field of a record, a sub-array's with its shape, and its offset in bytes."""
    return {name: dtype.fields[name][:2] for name in dtype.names or ()}  # type: ignore[index]


def field_view_problem(dtype: np.dtype[Any], name: str) -> str:
    """Say why `a[name]` is no array where `a` has records of a dtype, as a requirement; nothing if it is one.

    Strides of arrays in kernels are whole numbers of elements.
    """
    size = field_dtypes(dtype)[name][0].base.itemsize
    if dtype.itemsize % size:
        return (
            f"records must have a multiple of the bytes of an element of field {name!r} ({size}) for an array of that "
            f"field of all records, got {dtype.itemsize}: write `a[i][{name!r}]` for `a[{name!r}][i]`, or make the "
            "dtype with align=True"
        )
    return ""


def _field_problem(dtype: np.dtype[Any], path: str = "") -> str:
    """Say which field of a record kernels do not know, and why; nothing if there is none.

    Parameters
    ----------
    dtype : numpy.dtype
        A structured dtype.
    path : str
        The fields that lead to it, each with its dot.
    """
    fields = field_dtypes(dtype)
    if not fields or not dtype.itemsize:
        return f"record {path.rstrip('.')!r} has no fields" if path else "it has no fields"
    end, before = 0, ""
    for name, (field, offset) in sorted(fields.items(), key=lambda item: item[1][1]):
        element = field.base
        if offset < end:
            return f"fields {path + before!r} and {path + name!r} share bytes"
        end, before = offset + field.itemsize, name
        if 0 in field.shape:
            return f"field {path + name!r} has no elements"
        if element.names is not None:
            problem = _field_problem(element, f"{path}{name}.")
            if problem:
                return problem
        elif not is_kernel_dtype(element):
            return f"field {path + name!r} must be {_NUMBERS}, got {element}"
    return ""


def unmet_requirement(dtype: np.dtype[Any]) -> str:
    """Return the requirement on elements that `dtype` violates, to follow "dtype of ..."; nothing if it does not."""
    if dtype.names is None:
        return "" if is_kernel_dtype(dtype) else f"must be {_NUMBERS}, got {short_repr(dtype)}"
    problem = _field_problem(dtype)
    return f"must be a record of numbers: {problem}" if problem else ""


def members_of(held: Any) -> Any:
    """Return the fields of a record as a tuple, and those of a sub-array; a number as it is."""
    if isinstance(held, np.void):
        return tuple(members_of(held[name]) for name in held.dtype.names or ())
    return tuple(map(members_of, held)) if isinstance(held, np.ndarray) else held


def dtype_of_interface(value: object, interface: Any) -> np.dtype[Any]:
    """Return the dtype of an array by its array interface, which says of records only how many bytes they have.

    The fields are those of the array's own dtype or, where it has none of NumPy's, of the interface's ``descr``.
    """
    dtype = np.dtype(str(interface["typestr"]))
    if dtype.kind != "V":
        return dtype
    own, described = getattr(value, "dtype", None), interface.get("descr")
    if not (isinstance(own, np.dtype) and own.names is not None) and described:
        own = np.lib.format.descr_to_dtype(described)
    is_this = isinstance(own, np.dtype) and own.names is not None and own.itemsize == dtype.itemsize
    return own if is_this else dtype  # type: ignore[return-value]  # a dtype, as has just been asked


def alignment_of(dtype: np.dtype[Any]) -> int:
    """Return the alignment, in bytes, that compiled code relies on for elements of `dtype`.

    A field is read as a whole where each of them is at a multiple of its size; the others are read byte by byte. NumPy
    says 1 of a record that is not made with ``align=True``, also where its fields happen to be aligned.

    Examples
    --------
    >>> alignment_of(np.dtype([("x", "f4"), ("y", "f4"), ("z", "f4")]))
    4
    >>> alignment_of(np.dtype([("kind", "i1"), ("x", "f8")]))
    1
    """
    if dtype.names is None:
        return dtype.alignment
    alignment = max(alignment_of(field.base) for field, _ in field_dtypes(dtype).values())
    while dtype.itemsize % alignment:
        alignment //= 2
    return alignment
