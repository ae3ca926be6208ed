"""Between Python and compiled host functions: device arrays.

The compiled function holds a counted reference to the array object, and it gets the same object back where it returns
the array as it came.
"""

from __future__ import annotations

from typing import Any

from numba.extending import NativeValue, box, lower_cast, unbox

from kapi_types._numba_compat import as_dtype, cgutils
from kapi_types.device_arrays import views
from kapi_types.device_arrays.data_models import DeviceArrayModel
from kapi_types.device_arrays.device_array import DeviceArrayType

__all__ = ["ArrayValue", "python_function"]


def python_function(pyapi: Any, function: Any) -> Any:
    """A new reference to a module's function, in code that may be cached and run by another process."""
    return pyapi.unserialize(pyapi.serialize_object(function))


class ArrayValue:
    """The value of an array in compiled code: one to be filled in, or one to be looked at."""

    def __init__(self, type_: DeviceArrayType, c: Any, value: Any = None) -> None:
        self.type = type_
        self.context, self.builder, self.pyapi = c.context, c.builder, c.pyapi
        self.model: DeviceArrayModel = c.context.data_model_manager[type_]
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

    def read_numbers(self, numbers: Any) -> None:
        """Fill in from a tuple of the address, the lengths and the strides in bytes of all axes."""
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

    def keep(self, obj: Any) -> None:
        """Set the references to the array object."""
        start = self.builder.bitcast(obj, cgutils.voidptr_t)
        self.proxy.meminfo = self.pyapi.nrt_meminfo_new_from_pyobject(start, obj)
        self.proxy.parent = obj

    def dense(self, shape: list[Any], order: str) -> list[Any]:
        """Strides without gaps, in bytes."""
        axes = list(range(len(shape)))
        strides: dict[int, Any] = {}
        step = cgutils.intp_t(self.itemsize)
        for axis in reversed(axes) if order == "C" else axes:
            strides[axis] = step
            step = self.builder.mul(step, shape[axis], flags=["nsw"])
        return [strides[axis] for axis in axes]

    def read_by_call(self, function: Any, obj: Any, failed: Any) -> None:
        """Fill in from the numbers that a function of Python gives for an array object and its rank."""
        rank = self.pyapi.long_from_ssize_t(cgutils.intp_t(self.type.ndim))
        numbers = self.call(function, obj, rank)
        self.pyapi.decref(rank)
        with self.builder.if_then(self.is_result(numbers, failed), likely=True):
            self.read_numbers(numbers)
            self.pyapi.decref(numbers)

    def object_by_call(self, function: Any, env_manager: Any) -> Any:
        """The object that a function of Python gives for the parent, the dtype and the numbers; null if it raised."""
        builder, pyapi, parent = self.builder, self.pyapi, self.proxy.parent
        dtype = env_manager.read_const(env_manager.add_const(as_dtype(self.type.dtype)))
        owner = builder.select(cgutils.is_not_null(builder, parent), parent, pyapi.borrow_none())
        numbers = [pyapi.long_from_ssize_t(number) for number in self.numbers()]
        result = self.call(function, owner, dtype, *numbers)
        for each in numbers:
            pyapi.decref(each)
        return result

    def call(self, function: Any, *objects: Any) -> Any:
        """A new reference to what a module's function returns; null if it raises."""
        callee = python_function(self.pyapi, function)
        result = self.pyapi.call_function_objargs(callee, objects)
        self.pyapi.decref(callee)
        return result

    def is_result(self, result: Any, failed: Any) -> Any:
        """Whether a call has returned; `failed` says afterwards if not."""
        is_null = cgutils.is_null(self.builder, result)
        self.builder.store(is_null, failed)
        return self.builder.not_(is_null)


@unbox(DeviceArrayType)
def unbox_device_array(type_: DeviceArrayType, obj: Any, c: Any) -> NativeValue:
    """Read an array object; nothing waits for its work, since compiled code does not touch the memory."""
    array = ArrayValue(type_, c)
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    array.read_by_call(views.host_fields, obj, failed)
    with c.builder.if_then(c.builder.not_(c.builder.load(failed)), likely=True):
        array.keep(obj)
    return NativeValue(array.proxy._getvalue(), is_error=c.builder.load(failed))


@box(DeviceArrayType)
def box_device_array(type_: DeviceArrayType, value: Any, c: Any) -> Any:
    """Return the array object that was passed in, or an array of a part of its memory."""
    result = ArrayValue(type_, c, value).object_by_call(views.view_of, c.env_manager)
    c.context.nrt.decref(c.builder, type_, value)
    return result


@lower_cast(DeviceArrayType, DeviceArrayType)
def _cast(context: Any, builder: Any, from_type: DeviceArrayType, to_type: DeviceArrayType, value: Any) -> Any:
    return value  # one data model for all layouts and kinds of a rank and element
