"""Small vectors: held as tuples of one type, and computed element by element by the code that numbers have."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import LoweringRegistry, types
from kapi_lowering.llvm_calls import I64
from kapi_sim.language.table.intrinsics import rows
from kapi_types import ArrayType
from kapi_types.kernel_api import ConstantType, VecType
from kapi_types.kernel_typing.calls.vectors import VecClassType
from kapi_types.kernel_typing.rules.functions import TableFunctionType
from kapi_types.kernel_typing.rules.vectors import ELEMENTWISE, element_of, holds_vector, swizzled
from kapi_types.weak import weak_int

__all__ = ["LOWERED", "elementwise", "is_elementwise", "registry"]

registry = LoweringRegistry("kapi vectors")

LOWERED = {row.key for row in rows(family="vector")}


def _element(builder: ir.IRBuilder, type_: types.Type, value: ir.Value, position: int) -> ir.Value:
    return builder.extract_value(value, position) if isinstance(type_, VecType) else value


def is_elementwise(function: Any, args: tuple[types.Type, ...]) -> bool:
    """Whether a call is one of an operator or a function of numbers, and a vector is among its arguments."""
    if not holds_vector(args):
        return False
    return isinstance(function, TableFunctionType) or getattr(function, "typing_key", function) in ELEMENTWISE


def elementwise(context: Any, function: Any, sig: Any) -> Callable[..., ir.Value]:
    """The code of an operator or function of numbers for a vector: that of numbers, for each element."""
    of_elements = element_of(sig.return_type)(*map(element_of, sig.args))
    implementation = context.get_function(function, of_elements)

    def compute(builder: ir.IRBuilder, args: Sequence[ir.Value], loc: Any = None) -> ir.Value:
        made = [
            implementation(
                builder, [_element(builder, type_, arg, position) for type_, arg in zip(sig.args, args, strict=True)]
            )
            for position in range(len(sig.return_type))
        ]
        return context.make_tuple(builder, sig.return_type, made)

    return compute


@registry.lower("Vec", types.VarArg(types.Any))
def _vec(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    elements = [
        _element(builder, type_, arg, position)
        for type_, arg in zip(sig.args, args, strict=True)
        for position in range(len(type_) if isinstance(type_, VecType) else 1)
    ]
    return context.make_tuple(builder, sig.return_type, elements)


@registry.lower_getattr_generic(VecType)
def _swizzle(context: Any, builder: ir.IRBuilder, type_: VecType, value: ir.Value, name: str) -> ir.Value:
    elements = [builder.extract_value(value, position) for position in swizzled(type_, name) or ()]
    return elements[0] if len(elements) == 1 else context.make_tuple(builder, VecType(type_.dtype, len(name)), elements)


@registry.lower_getattr(VecClassType, "load")
def _method_of_class(context: Any, builder: ir.IRBuilder, type_: VecClassType, value: ir.Value) -> ir.Value:
    return context.get_dummy_value()


@registry.lower("Vec.astype", VecType, types.Any)
def _astype(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    return context.cast(builder, args[0], sig.args[0], sig.return_type)


def _indices(
    context: Any, builder: ir.IRBuilder, array: ArrayType, index_type: types.Type, index: ir.Value, length: int
) -> Iterator[tuple[types.UniTuple, ir.Value]]:
    """The type and the value of the index of each element."""
    type_ = types.UniTuple(weak_int, array.ndim)
    if isinstance(index_type, types.BaseTuple):
        parts = [(each, builder.extract_value(index, axis)) for axis, each in enumerate(index_type.types)]
    else:
        parts = [(index_type, index)]
    leading = [context.cast(builder, value, from_, weak_int) for from_, value in parts]
    for position in range(length):
        yield type_, context.make_tuple(builder, type_, [*leading, I64(position)])


@registry.lower("Vec.load", ArrayType, types.Any, ConstantType)
def _load(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    array, index_type, _length = sig.args
    elements = [
        context.get_function(operator.getitem, array.dtype(array, type_))(builder, [args[0], index])
        for type_, index in _indices(context, builder, array, index_type, args[1], len(sig.return_type))
    ]
    return context.make_tuple(builder, sig.return_type, elements)


@registry.lower("Vec.store", VecType, ArrayType, types.Any)
def _store(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> ir.Value:
    vector, array, index_type = sig.args
    for position, (type_, index) in enumerate(_indices(context, builder, array, index_type, args[2], len(vector))):
        value = context.cast(builder, builder.extract_value(args[0], position), vector.dtype, array.dtype)
        put = context.get_function(operator.setitem, types.none(array, type_, array.dtype))
        put(builder, [args[1], index, value])
    return context.get_dummy_value()
