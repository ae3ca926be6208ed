"""Between Python and compiled host functions: USM arrays, queues and events.

An array is read from its structure where its class has the known layout (`kapi_types.usm.structures`), else by
its protocol (`kapi_types.usm.views.host_fields`). Either way the compiled function holds a counted reference to the
array object, and it gets the same object back where it returns the array as it came.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from numba.extending import NativeValue, box, unbox

from kapi_types._numba_compat import as_dtype, cgutils
from kapi_types.usm import views
from kapi_types.usm.models import UsmArrayModel
from kapi_types.usm.queue import EventType, QueueType, SyclObjectType
from kapi_types.usm.structures import C_CONTIGUOUS, DpnpArray, Object, UsmNdarray, class_addresses
from kapi_types.usm.usm_array import UsmArrayType

__all__ = ["python_function"]


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


def python_function(pyapi: Any, function: Any) -> Any:
    """A new reference to a module's function, in code that may be cached and run by another process."""
    return pyapi.unserialize(pyapi.serialize_object(function))


@unbox(UsmArrayType)
def unbox_usm_array(type_: UsmArrayType, obj: Any, c: Any) -> NativeValue:
    """Read an array object, after waiting for its queue if the function may touch the memory.

    dpnp hands out no events of an array, so the wait is for all work of the queue.
    """
    builder, pyapi = c.builder, c.pyapi
    array = _Array(type_, c)
    failed = cgutils.alloca_once_value(builder, cgutils.false_bit)

    def fails_if_null(result: Any) -> Any:
        is_null = cgutils.is_null(builder, result)
        builder.store(is_null, failed)
        return builder.not_(is_null)

    struct = _struct(obj, c)
    with builder.if_else(cgutils.is_not_null(builder, struct), likely=True) as (known, unknown):
        with known:
            array.read_struct(struct)
        with unknown:
            function = python_function(pyapi, views.host_fields)
            rank = pyapi.long_from_ssize_t(cgutils.intp_t(type_.ndim))
            numbers = pyapi.call_function_objargs(function, [obj, rank])
            pyapi.decref(function)
            pyapi.decref(rank)
            with builder.if_then(fails_if_null(numbers), likely=True):
                array.read_numbers(numbers)
                pyapi.decref(numbers)

    if type_.is_host_accessible:
        with builder.if_then(builder.not_(builder.load(failed)), likely=True):
            function = python_function(pyapi, views.wait_for)
            waited = pyapi.call_function_objargs(function, [obj])
            pyapi.decref(function)
            with builder.if_then(fails_if_null(waited), likely=True):
                pyapi.decref(waited)

    with builder.if_then(builder.not_(builder.load(failed)), likely=True):
        array.keep(obj)
    return NativeValue(array.proxy._getvalue(), is_error=builder.load(failed))


@box(UsmArrayType)
def box_usm_array(type_: UsmArrayType, value: Any, c: Any) -> Any:
    """Return the array object that was passed in, or an array of a part of its memory."""
    builder, pyapi = c.builder, c.pyapi
    array = _Array(type_, c, value)
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
            function = python_function(pyapi, views.view_of)
            dtype = c.env_manager.read_const(c.env_manager.add_const(as_dtype(type_.dtype)))
            owner = builder.select(cgutils.is_not_null(builder, parent), parent, pyapi.borrow_none())
            numbers = [pyapi.long_from_ssize_t(number) for number in array.numbers()]
            builder.store(pyapi.call_function_objargs(function, [owner, dtype, *numbers]), result)
            for each in (function, *numbers):
                pyapi.decref(each)
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


class _Array:
    """The value of an array: one to be filled in, or one to be looked at."""

    def __init__(self, type_: UsmArrayType, c: Any, value: Any = None) -> None:
        self.type = type_
        self.context, self.builder, self.pyapi = c.context, c.builder, c.pyapi
        self.model: UsmArrayModel = c.context.data_model_manager[type_]
        self.proxy = cgutils.create_struct_proxy(type_)(c.context, c.builder, value=value)
        self.itemsize = as_dtype(type_.dtype).itemsize

    def fill(self, address: Any, shape: list[Any], strides: list[Any]) -> None:
        """Set what the layout of the array gives; strides are in bytes."""
        builder = self.builder
        nitems = cgutils.intp_t(1)
        for length in shape:
            nitems = builder.mul(nitems, length, flags=["nsw"])
        position = self.model.position("data")
        self.proxy[position] = builder.bitcast(address, self.context.get_value_type(self.model.get_type(position)))
        self.proxy.nitems = nitems
        self.proxy.itemsize = cgutils.intp_t(self.itemsize)
        self.proxy.shape = cgutils.pack_array(builder, shape, cgutils.intp_t)
        self.proxy.strides = cgutils.pack_array(builder, strides, cgutils.intp_t)

    def read_struct(self, struct: Any) -> None:
        """Fill in from an array structure."""
        builder, rank = self.builder, self.type.ndim
        numbers = cgutils.intp_t.as_pointer()
        lengths = _load(builder, struct, UsmNdarray.shape, numbers)
        shape = [builder.load(cgutils.gep(builder, lengths, axis)) for axis in range(rank)]
        if self.type.layout == "A":
            strides = self._strides_of(struct, shape)
        else:
            strides = self._dense(shape, self.type.layout)
        self.fill(_load(builder, struct, UsmNdarray.data, cgutils.voidptr_t), shape, strides)

    def read_numbers(self, numbers: Any) -> None:
        """Fill in from the tuple of `views.host_fields`."""
        rank = self.type.ndim
        items = [self.pyapi.tuple_getitem(numbers, position) for position in range(1 + 2 * rank)]
        steps = [self.pyapi.number_as_ssize_t(item) for item in items[1:]]
        self.fill(self.pyapi.long_as_voidptr(items[0]), steps[:rank], steps[rank:])

    def numbers(self) -> list[Any]:
        """Address of the first element, lengths and strides of all axes."""
        builder = self.builder
        address = builder.ptrtoint(self.proxy[self.model.position("data")], cgutils.intp_t)
        steps = (self.proxy.shape, self.proxy.strides)
        return [address, *(number for each in steps for number in cgutils.unpack_tuple(builder, each))]

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
            other = _Array(self.type, self)
            other.read_struct(struct)
            for mine, its in zip(self.numbers(), other.numbers(), strict=True):
                result = builder.and_(result, builder.icmp_signed("==", mine, its))
            builder.store(result, slot)
        return builder.load(slot)

    def keep(self, obj: Any) -> None:
        """Set the references to the array object."""
        start = self.builder.bitcast(obj, cgutils.voidptr_t)
        self.proxy.meminfo = self.pyapi.nrt_meminfo_new_from_pyobject(start, obj)
        self.proxy.parent = obj

    def _strides_of(self, struct: Any, shape: list[Any]) -> list[Any]:
        """The strides that the structure has, or those that its flags imply."""
        builder = self.builder
        stored = _load(builder, struct, UsmNdarray.strides, cgutils.intp_t.as_pointer())
        flags = _load(builder, struct, UsmNdarray.flags, cgutils.int32_t)
        c_bit = builder.and_(flags, cgutils.int32_t(C_CONTIGUOUS))
        is_c = builder.icmp_unsigned("!=", c_bit, cgutils.int32_t(0))
        implied = [
            builder.select(is_c, dense_c, dense_f)
            for dense_c, dense_f in zip(self._dense(shape, "C"), self._dense(shape, "F"), strict=True)
        ]
        slots = [cgutils.alloca_once_value(builder, each) for each in implied]
        with builder.if_then(cgutils.is_not_null(builder, stored), likely=True):
            for axis, slot in enumerate(slots):
                elements = builder.load(cgutils.gep(builder, stored, axis))
                builder.store(builder.mul(elements, cgutils.intp_t(self.itemsize)), slot)
        return [builder.load(slot) for slot in slots]

    def _dense(self, shape: list[Any], order: str) -> list[Any]:
        """Strides without gaps, in bytes."""
        axes = list(range(len(shape)))
        strides: dict[int, Any] = {}
        step = cgutils.intp_t(self.itemsize)
        for axis in reversed(axes) if order == "C" else axes:
            strides[axis] = step
            step = self.builder.mul(step, shape[axis], flags=["nsw"])
        return [strides[axis] for axis in axes]
