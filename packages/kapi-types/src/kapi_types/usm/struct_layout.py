"""Where dpnp's array type holds what in memory, so that compiled code reads an array without a call.

The array type that dpnp wraps has no C functions; its structure is what there is. It is used for the classes at hand
only after views of one of their arrays have shown that each field is where it is expected; any other class, or the
same class of a version that moved a field, is read by its protocol.

Fields of an array, in bytes from the object's address:

| offset | type | field |
|---|---|---|
| 24 | void * | address of element (0, ..., 0) |
| 32 | int | rank |
| 40 | intp * | shape |
| 48 | intp * | strides in elements; NULL where the flags imply them |
| 56 | int | NumPy's number of the element type |
| 60 | int | flags: 1 C-contiguous, 2 F-contiguous, 4 writable |

dpnp's own class holds nothing but a pointer to such an array, 16 bytes from its address.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

__all__ = [
    "C_CONTIGUOUS",
    "DATA",
    "FLAGS",
    "INNER",
    "OBJECT_TYPE",
    "RANK",
    "SHAPE",
    "STRIDES",
    "TYPE_NUMBER",
    "class_addresses",
    "learn",
    "struct_key",
]

OBJECT_TYPE = ctypes.sizeof(ctypes.c_ssize_t)
"""Offset of an object's class."""
INNER = 16
"""Offset of the wrapped array in dpnp's own class."""
DATA, RANK, SHAPE, STRIDES, TYPE_NUMBER, FLAGS = 24, 32, 40, 48, 56, 60
C_CONTIGUOUS, F_CONTIGUOUS, WRITABLE = 1, 2, 4

_SIZE, _WRAPPER_SIZE = 88, 24

class_addresses = (ctypes.c_void_p * 2)()
"""Addresses of the classes whose layout is known, dpnp's wrapper and the array type; null where none is."""

_wrapper: type | None = None
_inner: type | None = None
_refused: set[type] = set()
_two_ints = ctypes.c_uint64.from_address


def struct_key(value: Any) -> tuple[int, int, type] | None:
    """What tells an array's type from others, read from its structure: equal keys are equal types.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    tuple or None
        Element type and flags as one number, rank, and the class of the memory; None if the class of `value` is not
        one whose layout is known.
    """
    cls = type(value)
    if cls is _wrapper:
        value = value._array_obj
    elif cls is not _inner:
        return None
    return _two_ints(id(value) + TYPE_NUMBER).value, value.ndim, type(value.usm_data)


def learn(value: Any) -> bool:
    """Find out whether the class of `value` has the layout that this module describes, and use it from then on.

    Parameters
    ----------
    value : object
        A USM array of any library.

    Returns
    -------
    bool
        Whether its structure is read; False leaves everything as it was.
    """
    global _wrapper, _inner
    cls = type(value)
    if cls in (_wrapper, _inner):
        return True
    if cls in _refused:
        return False
    try:
        inner = value._array_obj if cls.__name__ == "dpnp_array" else value
        known = _is_laid_out(cls, inner, value)
    except Exception:  # whatever a class of another make or version does, its arrays have their protocol
        known = False
    if not known:
        _refused.add(cls)
        return False
    if inner is not value:
        _wrapper = cls
        class_addresses[0] = id(cls)
    _inner = type(inner)
    class_addresses[1] = id(type(inner))
    return True


def _is_laid_out(cls: type, inner: Any, value: Any) -> bool:
    array = type(inner)
    if array.__name__ != "usm_ndarray" or array.__basicsize__ != _SIZE or sys.maxsize != 2**63 - 1:
        return False
    if inner is not value and (cls.__basicsize__ != _WRAPPER_SIZE or _pointer(value, INNER) != id(inner)):
        return False
    if object.__basicsize__ != 16 or _pointer(inner, OBJECT_TYPE) != id(array):
        return False
    return all(map(_fields_agree, (inner, *_probes(inner))))


def _probes(inner: Any) -> list[Any]:
    """Arrays of the same class and queue whose fields differ from each other in every respect."""
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
    """Whether the structure says what the attributes say. Pointers are followed only once the numbers are right."""
    rank = ctypes.c_int.from_address(id(array) + RANK).value
    if rank != array.ndim or (_pointer(array, DATA) or 0) != array._pointer:
        return False
    flags = array.flags
    number = C_CONTIGUOUS * flags.c_contiguous | F_CONTIGUOUS * flags.f_contiguous | WRITABLE * flags.writable
    kind_of_memory = (
        ctypes.c_int.from_address(id(array) + TYPE_NUMBER).value,
        ctypes.c_int.from_address(id(array) + FLAGS).value,
    )
    if kind_of_memory != (array.dtype.num, number):
        return False
    if rank == 0:
        return True
    shape, strides = _pointer(array, SHAPE), _pointer(array, STRIDES)
    if _integers(shape, rank) != array.shape:
        return False
    return _integers(strides, rank) == array.strides if strides else bool(number & (C_CONTIGUOUS | F_CONTIGUOUS))


def _pointer(value: Any, offset: int) -> int | None:
    return ctypes.c_void_p.from_address(id(value) + offset).value


def _integers(address: int | None, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_ssize_t * count).from_address(address)) if address else ()
