"""Elements and parts of arrays.

A part is a pointer to their first element, a shape and strides. A slice means what it means in Python.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, as_dtype, cgutils, types
from kapi_lowering.llvm_calls import I64
from kapi_lowering.numbers.conversion import convert, held_bound
from kapi_lowering.values.arrays import checked_indices, element_pointer
from kapi_lowering.values.records import byte_offset
from kapi_types import ArrayType
from kapi_types.kernel_typing.rules.arrays import SliceType, index_parts
from kapi_types.records import RecordRefType
from kapi_types.weak import weak_int

__all__ = ["registry"]

registry = LoweringRegistry("kapi views")


@registry.lower(slice, types.VarArg(types.Any))
def _slice(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    operands = zip(args, sig.args, strict=True)
    given = iter(held_bound(builder, value, type_) for value, type_ in operands if isinstance(type_, types.Integer))
    bounds = [next(given) if is_given else I64(0) for is_given in sig.return_type.given]
    return cgutils.pack_array(builder, bounds)


def _strides(builder: ir.IRBuilder, type_: ArrayType, struct: Any) -> list[ir.Value]:
    """Elements from one index to the next, of each axis."""
    if type_.has_strides:
        return list(cgutils.unpack_tuple(builder, struct.strides))
    strides: list[ir.Value] = [I64(1)] * type_.ndim
    for axis in reversed(range(type_.ndim - 1)):
        extent = builder.extract_value(struct.shape, axis + 1)
        strides[axis] = builder.mul(strides[axis + 1], extent, flags=["nsw"])
    return strides


def _set_extents(context: Any, builder: ir.IRBuilder, type_: ArrayType, view: Any, shape: Any, strides: Any) -> None:
    made = types.UniTuple(weak_int, type_.ndim)
    view.shape = context.make_tuple(builder, made, shape)
    if type_.has_strides:
        view.strides = context.make_tuple(builder, made, strides)


def _bounds(
    builder: ir.IRBuilder, type_: SliceType, value: ir.Value, length: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The first index, the step, and the number of indices of a slice along an axis of `length` elements."""
    start, stop, step = (
        builder.extract_value(value, position) if is_given else None for position, is_given in enumerate(type_.given)
    )
    zero, one, minus_one = I64(0), I64(1), I64(-1)
    step = one if step is None else step
    is_down = builder.icmp_signed("<", step, zero)
    lowest = builder.select(is_down, minus_one, zero)
    highest = builder.select(is_down, builder.sub(length, one), length)

    def clamped(bound: ir.Value) -> ir.Value:
        bound = builder.select(builder.icmp_signed("<", bound, zero), builder.add(bound, length), bound)
        bound = builder.select(builder.icmp_signed("<", bound, zero), lowest, bound)
        return builder.select(builder.icmp_signed(">=", bound, length), highest, bound)

    start = builder.select(is_down, highest, lowest) if start is None else clamped(start)
    stop = builder.select(is_down, lowest, highest) if stop is None else clamped(stop)
    span = builder.select(is_down, builder.sub(start, stop), builder.sub(stop, start))
    size = builder.select(is_down, builder.neg(step), step)
    is_empty = builder.or_(builder.icmp_signed("<=", span, zero), builder.icmp_signed("==", size, zero))
    divisor = builder.select(is_empty, one, size)
    count = builder.add(builder.sdiv(builder.sub(span, one), divisor), one)
    return builder.select(is_empty, zero, start), step, builder.select(is_empty, zero, count)


@registry.lower(operator.getitem, ArrayType, types.Any)
def _getitem(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    (array_type, index_type), (array, index) = sig.args, args
    if not isinstance(sig.return_type, ArrayType):
        pointer = element_pointer(context, builder, array_type, array, index_type, index)
        if isinstance(sig.return_type, RecordRefType):
            return builder.bitcast(pointer, context.get_value_type(sig.return_type))
        return context.unpack_value(builder, array_type.dtype, pointer, None if array_type.aligned else 1)
    struct = context.make_helper(builder, array_type, array)
    strides = _strides(builder, array_type, struct)
    shape = list(cgutils.unpack_tuple(builder, struct.shape))
    offset: ir.Value = I64(0)
    kept_shape, kept_strides = [], []
    parts = index_parts(index_type)
    values = cgutils.unpack_tuple(builder, index) if isinstance(index_type, types.BaseTuple) else [index]
    given = [
        None if isinstance(p, SliceType) else convert(builder, v, p, weak_int)
        for p, v in zip(parts, values, strict=True)
    ]
    starts = checked_indices(context, builder, given, shape)
    for axis, (type_, start) in enumerate(zip(parts, starts, strict=True)):
        if isinstance(type_, SliceType):
            start, step, count = _bounds(builder, type_, values[axis], shape[axis])
            kept_shape.append(count)
            kept_strides.append(builder.mul(step, strides[axis]))
        offset = builder.add(offset, builder.mul(start, strides[axis], flags=["nsw"]), flags=["nsw"])
    rest = len(parts)
    view = context.make_helper(builder, sig.return_type)
    view.data = builder.gep(struct.data, [offset])
    _set_extents(context, builder, sig.return_type, view, kept_shape + shape[rest:], kept_strides + strides[rest:])
    return view._getvalue()


@registry.lower("static_getitem", ArrayType, types.StringLiteral)
def _field_of_all(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    array_type, (array, name), wanted = sig.args[0], args, sig.return_type
    record = array_type.dtype
    struct = context.make_helper(builder, array_type, array)
    held = record.typeof(name)
    extents = list(held.shape) if isinstance(held, types.NestedArray) else []
    step = I64(as_dtype(record).itemsize // as_dtype(wanted.dtype).itemsize)
    strides = [builder.mul(stride, step, flags=["nsw"]) for stride in _strides(builder, array_type, struct)]
    strides += [I64(math.prod(extents[axis + 1 :])) for axis in range(len(extents))]
    shape = [*cgutils.unpack_tuple(builder, struct.shape), *map(I64, extents)]
    view = context.make_helper(builder, wanted)
    view.data = byte_offset(builder, struct.data, record.offset(name), context.element_type(wanted.dtype))
    _set_extents(context, builder, wanted, view, shape, strides)
    return view._getvalue()


@registry.lower_getattr(ArrayType, "T")
def _transposed(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    if type_.ndim < 2:
        return value
    struct = context.make_helper(builder, type_, value)
    wanted = type_.copy(layout={"C": "F", "F": "C"}.get(type_.layout, "A"))
    view = context.make_helper(builder, wanted)
    view.data = struct.data
    shape = cgutils.unpack_tuple(builder, struct.shape)
    _set_extents(context, builder, wanted, view, shape[::-1], _strides(builder, type_, struct)[::-1])
    return view._getvalue()


@registry.lower_getattr(ArrayType, "strides")
def _strides_in_bytes(context: Any, builder: ir.IRBuilder, type_: Any, value: ir.Value) -> ir.Value:
    itemsize = I64(context.get_abi_sizeof(context.element_type(type_.dtype)))
    strides = _strides(builder, type_, context.make_helper(builder, type_, value))
    scaled = [builder.mul(stride, itemsize) for stride in strides]
    return context.make_tuple(builder, types.UniTuple(weak_int, type_.ndim), scaled)
