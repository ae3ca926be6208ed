"""The SPIR-V entry point around a lowered kernel: unpacks the one by-value argument and guards the index space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir

from kapi_sim import AddressSpace
from kapi_spirv._numba_compat import cgutils, types
from kapi_spirv.codegen import SpirvCodeLibrary
from kapi_spirv.context import SpirvTargetContext
from kapi_spirv.lowering.builtins import I32, I64
from kapi_spirv.lowering.conversion import convert
from kapi_spirv.lowering.index_space import work_item_query
from kapi_spirv.module import PackedLayout, Parameter
from kapi_types import ItemType, UsmArrayType
from kapi_types.weak import weak_int

__all__ = ["build_entry_point", "describe_parameters", "packed_layout"]

_SCALAR_CODES = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "float32": "f", "float64": "d", "bool": "B", "weak_bool": "B", "weak_int": "q", "weak_float": "d",
}  # fmt: skip
_LLVM_OF_CODE = {
    "b": ir.IntType(8), "B": ir.IntType(8), "h": ir.IntType(16), "H": ir.IntType(16), "i": I32, "I": I32, "q": I64,
    "Q": I64, "f": ir.FloatType(), "d": ir.DoubleType(),
}  # fmt: skip


_ELEMENTS = "bools, integers of 8 to 64 bits, float32 or float64"


def describe_parameters(names: Sequence[str], args: Sequence[types.Type]) -> tuple[Parameter, ...]:
    """The parameters of a kernel after its first, by name and type.

    Raises
    ------
    TypeError
        If a type is none that a kernel parameter can have.
    """
    return tuple(_describe(name, type_) for name, type_ in zip(names, args, strict=True))


def _describe(name: str, type_: types.Type) -> Parameter:
    if isinstance(type_, UsmArrayType):
        if str(type_.dtype) not in _SCALAR_CODES:
            raise TypeError(f"elements of parameter {name!r} must be {_ELEMENTS}, got {type_.dtype}")
        is_local = type_.address_space is AddressSpace.LOCAL
        return Parameter(name, "local" if is_local else "array", type_, has_strides=type_.has_strides)
    if str(type_) in _SCALAR_CODES:
        return Parameter(name, "scalar", type_)
    raise TypeError(f"parameter {name!r} must be an array, local memory or a number, got {type_}")


def packed_layout(index_type: types.Type, parameters: Sequence[Parameter]) -> PackedLayout:
    """The layout of the by-value argument of a kernel."""
    return PackedLayout.of(list(_fields(index_type, parameters)))


def _fields(index_type: types.Type, parameters: Sequence[Parameter]) -> Iterator[tuple[str, str, str]]:
    if isinstance(index_type, ItemType):
        yield from (("range", "range", "q") for _ in range(index_type.ndim))
    for parameter in parameters:
        if parameter.kind == "scalar":
            yield parameter.name, "value", _SCALAR_CODES[str(parameter.type)]
            continue
        if parameter.kind == "array":
            yield parameter.name, "pointer", "Q"
        yield from ((parameter.name, "shape", "q") for _ in range(parameter.type.ndim))
        if parameter.has_strides:
            yield from ((parameter.name, "stride", "q") for _ in range(parameter.type.ndim))


def build_entry_point(
    context: SpirvTargetContext,
    library: SpirvCodeLibrary,
    name: str,
    kernel: Any,
    args: Sequence[types.Type],
    parameters: Sequence[Parameter],
    layout: PackedLayout,
) -> None:
    """Add to `library` the entry point `name`, which calls the lowered kernel for each work-item of the range.

    Parameters
    ----------
    context : SpirvTargetContext
        The target.
    library : SpirvCodeLibrary
        Holds the kernel, and gets the module of the entry point.
    name : str
        Name of the entry point.
    kernel : numba function descriptor
        The lowered kernel.
    args : sequence of numba.types.Type
        Types of all its parameters, the index space's first.
    parameters, layout : sequence of Parameter, PackedLayout
        What the packed argument holds.
    """
    module = context.create_module(f"{name}.entry")
    struct = ir.LiteralStructType(_members(context, parameters, layout))
    local_pointers = [
        context.get_data_type(each.type.dtype).as_pointer(int(AddressSpace.LOCAL))
        for each in parameters
        if each.kind == "local"
    ]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [struct.as_pointer(), *local_pointers]), name)
    function.calling_convention = "spir_kernel"
    packed = function.args[0]
    packed.name = "packed"
    packed.add_attribute("byval")
    packed.attributes.align = 8
    builder = ir.IRBuilder(function.append_basic_block("entry"))

    fields = _FieldReader(builder, packed)
    index_value = context.get_dummy_value()
    if isinstance(args[0], ItemType):
        extents = [fields.next() for _ in range(args[0].ndim)]
        item = context.make_helper(builder, args[0])
        item.range = cgutils.pack_array(builder, extents)
        index_value = item._getvalue()
        _return_outside(builder, extents)
    locals_ = iter(function.args[1:])
    values = [index_value]
    for parameter in parameters:
        pointer = next(locals_) if parameter.kind == "local" else None
        values.append(_unpack(context, builder, parameter, fields, pointer))

    callee = context.declare_function(module, kernel)
    context.call_conv.call_function(builder, callee, kernel.restype, kernel.argtypes, values)
    _as_spir_functions(builder)
    builder.ret_void()
    library.add_ir_module(module)


def _members(context: SpirvTargetContext, parameters: Sequence[Parameter], layout: PackedLayout) -> list[ir.Type]:
    """LLVM types of the fields; natural alignment puts each where the layout has it."""
    pointers = {
        each.name: context.get_data_type(each.type.dtype).as_pointer(int(AddressSpace.GLOBAL))
        for each in parameters
        if each.kind == "array"
    }
    return [pointers[each.owner] if each.role == "pointer" else _LLVM_OF_CODE[each.code] for each in layout.fields] or [
        I64
    ]


class _FieldReader:
    """Loads the fields of the packed argument, one after the other."""

    def __init__(self, builder: ir.IRBuilder, packed: ir.Value) -> None:
        self._builder, self._packed, self._next = builder, packed, 0

    def next(self) -> ir.Value:
        """The value of the next field."""
        pointer = self._builder.gep(self._packed, [I32(0), I32(self._next)], inbounds=True)
        self._next += 1
        return self._builder.load(pointer)


def _return_outside(builder: ir.IRBuilder, extents: Sequence[ir.Value]) -> None:
    """Return at once in work-items that rounding the launch up has added."""
    ndim = len(extents)
    is_inside: ir.Value = ir.IntType(1)(1)
    for axis, extent in enumerate(extents):
        position = work_item_query(builder, "get_global_id", I32(ndim - 1 - axis))
        is_inside = builder.and_(is_inside, builder.icmp_unsigned("<", position, extent))
    with builder.if_then(builder.not_(is_inside), likely=False):
        builder.ret_void()


def _unpack(
    context: SpirvTargetContext,
    builder: ir.IRBuilder,
    parameter: Parameter,
    fields: _FieldReader,
    local_pointer: ir.Value | None,
) -> ir.Value:
    type_ = parameter.type
    if parameter.kind == "scalar":
        value = fields.next()
        return convert(builder, value, types.uint8, types.boolean) if isinstance(type_, types.Boolean) else value
    array = context.make_helper(builder, type_)
    array.data = fields.next() if local_pointer is None else local_pointer
    array.shape = _integers(context, builder, [fields.next() for _ in range(type_.ndim)])
    if parameter.has_strides:
        array.strides = _integers(context, builder, [fields.next() for _ in range(type_.ndim)])
    return array._getvalue()


def _integers(context: SpirvTargetContext, builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    return context.make_tuple(builder, types.UniTuple(weak_int, len(values)), values)


def _as_spir_functions(builder: ir.IRBuilder) -> None:
    """Calls must name the convention of the function they call, which Numba's calling convention does not."""
    for block in builder.function.blocks:
        for instruction in block.instructions:
            if isinstance(instruction, ir.CallInstr):
                instruction.cconv = instruction.callee.calling_convention or None
