"""Attributes and methods of USM arrays, queues and events in compiled host functions."""

from __future__ import annotations

import operator
from typing import Any

from numba.extending import intrinsic, overload, overload_attribute, overload_classmethod, overload_method

from kapi_types._numba_compat import cgutils, types
from kapi_types.device_arrays.boxing import python_function
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.host_access import refuse_allocation
from kapi_types.usm import queue_waits
from kapi_types.usm.boxing import UsmArrayModel
from kapi_types.usm.queue_types import EventType, QueueType, SyclObjectType
from kapi_types.usm.usm_array import UsmArrayType

__all__: list[str] = []


# Numba wants the annotations of an overload and of what it returns to be the same.


@overload_attribute(UsmArrayType, "usm_type")
def _usm_type(array: Any) -> Any:
    kind = array.usm_type

    def get(array: Any) -> Any:
        return kind

    return get


@overload_attribute(UsmArrayType, "sycl_queue")
def _sycl_queue(array: Any) -> Any:
    def get(array: Any) -> Any:
        return _queue_of(array)

    return get


@intrinsic
def _queue_of(typing_context: Any, array: UsmArrayType) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model: UsmArrayModel = context.data_model_manager[array]
        parent = builder.extract_value(arguments[0], model.position("parent"))
        with _Python(context, builder) as python:
            has_parent = cgutils.is_not_null(builder, parent)
            queue = python.call(queue_waits.queue_of, builder.select(has_parent, parent, python.api.borrow_none()))
            proxy = cgutils.create_struct_proxy(QueueType())(context, builder)
            proxy.meminfo = python.api.nrt_meminfo_new_from_pyobject(builder.bitcast(queue, cgutils.voidptr_t), queue)
            proxy.object = queue
            python.api.decref(queue)
        return proxy._getvalue()

    return QueueType()(array), generate


@overload(operator.eq)
def _equal(first: Any, second: Any) -> Any:
    if not isinstance(first, SyclObjectType) or first != second:
        return None

    def equal(first: Any, second: Any) -> Any:
        return _are_equal(first, second)

    return equal


@overload(operator.ne)
def _differ(first: Any, second: Any) -> Any:
    if not isinstance(first, SyclObjectType) or first != second:
        return None

    def differ(first: Any, second: Any) -> Any:
        return not _are_equal(first, second)

    return differ


@intrinsic
def _are_equal(typing_context: Any, first: SyclObjectType, second: SyclObjectType) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        objects = [_object(context, builder, first, value) for value in arguments]
        result = cgutils.alloca_once_value(builder, cgutils.true_bit)
        with builder.if_then(builder.icmp_unsigned("!=", *objects)), _Python(context, builder) as python:
            answer = python.call(operator.eq, *objects)
            truth = python.api.object_istrue(answer)
            python.api.decref(answer)
            builder.store(builder.icmp_signed("!=", truth, truth.type(0)), result)
        return builder.load(result)

    return types.boolean(first, second), generate


@overload_method(QueueType, "wait")
@overload_method(EventType, "wait")
def _wait(waited: Any) -> Any:
    def wait(waited: Any) -> Any:
        return _wait_for(waited)

    return wait


@intrinsic
def _wait_for(typing_context: Any, waited: SyclObjectType) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with _Python(context, builder) as python:
            python.api.decref(python.call(_call_wait, _object(context, builder, waited, arguments[0])))
        return context.get_dummy_value()

    return types.none(waited), generate


def _call_wait(waited: Any) -> None:
    waited.wait()


# Numba looks for these by the exact class.
@overload_classmethod(UsmArrayType, "_allocate")
@overload_classmethod(DeviceArrayType, "_allocate")
def _allocate(cls: Any, size: Any, alignment: Any) -> Any:
    refuse_allocation(cls.instance_type)


def _object(context: Any, builder: Any, type_: SyclObjectType, value: Any) -> Any:
    return cgutils.create_struct_proxy(type_)(context, builder, value=value).object


class _Python:
    """Holds the interpreter lock, which a function compiled with `nogil` has given up, around calls of Python."""

    def __init__(self, context: Any, builder: Any) -> None:
        self.context, self.builder = context, builder
        self.api = context.get_python_api(builder)

    def __enter__(self) -> _Python:
        self.lock = self.api.gil_ensure()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.api.gil_release(self.lock)

    def call(self, function: Any, *objects: Any) -> Any:
        """Call a function; what it raises, the compiled function raises."""
        callee = python_function(self.api, function)
        result = self.api.call_function_objargs(callee, list(objects))
        self.api.decref(callee)
        with self.builder.if_then(cgutils.is_null(self.builder, result), likely=False):
            self.api.gil_release(self.lock)
            self.context.call_conv.return_exc(self.builder)
        return result
