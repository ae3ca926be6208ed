"""Types of the variables of a kernel, for arrays of any library that speaks the USM array protocol.

Neither a device nor dpnp is needed: a few lines stand in for an array.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from kapi_types import ItemType, typeof_argument
from kapi_types.kernel_typing import KernelTypingContext, spell_type


class ProtocolArray:
    """NumPy memory that speaks the protocol of USM arrays."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__sycl_usm_array_interface__ = {
            "data": (array.__array_interface__["data"][0], False),
            "shape": array.shape,
            "strides": tuple(stride // array.itemsize for stride in array.strides),
            "offset": 0,
            "typestr": array.dtype.str,
            "version": 1,
            "syclobj": None,
        }


data = np.zeros((100, 64), np.float32)
print("arguments")
for text, value in {
    "data": ProtocolArray(data),
    "data.T": ProtocolArray(data.T),
    "data[:, ::2]": ProtocolArray(data[:, ::2]),
    "3": 3,
    "0.5": 0.5,
    "numpy.int32(3)": np.int32(3),
}.items():
    print(f"  {text:<15} {typeof_argument(value)}")

context = KernelTypingContext()


def result(function, *operands):
    """The type of a call in a kernel."""
    return context.resolve_function_type(context.resolve_value_type(function), operands, {}).return_type


f32, i32, weak_int, weak_float = (typeof_argument(value) for value in (np.float32(1), np.int32(1), 1, 1.0))
print("operators and functions")
for text, type_ in {
    "float32 * 0.5": result(operator.mul, f32, weak_float),
    "float32 * int32": result(operator.mul, f32, i32),
    "int32 * 2": result(operator.mul, i32, weak_int),
    "math.sqrt(float32)": result(math.sqrt, f32),
    "math.floor(float32)": result(math.floor, f32),
}.items():
    print(f"  {text:<20} {spell_type(type_)}")

get_id = context.resolve_getattr(ItemType(2), "get_id")
print(f"  {'item.get_id(0)':<20} {spell_type(context.resolve_function_type(get_id, (weak_int,), {}).return_type)}")
