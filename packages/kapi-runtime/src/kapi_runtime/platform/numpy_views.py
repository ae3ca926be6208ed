"""NumPy's view of memory by its description, and the description of NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language.array_memory import ArrayFields

__all__ = ["fields_of_numpy", "numpy_view"]


class _Memory:
    """Memory for NumPy, whose view keeps this object, and with it the owner."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__, self.owner = interface, owner


def numpy_view(fields: ArrayFields, owner: Any = None) -> np.ndarray[Any, Any]:
    """Return NumPy's array at the address of an array, which may be a device's memory; nothing is read there."""
    size = fields.dtype.itemsize
    interface = {
        "version": 3,
        "data": (fields.pointer, fields.readonly),
        "shape": fields.shape,
        "strides": tuple(stride * size for stride in fields.strides),
        "typestr": fields.dtype.str,
    }
    return np.asarray(_Memory(interface, owner))


def fields_of_numpy(array: np.ndarray[Any, Any], owner: Any = None) -> ArrayFields:
    """Describe an array of NumPy's as a platform describes its own; it has no owner but what is given."""
    strides = tuple(stride // array.itemsize for stride in array.strides)
    pointer, readonly = array.__array_interface__["data"]
    return ArrayFields(pointer, array.shape, strides, array.dtype, readonly, owner)
