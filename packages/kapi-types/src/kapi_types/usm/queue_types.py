"""The Numba types of queues and events: Python objects that compiled functions pass around, compare and wait for."""

from __future__ import annotations

import ctypes
from typing import Any

from kapi_types._numba_compat import types

__all__ = ["EventType", "QueueType", "SyclObjectType", "sycl_object_type"]


class SyclObjectType(types.Type):
    """A Python object of the library that owns the device, held with a reference."""


class QueueType(SyclObjectType):
    """A queue, such as `dpctl.SyclQueue`; which device it is of is not part of the type."""

    def __init__(self) -> None:
        super().__init__("sycl_queue")


class EventType(SyclObjectType):
    """An event, such as `dpctl.SyclEvent`."""

    def __init__(self) -> None:
        super().__init__("sycl_event")


_TYPES: dict[bytes, SyclObjectType] = {b"SyclQueueRef": QueueType(), b"SyclEventRef": EventType()}
_type_of_class: dict[type, SyclObjectType | None] = {}
# Prototypes of our own: the attributes of `ctypes.pythonapi` are shared by all who use it.
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def sycl_object_type(value: Any) -> SyclObjectType | None:
    """The type of a queue or event of any library, or None for another value.

    - `value`: an object that hands out its reference by `_get_capsule`, as dpctl's do. The name of the capsule tells
      which kind of object it is; its class is asked once.
    """
    cls = type(value)
    try:
        return _type_of_class[cls]
    except KeyError:
        capsule = value._get_capsule() if hasattr(cls, "_get_capsule") else None
        found = next((type_ for name, type_ in _TYPES.items() if _is_capsule(capsule, name)), None)
        _type_of_class[cls] = found
        return found
