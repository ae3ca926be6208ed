"""Numba's data model of a device array in compiled host functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numba.extending import models, register_model

from kapi_types._numba_compat import types
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.host_access import refuse_access, refuse_elements

__all__ = ["DeviceArrayModel"]


@register_model(DeviceArrayType)
class DeviceArrayModel(models.StructModel):
    """A device array in a function that runs on the host.

    The fields are those of `numba.types.Array` in their order, so what Numba has for arrays works on host-accessible
    memory, parallel loops included.

    Attributes
    ----------
    meminfo : MemInfoPointer
        The counted reference that keeps `parent` alive.
    parent : pyobject
        The array object that was passed in, of which this value is all or a part; borrowed from `meminfo`.
    nitems : intp
        Number of elements.
    itemsize : intp
        Bytes of one element.
    data : CPointer(dtype)
        Address of element (0, ..., 0).
    shape : UniTuple(intp, ndim)
        Elements along each axis.
    strides : UniTuple(intp, ndim)
        Bytes from one index to the next along each axis; zero and negative values are legal.

    Notes
    -----
    `data` is out of reach by name where the memory is not known to be host-accessible, or Numba has no elements of the
    type on the host (float16): code that asks for it does not compile.  All of Numba's code for arrays asks the model
    for `data`, so no list of functions that touch memory is needed.
    """

    def __init__(self, manager: Any, type_: DeviceArrayType) -> None:
        steps = types.UniTuple(types.intp, type_.ndim)
        self.has_elements = _has_model(manager, type_.dtype)
        element = type_.dtype if self.has_elements else types.uint8
        members = [
            ("meminfo", types.MemInfoPointer(element)),
            ("parent", types.pyobject),
            ("nitems", types.intp),
            ("itemsize", types.intp),
            ("data", types.CPointer(element)),
            ("shape", steps),
            ("strides", steps),
        ]
        self.type = type_
        super().__init__(manager, type_, members)

    def get_field_position(self, field: str) -> int:
        """Position of a field, by which all of Numba's own code gets at it."""
        if field == "data" and not self.type.is_host_accessible:
            refuse_access(self.type)
        if field == "data" and not self.has_elements:
            refuse_elements(self.type)
        return self.position(field)

    def traverse(self, builder: Any) -> list[tuple[types.Type, Callable[[Any], Any]]]:
        """Type and getter of each field, which reference counting asks for: it touches no memory of the array."""
        return [(member, partial(self.get, builder, pos=position)) for position, member in enumerate(self._members)]

    def position(self, field: str) -> int:
        """Position of a field for those who read or write none of the array's memory."""
        return int(super().get_field_position(field))


def _has_model(manager: Any, element: types.Type) -> bool:
    """Whether Numba can hold an element on the host."""
    try:
        manager.lookup(element)
    except NotImplementedError:
        return False
    return True
