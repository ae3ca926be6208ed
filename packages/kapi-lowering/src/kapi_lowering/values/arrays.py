"""Array elements and attributes. Constant indices alone count from the end, and contiguous arrays pay for no strides.

Indices are checked where the kernel's options say so: then an index outside its axis ends the work-item.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_lowering.numbers.conversion import convert
from kapi_lowering.values.records import store
from kapi_sim.language.intrinsics.records import alignment_of
from kapi_types import ArrayType
from kapi_types.weak import weak_int

__all__ = ["checked_indices", "element_pointer", "registry"]

registry = LoweringRegistry("kapi arrays")


def _indices(context: Any, builder: ir.IRBuilder, type_: types.Type, value: ir.Value) -> list[ir.Value]:
    """The index of each axis, in 64 bits."""
    if isinstance(type_, types.BaseTuple):
        parts = [(each, builder.extract_value(value, axis)) for axis, each in enumerate(type_.types)]
    else:
        parts = [(type_, value)]
    return [convert(builder, part, each, weak_int) for each, part in parts]


def element_pointer(
    context: Any, builder: ir.IRBuilder, array_type: ArrayType, array: ir.Value, index_type: types.Type, index: ir.Value
) -> ir.Value:
    """The address of one element, which exists where indices are checked.

    - `builder`: where to compute it.
    - `index_type`, `index`: an integer, or a tuple of one for each axis.
    """
    struct = context.make_helper(builder, array_type, array)
    indices = _indices(context, builder, index_type, index)
    indices = checked_indices(context, builder, indices, cgutils.unpack_tuple(builder, struct.shape))
    offset: ir.Value = I64(0)
    if array_type.has_strides:
        for axis, each in enumerate(indices):
            step = builder.mul(each, builder.extract_value(struct.strides, axis), flags=["nsw"])
            offset = step if axis == 0 else builder.add(offset, step, flags=["nsw"])
    else:
        for axis, each in enumerate(indices):
            if axis == 0:
                offset = each
            else:
                row = builder.mul(offset, builder.extract_value(struct.shape, axis), flags=["nsw"])
                offset = builder.add(row, each, flags=["nsw"])
    return builder.gep(struct.data, [offset], inbounds=True)


def checked_indices(
    context: Any, builder: ir.IRBuilder, indices: list[ir.Value | None], shape: list[ir.Value]
) -> list[Any]:
    """Count the indices of the leading axes from the start, and end the work-item if one lies outside.

    - `context`: the target, which knows what counts from the end, and whether indices are checked.
    - `builder`: where to compute them.
    - `indices`: the indices; None for a slice, which is handed back as it is.
    - `shape`: the extent of each axis.
    """
    counted = []
    for axis, index in enumerate(indices):
        position = index
        if index is not None and axis in context.axes_from_end:
            position = builder.add(index, shape[axis], flags=["nsw"])
        if index is not None and context.options.checks_bounds:
            with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", position, shape[axis])):
                context.call_conv.return_index_failure(builder, index, axis, shape[axis])
        counted.append(position)
    return counted


@registry.lower(operator.setitem, ArrayType, types.Any, types.Any)
def _setitem(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (array_type, index_type, _value_type), (array, index, value) = sig.args, args
    pointer = element_pointer(context, builder, array_type, array, index_type, index)
    known = alignment_of(as_dtype(array_type.dtype)) if array_type.aligned else 1
    store(context, builder, array_type.dtype, value, pointer, known)
    return context.get_dummy_value()


@registry.lower_cast(ArrayType, ArrayType)
def _to_weaker(context: Any, builder: ir.IRBuilder, source: Any, target: Any, value: ir.Value) -> ir.Value:
    """An array whose type says more than is asked for: of its layout, or of its shape."""
    array = context.make_helper(builder, source, value)
    result = context.make_helper(builder, target)
    result.data, result.shape = array.data, array.shape
    if target.has_strides and source.has_strides:
        result.strides = array.strides
    elif target.has_strides:
        step: ir.Value = I64(1)
        steps: list[ir.Value] = []
        for extent in reversed(cgutils.unpack_tuple(builder, array.shape)):
            steps.insert(0, step)
            step = builder.mul(step, extent)
        result.strides = cgutils.pack_array(builder, steps)
    return result._getvalue()


@registry.lower_getattr(ArrayType, "shape")
def _shape(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return context.make_helper(builder, type_, value).shape


@registry.lower_getattr(ArrayType, "ndim")
def _ndim(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return I64(type_.ndim)


@registry.lower_getattr(ArrayType, "size")
def _size(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    size: ir.Value = I64(1)
    for extent in cgutils.unpack_tuple(builder, context.make_helper(builder, type_, value).shape):
        size = builder.mul(size, extent)
    return size


@registry.lower_getattr(ArrayType, "itemsize")
def _itemsize(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return I64(context.get_abi_sizeof(context.element_type(type_.dtype)))


@registry.lower_getattr(ArrayType, "nbytes")
def _nbytes(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return builder.mul(_size(context, builder, type_, value), _itemsize(context, builder, type_, value))


@registry.lower_getattr(ArrayType, "dtype")
def _dtype(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    return context.get_dummy_value()


@registry.lower(len, ArrayType)
def _len(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return builder.extract_value(context.make_helper(builder, sig.args[0], args[0]).shape, 0)
