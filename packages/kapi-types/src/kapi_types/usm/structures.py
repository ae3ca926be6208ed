"""Memory layout of the objects of CPython, NumPy and dpnp, for code that reads them without a call; needs no Numba.

Each structure has the fields of the C header that ships with the library, and C's rules for their offsets.
Where a library publishes a C function, that is called instead.

dpnp publishes no C function for its arrays. Their structure is used for a class only after views of one of its arrays
have shown that each field has the expected offset. Any other class, or the same class of a version that moved a field,
is read by its protocol.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, ClassVar

from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.usm_protocol import protocol_fields

__all__ = [
    "C_CONTIGUOUS",
    "F_CONTIGUOUS",
    "WRITABLE",
    "DpnpArray",
    "Object",
    "Scalar",
    "UsmNdarray",
    "array_fields",
    "class_addresses",
    "inner_array",
    "learn",
    "struct_key",
    "structure_fields",
]

Fields = tuple[tuple[str, Any], ...]


class Object(ctypes.Structure):
    """Header of each object: `PyObject` of CPython's ``object.h``."""

    _fields_: ClassVar[Fields] = (("references", ctypes.c_ssize_t), ("type", ctypes.c_void_p))


class Scalar(Object):
    """A number of NumPy, `PyDoubleScalarObject` and its like of its ``arrayscalars.h``; a complex number of Python."""

    _fields_: ClassVar[Fields] = (("value", ctypes.c_uint64),)  # of any size; the field marks its start


class UsmNdarray(Object):
    """The array that dpnp wraps: `PyUSMArrayObject` of dpnp's ``_usmarray.h``."""

    _fields_: ClassVar[Fields] = (
        ("methods", ctypes.c_void_p),
        ("data", ctypes.c_void_p),  # address of element (0, ..., 0)
        ("rank", ctypes.c_int),
        ("shape", ctypes.c_void_p),  # of `rank` words
        ("strides", ctypes.c_void_p),  # as many, in elements; null where the flags imply them
        ("element", ctypes.c_int),  # NumPy's number of the type
        ("flags", ctypes.c_int),
        ("base", ctypes.c_void_p),  # the `dpctl.memory` object
        ("namespace", ctypes.c_void_p),
        ("weak_references", ctypes.c_void_p),
    )


class DpnpArray(Object):
    """dpnp's own array, a class of Python with one slot."""

    _fields_: ClassVar[Fields] = (("inner", ctypes.c_void_p),)


C_CONTIGUOUS, F_CONTIGUOUS, WRITABLE = 1, 2, 4
"""Flags of a `UsmNdarray`, as dpnp's ``_usmarray.h`` has them."""

class_addresses = (ctypes.c_void_p * 2)()
"""Addresses of the classes whose layout is known, dpnp's wrapper and the array type; null where none is."""

_wrappers: set[type] = set()  # dpnp's own array, and classes that derive from it and add no field
_inner: type | None = None
_refused: set[type] = set()
_two_ints = ctypes.c_uint64.from_address


def array_fields(value: Any) -> ArrayFields:
    """Read the address, shape and strides of a USM array without waiting for the work that fills it.

    The protocol's property waits for the queue of dpnp's arrays, their attributes do not. Other libraries' arrays are
    read by the protocol.

    Raises `DtypeError` if `value` has no such attribute, or the attribute describes no array.
    """
    return structure_fields(value) or protocol_fields(value)


def structure_fields(value: Any) -> ArrayFields | None:
    """Read the fields of a dpnp array, or of the type that it wraps, without waiting for its queue; None for others."""
    inner = value.get_array() if hasattr(value, "get_array") else value
    # dpctl's memory objects have the pointer and the queue too, and are arrays of bytes by the protocol.
    if not isinstance(getattr(inner, "_pointer", None), int) or not hasattr(inner, "strides"):
        return None
    return ArrayFields(
        inner._pointer, inner.shape, inner.strides, inner.dtype, not inner.flags.writable, inner.sycl_queue
    )


def struct_key(value: Any) -> tuple[int, int, type] | None:
    """Return a key of an array's type, read from its structure: equal keys are equal types.

    Returns element type and flags as one number, rank, and the class of the memory; None if the class of `value` is not
    one whose layout is known.
    """
    cls = type(value)
    if cls in _wrappers:
        value = value._array_obj
    elif cls is not _inner:
        return None
    return _two_ints(id(value) + UsmNdarray.element.offset).value, value.ndim, type(value.usm_data)


def inner_array(value: Any) -> Any:
    """Return the array whose structure describes `value`, or None if the layout of its class is not known."""
    if not learn(value):
        return None
    inner: Any = value
    return inner._array_obj if type(value) in _wrappers else inner


def learn(value: Any) -> bool:
    """Check whether the class of `value` has the layout that this module describes, and use it from then on.

    Returns whether its structure is read; False leaves everything as it was.
    """
    global _inner
    cls = type(value)
    if cls is _inner or cls in _wrappers:
        return True
    if cls in _refused:
        return False
    try:
        inner = value._array_obj if any(base.__name__ == "dpnp_array" for base in cls.__mro__) else value
        known = _is_laid_out(cls, inner, value)
    except Exception:  # a class of another library or version may raise anything; its arrays have the protocol
        known = False
    if not known:
        _refused.add(cls)
        return False
    if inner is not value:
        _wrappers.add(cls)
        if cls.__name__ == "dpnp_array":
            class_addresses[0] = id(cls)
    _inner = type(inner)
    class_addresses[1] = id(type(inner))
    return True


def _is_laid_out(cls: type, inner: Any, value: Any) -> bool:
    array = type(inner)
    if array.__name__ != "usm_ndarray" or array.__basicsize__ != ctypes.sizeof(UsmNdarray) or sys.maxsize != 2**63 - 1:
        return False
    if inner is not value and (
        cls.__basicsize__ != ctypes.sizeof(DpnpArray) or DpnpArray.from_address(id(value)).inner != id(inner)
    ):
        return False
    if object.__basicsize__ != ctypes.sizeof(Object) or Object.from_address(id(inner)).type != id(array):
        return False
    return all(map(_fields_agree, (inner, *_probes(inner))))


def _probes(inner: Any) -> list[Any]:
    """Arrays of the same class and queue, no two of which have a field in common."""
    array = type(inner)
    plain = array((2, 3, 4), dtype="i2", buffer_ctor_kwargs={"queue": inner.sycl_queue})
    views = [
        array(shape, dtype=dtype, buffer=plain.usm_data, strides=strides, offset=offset)
        for shape, dtype, strides, offset in [
            ((4, 3, 2), "i2", (1, 4, 12), 0),
            ((2, 2), "i2", (-12, -2), 23),
            ((3,), "f8", (2,), 1),
            ((2, 5), "u1", (0, 3), 7),
            ((), "c8", (), 2),
        ]
    ]
    fortran = array((2, 3), dtype="f4", order="F", buffer_ctor_kwargs={"queue": inner.sycl_queue})
    return [plain, *views, fortran]


def _fields_agree(array: Any) -> bool:
    """Whether the structure agrees with the attributes. Pointers are followed only once the numbers are right."""
    struct, flags = UsmNdarray.from_address(id(array)), array.flags
    if struct.rank != array.ndim or (struct.data or 0) != array._pointer or struct.base != id(array.usm_data):
        return False
    number = C_CONTIGUOUS * flags.c_contiguous | F_CONTIGUOUS * flags.f_contiguous | WRITABLE * flags.writable
    if (struct.element, struct.flags) != (array.dtype.num, number):
        return False
    if struct.rank == 0:
        return True
    if _integers(struct.shape, struct.rank) != array.shape:
        return False
    if struct.strides:
        return bool(_integers(struct.strides, struct.rank) == array.strides)
    return bool(number & (C_CONTIGUOUS | F_CONTIGUOUS))


def _integers(address: int | None, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_ssize_t * count).from_address(address)) if address else ()
