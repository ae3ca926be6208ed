"""Numba's data models of a USM array, a queue and an event in compiled host functions."""

from __future__ import annotations

from typing import Any

from numba.extending import models, register_model

from kapi_types._numba_compat import types
from kapi_types.device_arrays.models import DeviceArrayModel
from kapi_types.usm.queue import EventType, QueueType, SyclObjectType
from kapi_types.usm.usm_array import UsmArrayType

__all__ = ["SyclObjectModel", "UsmArrayModel"]


@register_model(UsmArrayType)
class UsmArrayModel(DeviceArrayModel):
    """A USM array in a function that runs on the host, with the fields of any device array's."""


@register_model(QueueType)
@register_model(EventType)
class SyclObjectModel(models.StructModel):
    """A queue or event in a function that runs on the host.

    Attributes
    ----------
    meminfo : MemInfoPointer
        The counted reference that keeps `object` alive.
    object : pyobject
        The Python object; borrowed from `meminfo`.
    """

    def __init__(self, manager: Any, type_: SyclObjectType) -> None:
        members = [("meminfo", types.MemInfoPointer(types.voidptr)), ("object", types.pyobject)]
        super().__init__(manager, type_, members)
