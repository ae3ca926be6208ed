"""The entry point around a lowered kernel: unpacks the one by-value argument and guards the index space."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import FIRST_USEREXC, cgutils, types
from kapi_lowering.functions.calling_convention import DETAILS
from kapi_lowering.functions.codegen import KernelLibrary
from kapi_lowering.functions.line_info import function_lines
from kapi_lowering.functions.target_context import KernelTargetContext
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.numbers.complex_parts import join
from kapi_lowering.numbers.conversion import convert
from kapi_lowering.results.packed_argument import LINEAR_ROLES, PackedLayout, Parameter
from kapi_lowering.target import LocalMemory, Target
from kapi_sim import AddressSpace, LimitError
from kapi_sim.language import MAX_RANK, KernelOptions
from kapi_types import ArrayType, ItemType
from kapi_types.kernel_typing import ArgumentPath
from kapi_types.records import value_type
from kapi_types.weak import weak_int

__all__ = ["build_entry_point", "describe_parameters", "packed_layout", "with_writes"]

_SCALAR_CODES = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
    "float16": "e", "float32": "f", "float64": "d", "complex64": "ff", "complex128": "dd",
    "bool": "B", "weak_bool": "B", "weak_int": "q", "weak_float": "d", "weak_complex": "dd",
}  # fmt: skip
_LLVM_OF_CODE = {
    "b": ir.IntType(8), "B": ir.IntType(8), "h": ir.IntType(16), "H": ir.IntType(16), "i": I32, "I": I32, "q": I64,
    "Q": I64, "e": ir.HalfType(), "f": ir.FloatType(), "d": ir.DoubleType(),
}  # fmt: skip


_ELEMENTS = "bools, integers of 8 to 64 bits, floats of 16 to 64 bits, complex64 or complex128"


def describe_parameters(names: Sequence[str], args: Sequence[types.Type]) -> tuple[Parameter, ...]:
    """The parameters of a kernel after its first, by name and type; a tuple is its members, `name[0]` and so on.

    Raises `TypeError` if a type is none that a kernel parameter can have; `LimitError` if an array has more axes than
    the language has.
    """
    leaves = [leaf for name, type_ in zip(names, args, strict=True) for leaf in _leaves(name, type_)]
    return tuple(_describe(name, type_) for name, type_ in leaves)


def with_writes(
    parameters: Sequence[Parameter], names: Sequence[str], writes: Collection[ArgumentPath]
) -> tuple[Parameter, ...]:
    """The parameters of a kernel, each array with whether the kernel may write to it.

    - `parameters`: those after the first.
    - `names`: all parameters of the Python function.
    - `writes`: what is written to, by position: an argument, or a member of one that is a tuple.
    """
    written = tuple(names[first] + "".join(f"[{each}]" for each in members) for first, *members in writes)
    within = tuple(f"{name}[" for name in written)

    def is_written(parameter: Parameter) -> bool:
        return parameter.kind == "array" and (parameter.name in written or parameter.name.startswith(within))

    return tuple(replace(each, is_written=is_written(each)) for each in parameters)


def _leaves(name: str, type_: types.Type) -> Iterator[tuple[str, types.Type]]:
    """Name and type of a parameter or, of a tuple, of each of its members, as deep as it goes."""
    members = _members_of(type_)
    if members is None:
        yield name, type_
        return
    for position, member in enumerate(members):
        yield from _leaves(f"{name}[{position}]", member)


def _members_of(type_: types.Type) -> tuple[types.Type, ...] | None:
    """The types of the members of a tuple, or of the fields of a record; None of what is one value."""
    if isinstance(type_, types.Record):
        return tuple(value_type(type_.typeof(name)) for name in type_.fields)
    return tuple(type_.types) if isinstance(type_, types.BaseTuple) else None


def _describe(name: str, type_: types.Type) -> Parameter:
    if isinstance(type_, ArrayType):
        if type_.ndim > MAX_RANK:
            raise LimitError(
                f"argument `{name}` must have at most {MAX_RANK} axes, got {type_.ndim}", code="too-many-axes"
            )
        if str(type_.dtype) not in _SCALAR_CODES and not isinstance(type_.dtype, types.Record):
            raise TypeError(f"elements of parameter {name!r} must be {_ELEMENTS}, got {type_.dtype}")
        is_local = type_.address_space is AddressSpace.LOCAL
        return Parameter(name, "local" if is_local else "array", type_, has_strides=type_.has_strides)
    if str(type_) in _SCALAR_CODES:
        return Parameter(name, "scalar", type_)
    raise TypeError(f"parameter {name!r} must be an array, local memory or a number, got {type_}")


def packed_layout(
    index_type: types.Type, parameters: Sequence[Parameter], has_failures: bool = False, is_linear: bool = False
) -> PackedLayout:
    """The layout of the by-value argument of a kernel; what can fail has the address of a record at its end.

    A kernel whose work-groups are launched as linear ones finds their extents, and how many there are, at the start.
    """
    fields = list(_fields(index_type, parameters))
    if is_linear:
        fields = [(role, role, "q") for role in LINEAR_ROLES for _ in range(index_type.ndim)] + fields
    return PackedLayout.of([*fields, ("failure", "failure", "Q")] if has_failures else fields)


def _fields(index_type: types.Type, parameters: Sequence[Parameter]) -> Iterator[tuple[str, str, str]]:
    if isinstance(index_type, ItemType):
        yield from (("range", "range", "q") for _ in range(index_type.ndim))
    for parameter in parameters:
        if parameter.kind == "scalar":
            # A complex number is its real part and, next to it, its imaginary part.
            yield from ((parameter.name, "value", code) for code in _SCALAR_CODES[str(parameter.type)])
            continue
        if parameter.kind == "array":
            yield parameter.name, "pointer", "Q"
        yield from ((parameter.name, "shape", "q") for _ in range(parameter.type.ndim))
        if parameter.has_strides:
            yield from ((parameter.name, "stride", "q") for _ in range(parameter.type.ndim))


def build_entry_point(
    context: KernelTargetContext,
    library: KernelLibrary,
    name: str,
    kernel: Any,
    args: Sequence[types.Type],
    parameters: Sequence[Parameter],
    layout: PackedLayout,
    location: tuple[str, int],
) -> None:
    """Add to `library` the entry point `name`, which calls the lowered kernel for each work-item of the range.

    - `library`: holds the kernel, and gets the module of the entry point.
    - `kernel`: the lowered kernel.
    - `args`: types of all its parameters, the index space's first.
    - `parameters`, `layout`: what the packed argument holds, and which arrays the kernel writes to.
    - `location`: the file and the line in which the kernel begins.
    """
    module = context.create_module(f"{name}.entry")
    struct = ir.LiteralStructType(_members(context, parameters, layout))
    local_pointers = [
        context.element_type(each.type.dtype).as_pointer(int(AddressSpace.LOCAL))
        for each in parameters
        if each.kind == "local"
    ]
    target = context.kernel_target
    function, packed = target.begin_entry(module, name, struct, local_pointers)
    for attribute in target.function_attributes:
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if lines := function_lines(context, function, name, *location):
        builder.debug_metadata = lines.at(location[1])

    fields = _FieldReader(builder, packed, target.index_bits)
    index_value = context.get_dummy_value()
    if isinstance(args[0], ItemType):
        extents = [fields.next_extent() for _ in range(args[0].ndim)]
        item = context.make_helper(builder, args[0])
        item.range = cgutils.pack_array(builder, extents)
        index_value = item._getvalue()
        if target.guards_range:
            _return_outside(target, builder, extents)
    is_linear = any(field.role in LINEAR_ROLES for field in layout.fields)
    if is_linear:
        _linear_groups(target, builder, context.options, [fields.next() for _ in range(2 * args[0].ndim)])
    wanted = [_local_memory(context, each, packed, layout) for each in parameters if each.kind == "local"]
    locals_ = iter(target.local_memory(builder, wanted) if wanted else ())
    values = [index_value]
    leaves = iter(parameters)

    def unpacked(type_: types.Type) -> ir.Value:
        members = _members_of(type_)
        if members is not None:
            held = types.Tuple(members) if isinstance(type_, types.Record) else type_
            made = context.make_tuple(builder, held, [unpacked(member) for member in members])
            return context.cast(builder, made, held, type_)
        parameter = next(leaves)
        pointer = next(locals_) if parameter.kind == "local" else None
        return _unpack(context, builder, parameter, fields, pointer)

    values += [unpacked(type_) for type_ in args[1:]]

    callee = context.declare_function(module, kernel)
    details = cgutils.alloca_once(builder, DETAILS, zfill=True)
    is_read = [not each.is_written for each in parameters if each.kind == "array"] if target.reads_apart else ()
    status, _ = context.call_conv.call_function(
        builder, callee, kernel.restype, kernel.argtypes, values, details, is_read
    )
    if context.failures.failures:
        with cgutils.if_unlikely(builder, status.is_error):
            _record_failure(target, builder, fields.next(), status.code, args[0].ndim, details)
    builder.ret_void()
    if not context.options.checks_bounds:
        _add_array_metadata(context, module, parameters, layout)
    target.finish_entry(function, args[0].ndim, context.options, is_linear)
    library.add_ir_module(module)


def _add_array_metadata(
    context: KernelTargetContext, module: ir.Module, parameters: Sequence[Parameter], layout: PackedLayout
) -> None:
    """Add metadata for the target: the offsets of each array's pointer and extents in the packed argument.

    ``!kapi.arrays`` has a node for each: the bytes of an element, whether the kernel writes the array, the offset of
    the pointer, and, of one without strides, the offsets of the extents.
    """
    for each in parameters:
        if each.kind == "array":
            size = context.get_abi_sizeof(context.element_type(each.type.dtype))
            pointer, *others = (field.offset for field in layout.fields_of(each.name))
            numbers = (size, int(each.is_written), pointer, *(() if each.has_strides else others))
            module.add_named_metadata("kapi.arrays", module.add_metadata([I64(number) for number in numbers]))


def _record_failure(
    target: Target, builder: ir.IRBuilder, record: ir.Value, code: ir.Value, ndim: int, details: ir.Value
) -> None:
    """Write to the launch's record the failure of this work-item, if it is the first to fail."""
    words = builder.bitcast(record, I64.as_pointer(int(AddressSpace.GLOBAL)))
    number = builder.sub(code, I32(FIRST_USEREXC - 1))
    claim = builder.bitcast(record, I32.as_pointer(int(AddressSpace.GLOBAL)))
    claimed = builder.cmpxchg(claim, I32(0), number, "monotonic", "monotonic")
    with builder.if_then(builder.extract_value(claimed, 1), likely=False):
        for axis in range(ndim):
            global_id = target.work_item_query(builder, "global_id", I32(ndim - 1 - axis))
            builder.store(global_id, _word(builder, words, 1 + axis))
        for position in range(3):
            detail = builder.load(builder.gep(details, [I32(0), I32(position)], inbounds=True))
            builder.store(detail, _word(builder, words, 4 + position))


def _word(builder: ir.IRBuilder, words: ir.Value, position: int) -> ir.Value:
    return builder.gep(words, [I64(position)], inbounds=True)


def _linear_groups(target: Target, builder: ir.IRBuilder, options: KernelOptions, fields: Sequence[ir.Value]) -> None:
    """Tell the target the extents of work-groups that are launched as linear ones."""
    ndim = len(fields) // 2
    # What is fixed is divided by faster.
    local = fields[:ndim] if options.local_range is None else [I64(extent) for extent in options.local_range]
    target.linear_groups(builder, [*reversed(local)], [*reversed(fields[ndim:])])


def _local_memory(
    context: KernelTargetContext, parameter: Parameter, packed: ir.Value, layout: PackedLayout
) -> LocalMemory:
    """Describe a parameter that is local memory to the target."""
    element = context.element_type(parameter.type.dtype)
    extents = parameter.type.extents
    shape = [
        index for index, field in enumerate(layout.fields) if (field.owner, field.role) == (parameter.name, "shape")
    ]

    def counted(builder: ir.IRBuilder) -> ir.Value:
        if extents is not None:
            return I64(prod(extents))
        count: ir.Value = I64(1)
        for index in shape:
            count = builder.mul(count, builder.load(builder.gep(packed, [I32(0), I32(index)], inbounds=True)))
        return count

    known = None if extents is None else prod(extents)
    return LocalMemory(element, context.get_abi_sizeof(element), known, counted)


def _members(context: KernelTargetContext, parameters: Sequence[Parameter], layout: PackedLayout) -> list[ir.Type]:
    """LLVM types of the fields; natural alignment puts each where the layout has it."""
    pointers = {
        each.name: context.element_type(each.type.dtype).as_pointer(int(AddressSpace.GLOBAL))
        for each in parameters
        if each.kind == "array"
    }
    types_ = {"pointer": pointers, "failure": {"failure": I64.as_pointer(int(AddressSpace.GLOBAL))}}
    members = [
        types_[each.role][each.owner] if each.role in types_ else _LLVM_OF_CODE[each.code] for each in layout.fields
    ]
    return members or [I64]


class _FieldReader:
    """Loads the fields of the packed argument, one after the other."""

    def __init__(self, builder: ir.IRBuilder, packed: ir.Value, index_bits: int) -> None:
        self._builder, self._packed, self._next = builder, packed, 0
        self._index_bits = index_bits

    def _pointer(self) -> ir.Value:
        pointer = self._builder.gep(self._packed, [I32(0), I32(self._next)], inbounds=True)
        self._next += 1
        return pointer

    def next(self) -> ir.Value:
        """The value of the next field."""
        return self._builder.load(self._pointer())

    def next_index(self) -> ir.Value:
        """The value of the next field, which is an extent of an index space, in 64 bits."""
        if self._index_bits > I32.width:
            return self.next()
        builder = self._builder
        low = builder.load(builder.bitcast(self._pointer(), I32.as_pointer()))  # fields are little-endian
        low.set_metadata("range", builder.module.add_metadata([I32(0), I32(1 << self._index_bits)]))
        return builder.zext(low, I64)

    def next_extent(self) -> ir.Value:
        """The value of the next field, an extent of a range or array: with an id added to it, it still has 64 bits."""
        extent = self.next_index()
        if isinstance(extent, ir.LoadInstr):
            extent.set_metadata("range", self._builder.module.add_metadata([I64(0), I64(2**62)]))
        return extent


def _return_outside(target: Target, builder: ir.IRBuilder, extents: Sequence[ir.Value]) -> None:
    """Return at once in work-items that rounding the launch up has added."""
    ndim = len(extents)
    is_inside: ir.Value = ir.IntType(1)(1)
    for axis, extent in enumerate(extents):
        position = target.work_item_query(builder, "global_id", I32(ndim - 1 - axis))
        is_inside = builder.and_(is_inside, builder.icmp_unsigned("<", position, extent))
    with builder.if_then(builder.not_(is_inside), likely=False):
        builder.ret_void()


def _unpack(
    context: KernelTargetContext,
    builder: ir.IRBuilder,
    parameter: Parameter,
    fields: _FieldReader,
    local_pointer: ir.Value | None,
) -> ir.Value:
    type_ = parameter.type
    if parameter.kind == "scalar":
        if isinstance(type_, types.Complex):
            return join(builder, fields.next(), fields.next())
        value = fields.next()
        return convert(builder, value, types.uint8, types.boolean) if isinstance(type_, types.Boolean) else value
    array = context.make_helper(builder, type_)
    array.data = fields.next() if local_pointer is None else local_pointer
    extents = [fields.next_extent() for _ in range(type_.ndim)]
    if type_.extents is not None:
        extents = [I64(extent) for extent in type_.extents]
    array.shape = _integers(context, builder, extents)
    if parameter.has_strides:
        array.strides = _integers(context, builder, [fields.next() for _ in range(type_.ndim)])
    return array._getvalue()


def _integers(context: KernelTargetContext, builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    return context.make_tuple(builder, types.UniTuple(weak_int, len(values)), values)
