"""The stages of a function in a code generator: typed IR, LLVM IR, entry point, and the target's code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import compiler_locks, global_compiler_lock, types
from kapi_lowering.emission.client import EmissionError, Emitted, HelperEndedError, emit, prepare
from kapi_lowering.functions.codegen import KernelLibrary
from kapi_lowering.functions.line_info import function_lines
from kapi_lowering.functions.lowered_function import LoweredFunction, lower_function
from kapi_lowering.functions.target_context import KernelTargetContext
from kapi_lowering.kernels.entry_point import build_entry_point, describe_parameters, packed_layout, with_writes
from kapi_lowering.numbers.conversion import convert
from kapi_lowering.results.kernel_module import MOST_NOTES, KernelModule
from kapi_lowering.results.packed_argument import PackedLayout, Parameter
from kapi_lowering.target import Target
from kapi_sim.errors import DtypeError, KernelCompilationError, LimitError
from kapi_sim.forks import block_forks, hold_at_forks
from kapi_sim.language import KernelOptions
from kapi_sim.language.launchables.specialization import specialized
from kapi_types import ArrayType, ItemType, NdItemType
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing import describe_problems
from kapi_types.kernel_typing.rules.tuples import tuple_like
from kapi_types.numba_signatures import parse_signature

__all__ = ["compiled_function", "compiled_kernel"]

hold_at_forks(*compiler_locks())


def compiled_kernel(
    function: Callable[..., None],
    signature: str | Sequence[types.Type],
    target: Target,
    options: KernelOptions,
    optimise: bool,
) -> KernelModule:
    """Compile a Python function to a kernel for a target; see `TargetCompiler.compile_kernel`.

    A code generator makes its own kind of module of the result.
    """
    if not isinstance(options, KernelOptions):
        raise TypeError(f"options must be KernelOptions, got {options!r}: write KernelOptions.of(debug=True)")
    function, args = _checked(function, signature)
    if not args or not isinstance(args[0], (ItemType, NdItemType)):
        raise DtypeError(
            f"signature must begin with ItemType or NdItemType, as text item1 or nd_item1, got "
            f"{args[0] if args else 'no type at all'}",
            code="signature-work-item",
        )
    function, args = _specialized(function, args)
    _require_sub_group_size(function, options, target)
    names = list(inspect.signature(function).parameters)
    try:
        parameters = describe_parameters(names[1:], args[1:])
    except TypeError as error:
        raise KernelCompilationError(f"kernel {function.__name__}: {error}", code="parameter-unfit") from None
    entry_point = target.symbol("kapi_" + re.sub(r"\W", "_", function.__name__))

    def finish(lowered: LoweredFunction) -> tuple[PackedLayout, tuple[Parameter, ...]]:
        is_linear = target.needs_linear_groups and lowered.uses_sub_groups and args[0].ndim > 1
        packed = packed_layout(args[0], parameters, bool(lowered.failures), is_linear)
        known = with_writes(parameters, names, lowered.writes)
        build_entry_point(
            lowered.context, lowered.library, entry_point, lowered.fndesc, args, known, packed, _begin(function)
        )
        return packed, known

    prepare(target)
    with block_forks(), global_compiler_lock:
        lowered, (layout, parameters) = lower_function(function, args, types.none, target, options, finish)
    emitted = _emitted("kernel", function, names, args, lowered.modules, entry_point, target, optimise)
    _require_floats(function, target.floats_of(emitted.code), lowered)
    return KernelModule(
        name=function.__name__,
        code=emitted.code,
        entry_point=entry_point,
        index_space="item" if isinstance(args[0], ItemType) else "nd_item",
        ndim=args[0].ndim,
        parameters=parameters,
        layout=layout,
        failures=lowered.failures,
        notes=lowered.notes[:MOST_NOTES],
        target=target,
        options=options,
        typed_ir=lowered.typed_ir,
        llvm_ir="\n".join(lowered.modules),
        optimized_llvm_ir=emitted.llvm_ir,
    )


def compiled_function(
    function: Callable[..., object],
    signature: str | Sequence[types.Type],
    target: Target,
    options: KernelOptions,
    optimise: bool,
) -> tuple[bytes, types.Type]:
    """Compile a Python function to one that other modules of the target may call; returns its code, and its type."""
    plain, args = _checked(function, signature)
    names = list(inspect.signature(plain).parameters)

    def finish(lowered: LoweredFunction) -> None:
        _build_exported_function(lowered.context, lowered.library, plain.__name__, lowered.fndesc, names, _begin(plain))

    prepare(target)
    with block_forks(), global_compiler_lock:
        lowered, _ = lower_function(plain, args, None, target, options, finish)
    emitted = _emitted("function", plain, names, args, lowered.modules, plain.__name__, target, optimise)
    _require_floats(plain, target.floats_of(emitted.code), lowered)
    return emitted.code, lowered.return_type


def _specialized(function: FunctionType, args: tuple[types.Type, ...]) -> tuple[FunctionType, tuple[types.Type, ...]]:
    """The function without the parameters of which it is given constants, and the types of the others."""
    names = inspect.signature(function).parameters
    constants = {name: each.value for name, each in zip(names, args, strict=True) if isinstance(each, ConstantType)}
    if not constants:
        return function, args
    made = specialized(function, constants)
    if made is None:
        raise DtypeError(
            f"parameters of {function.__name__} must be tested by `is None`, or called, or passed on, where they are "
            f"None or a function, got {', '.join(constants)}",
            code="argument-type",
        )
    return made, tuple(each for each in args if not isinstance(each, ConstantType))


def _begin(function: FunctionType) -> tuple[str, int]:
    return function.__code__.co_filename, function.__code__.co_firstlineno


def _in_kernel(type_: types.Type) -> types.Type:
    """A type without what a kernel's code does not depend on."""
    if isinstance(type_, types.BaseTuple):
        return tuple_like(type_, tuple(map(_in_kernel, type_.types)))
    return type_.in_kernel() if isinstance(type_, ArrayType) else type_


def _checked(
    function: Callable[..., object], signature: str | Sequence[types.Type]
) -> tuple[FunctionType, tuple[types.Type, ...]]:
    if not isinstance(function, FunctionType):
        hint = ": pass its py_func" if isinstance(getattr(function, "py_func", None), FunctionType) else ""
        raise DtypeError(
            f"function must be a plain Python function, got {type(function).__name__}{hint}", code="kernel-form"
        )
    if isinstance(signature, str):
        signature = parse_signature(signature)
    if not isinstance(signature, Sequence):
        raise DtypeError(
            "signature must be a sequence of Numba types or a text such as 'item1, float32[:]', one type for each "
            f"parameter, got {signature!r}",
            code="signature-form",
        )
    parameters = inspect.signature(function).parameters
    for name, type_ in zip(parameters, signature, strict=False):
        if not isinstance(type_, types.Type):
            raise DtypeError(
                f"signature must be a sequence of Numba types, got {type_!r} for parameter {name!r}: write one such as "
                "numba.types.float32 or kapi_types.ArrayType(numba.types.float32, 1, 'C')",
                code="signature-form",
            )
        if isinstance(type_, types.Array) and not isinstance(type_, ArrayType):
            raise DtypeError(
                f"arrays in a signature must be of kapi_types.ArrayType, got {type_} for parameter {name!r}: write "
                f"ArrayType(numba.types.{type_.dtype}, {type_.ndim}, {type_.layout!r})",
                code="signature-form",
            )
    args = tuple(map(_in_kernel, signature))
    if len(args) != len(parameters):
        raise DtypeError(
            f"signature must have a type for each of {function.__name__}'s {len(parameters)} parameters "
            f"({', '.join(parameters)}), got {len(args)}",
            code="signature-count",
        )
    return function, args


def _require_sub_group_size(function: FunctionType, options: KernelOptions, target: Target) -> None:
    """Raise if the options ask for sub-groups that the target does not have."""
    size, sizes = options.sub_group_size, target.sub_group_sizes
    if size is not None and sizes and size not in sizes:
        raise LimitError(
            f"sub_group_size of kernel `{function.__name__}` must be one that this device has "
            f"({', '.join(map(str, sizes))}), got {size}: choose one of them, or leave the option out",
            code="sub-group-size-unknown",
        )


def _require_floats(function: FunctionType, floats: Collection[str], lowered: LoweredFunction) -> None:
    """Raise if the code computes in a float type that its target lacks; what is folded away does not count."""
    for width, problems in lowered.lacking.items():
        if width in floats:
            where = f":\n{describe_problems(problems)}" if problems else ""
            raise KernelCompilationError(
                f"{function.__name__} ({function.__code__.co_filename}:{function.__code__.co_firstlineno}) "
                f"uses {width}, which the device does not have{where}",
                code=f"needs-{width}",
                problems=problems,
            )


def _emitted(
    kind: str,
    function: FunctionType,
    names: Sequence[str],
    args: Sequence[types.Type],
    modules: Sequence[str],
    entry_point: str,
    target: Target,
    optimise: bool,
) -> Emitted:
    try:
        return emit(modules, entry_point, target, passes="all" if optimise else "needed")
    except HelperEndedError as error:
        location = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        raise KernelCompilationError(
            f"{kind} {function.__name__} ({location}) was not compiled: the helper process that runs LLVM {error}",
            code="helper-lost",
        ) from error
    except EmissionError as error:
        spelled = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, args, strict=True))
        location = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        raise KernelCompilationError(
            f"{kind} {function.__name__} ({location}) has code that {target.name} cannot express: "
            f"{error}; compiled for {spelled}",
            code="target-lacks",
        ) from error


def _build_exported_function(
    context: KernelTargetContext,
    library: KernelLibrary,
    name: str,
    lowered: Any,
    names: Sequence[str],
    location: tuple[str, int],
) -> None:
    """Add to `library` a function `name` that calls the lowered one: plain arguments in, its value out.

    - `library`: holds the lowered function, and gets the module of the exported one.
    - `name`: what other modules know it by.
    - `names`: its parameters.
    - `location`: the file and the line in which it begins.
    """
    module = context.create_module(f"{name}.export")
    packer = context.get_arg_packer(lowered.argtypes)
    result = ir.VoidType() if lowered.restype == types.none else context.get_data_type(lowered.restype)
    function = ir.Function(module, ir.FunctionType(result, list(packer.argument_types)), name)
    function.calling_convention = context.kernel_target.function_convention
    for attribute in context.kernel_target.function_attributes:
        function.attributes.add(attribute)
    packer.assign_names(function.args, list(names))
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    if lines := function_lines(context, function, name, *location):
        builder.debug_metadata = lines.at(location[1])
    callee = context.declare_function(module, lowered)
    values = packer.from_arguments(builder, function.args)
    _status, value = context.call_conv.call_function(builder, callee, lowered.restype, lowered.argtypes, values)
    if isinstance(result, ir.VoidType):
        builder.ret_void()
    elif isinstance(lowered.restype, types.Boolean):
        builder.ret(convert(builder, value, types.boolean, types.uint8))
    else:
        builder.ret(context.get_return_value(builder, lowered.restype, value))
    library.add_ir_module(module)
