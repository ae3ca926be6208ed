"""USM arrays, queues and events in compiled host functions: their data models, and conversion from Python and back.

An array is read from its structure where its class has the known layout (`kapi_types.usm.structures`), else by
its protocol (`kapi_types.usm.views.host_fields`). Either way the compiled function holds a counted reference to the
array object, and it gets the same object back where it returns the array as it came.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from numba.extending import NativeValue, box, models, register_model, unbox

from kapi_types._numba_compat import as_dtype, cgutils, types
from kapi_types.device_arrays.boxing import ArrayValue, python_function
from kapi_types.device_arrays.data_models import DeviceArrayModel
from kapi_types.usm import queue_waits, views
from kapi_types.usm.queue_types import EventType, QueueType, SyclObjectType
from kapi_types.usm.structures import C_CONTIGUOUS, DpnpArray, Object, UsmNdarray, class_addresses
from kapi_types.usm.usm_array import UsmArrayType

__all__ = ["SyclObjectModel", "UsmArrayModel"]


class _ClassAddresses(int):
    """The address of `class_addresses` in this process: pickled with compiled code, by name."""

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return _class_addresses, ()

    # Numba caches pickled values by equality, and this must not equal a number.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


_here = _ClassAddresses(ctypes.addressof(class_addresses))


def _class_addresses() -> _ClassAddresses:
    return _here


@unbox(UsmArrayType)
def unbox_usm_array(type_: UsmArrayType, obj: Any, c: Any) -> NativeValue:
    """Read an array object, after waiting for its queue if the function may touch the memory.

    dpnp hands out no events of an array, so the wait is for all work of the queue.
    """
    builder, pyapi = c.builder, c.pyapi
    array = _UsmValue(type_, c)
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)

    struct = _struct(obj, c)
    with builder.if_else(cgutils.is_not_null(builder, struct), likely=True) as (known, unknown):
        with known:
            array.read_struct(struct)
        with unknown:
            array.read_by_call(views.host_fields, obj, failed)

    if type_.is_host_accessible:
        with builder.if_then(builder.not_(builder.load(failed)), likely=True):
            waited = array.call(queue_waits.wait_for, obj)
            with builder.if_then(array.is_result(waited, failed), likely=True):
                pyapi.decref(waited)

    with builder.if_then(builder.not_(builder.load(failed)), likely=True):
        array.keep(obj)
    return NativeValue(array.proxy._getvalue(), is_error=builder.load(failed))


@box(UsmArrayType)
def box_usm_array(type_: UsmArrayType, value: Any, c: Any) -> Any:
    """Return the array object that was passed in, or an array of a part of its memory."""
    builder, pyapi = c.builder, c.pyapi
    array = _UsmValue(type_, c, value)
    parent = array.proxy.parent
    is_parent = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(cgutils.is_not_null(builder, parent), likely=True):
        struct = _struct(parent, c)
        with builder.if_then(cgutils.is_not_null(builder, struct), likely=True):
            builder.store(array.equals_struct(struct), is_parent)

    result = cgutils.alloca_once_value(builder, parent)
    with builder.if_else(builder.load(is_parent), likely=True) as (same, other):
        with same:
            pyapi.incref(parent)
        with other:
            builder.store(array.object_by_call(views.view_of, c.env_manager), result)
    c.context.nrt.decref(builder, type_, value)
    return builder.load(result)


@unbox(QueueType)
@unbox(EventType)
def unbox_sycl_object(type_: SyclObjectType, obj: Any, c: Any) -> NativeValue:
    """Hold a counted reference to the object."""
    proxy = cgutils.create_struct_proxy(type_)(c.context, c.builder)
    proxy.meminfo = c.pyapi.nrt_meminfo_new_from_pyobject(c.builder.bitcast(obj, cgutils.voidptr_t), obj)
    proxy.object = obj
    return NativeValue(proxy._getvalue())


@box(QueueType)
@box(EventType)
def box_sycl_object(type_: SyclObjectType, value: Any, c: Any) -> Any:
    """Return the object itself."""
    obj = cgutils.create_struct_proxy(type_)(c.context, c.builder, value=value).object
    c.pyapi.incref(obj)
    c.context.nrt.decref(c.builder, type_, value)
    return obj


def _struct(obj: Any, c: Any) -> Any:
    """Address of the array structure of an object whose class has the known layout, or null."""
    builder, pyapi = c.builder, c.pyapi
    number = python_function(pyapi, _here)
    addresses = builder.bitcast(pyapi.long_as_voidptr(number), cgutils.voidptr_t.as_pointer())
    pyapi.decref(number)
    wrapper, array = (builder.load(cgutils.gep(builder, addresses, position)) for position in (0, 1))
    start = builder.bitcast(obj, cgutils.voidptr_t)
    cls = _load(builder, start, Object.type, cgutils.voidptr_t)
    result = cgutils.alloca_once_value(builder, cgutils.get_null_value(cgutils.voidptr_t))
    with builder.if_then(builder.icmp_unsigned("==", cls, wrapper)):
        inner = _load(builder, start, DpnpArray.inner, cgutils.voidptr_t)
        inner_class = _load(builder, inner, Object.type, cgutils.voidptr_t)
        with builder.if_then(builder.icmp_unsigned("==", inner_class, array), likely=True):
            builder.store(inner, result)
    with builder.if_then(builder.icmp_unsigned("==", cls, array)):
        builder.store(start, result)
    return builder.load(result)


def _load(builder: Any, start: Any, field: Any, type_: Any) -> Any:
    return builder.load(cgutils.pointer_add(builder, start, field.offset, type_.as_pointer()))


class _UsmValue(ArrayValue):
    """The value of a USM array, which may be read from its structure."""

    def read_struct(self, struct: Any) -> None:
        """Fill in from an array structure."""
        builder, rank = self.builder, self.type.ndim
        numbers = cgutils.intp_t.as_pointer()
        lengths = _load(builder, struct, UsmNdarray.shape, numbers)
        shape = [builder.load(cgutils.gep(builder, lengths, axis)) for axis in range(rank)]
        if self.type.layout == "A":
            strides = self._strides_of(struct, shape)
        else:
            strides = self.dense(shape, self.type.layout)
        self.fill(_load(builder, struct, UsmNdarray.data, cgutils.voidptr_t), shape, strides)

    def equals_struct(self, struct: Any) -> Any:
        """Whether an array structure is of the same memory: not of a part of it, nor of other elements."""
        builder = self.builder
        number = _load(builder, struct, UsmNdarray.element, cgutils.int32_t)
        rank = _load(builder, struct, UsmNdarray.rank, cgutils.int32_t)
        dtype = as_dtype(self.type.dtype)
        result = builder.and_(
            builder.icmp_signed("==", number, cgutils.int32_t(dtype.num)),
            builder.icmp_signed("==", rank, cgutils.int32_t(self.type.ndim)),
        )
        slot = cgutils.alloca_once_value(builder, result)
        with builder.if_then(result, likely=True):
            other = _UsmValue(self.type, self)
            other.read_struct(struct)
            for mine, its in zip(self.numbers(), other.numbers(), strict=True):
                result = builder.and_(result, builder.icmp_signed("==", mine, its))
            builder.store(result, slot)
        return builder.load(slot)

    def _strides_of(self, struct: Any, shape: list[Any]) -> list[Any]:
        """The strides that the structure has, or those that its flags imply."""
        builder = self.builder
        stored = _load(builder, struct, UsmNdarray.strides, cgutils.intp_t.as_pointer())
        flags = _load(builder, struct, UsmNdarray.flags, cgutils.int32_t)
        c_bit = builder.and_(flags, cgutils.int32_t(C_CONTIGUOUS))
        is_c = builder.icmp_unsigned("!=", c_bit, cgutils.int32_t(0))
        implied = [
            builder.select(is_c, dense_c, dense_f)
            for dense_c, dense_f in zip(self.dense(shape, "C"), self.dense(shape, "F"), strict=True)
        ]
        slots = [cgutils.alloca_once_value(builder, each) for each in implied]
        with builder.if_then(cgutils.is_not_null(builder, stored), likely=True):
            for axis, slot in enumerate(slots):
                elements = builder.load(cgutils.gep(builder, stored, axis))
                builder.store(builder.mul(elements, cgutils.intp_t(self.itemsize)), slot)
        return [builder.load(slot) for slot in slots]


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
