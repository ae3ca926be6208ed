"""The way of a kernel through this package: typed IR, LLVM IR, entry point, SPIR-V."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import FunctionType

from kapi_sim.errors import KernelCompilationError, LimitError
from kapi_sim.spec import KernelOptions
from kapi_spirv import contraction
from kapi_spirv._numba_compat import global_compiler_lock, types
from kapi_spirv.binary import read_header
from kapi_spirv.emission_client import EmissionError, Emitted, HelperEndedError, emit, prepare
from kapi_spirv.entry_point import build_entry_point, describe_parameters, packed_layout, with_writes
from kapi_spirv.exported_function import build_exported_function
from kapi_spirv.lowered_function import LoweredFunction, lower_function
from kapi_spirv.module import PackedLayout, Parameter, SpirvModule
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget
from kapi_types import ItemType, NdItemType, UsmArrayType
from kapi_types.kernel_typing import describe_problems
from kapi_types.kernel_typing.tuples import tuple_like

__all__ = ["compile_kernel", "compile_spirv"]

_NO_OPTIONS = KernelOptions()


def compile_kernel(
    function: Callable[..., None],
    signature: Sequence[types.Type],
    *,
    target: SpirvTarget | None = None,
    options: KernelOptions = _NO_OPTIONS,
    optimise: bool = True,
) -> SpirvModule:
    """Compile a Python function to a SPIR-V kernel. Needs no device.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    signature : sequence of numba.types.Type
        The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars.
    target : SpirvTarget, optional
        What to compile for; `KAPI_DEFAULT_TARGET` by default.
    options : KernelOptions, optional
        How to compile: those of `@kernel`.
    optimise : bool
        Whether LLVM's optimisation passes run.

    Returns
    -------
    SpirvModule

    Raises
    ------
    KernelCompilationError
        If the function is not in the kernel language, with every problem and its line; or if LLVM cannot make SPIR-V
        of it.
    LimitError
        If the options ask for sub-groups of a size that the target does not have, or the private arrays are too large.
    TypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_types import ItemType, UsmArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), UsmArrayType(types.float32, 1, "C")])
    >>> module.parameters[0].kind, module.layout.format
    ('array', '<qQq')
    """
    _require_target(target)
    if not isinstance(options, KernelOptions):
        raise TypeError(f"options must be KernelOptions, got {options!r}: write KernelOptions.of(debug=True)")
    target = target or KAPI_DEFAULT_TARGET
    function, args = _checked(function, signature)
    if not args or not isinstance(args[0], (ItemType, NdItemType)):
        raise TypeError(
            f"signature must begin with ItemType or NdItemType, got {args[0] if args else 'no type at all'}"
        )
    _require_sub_group_size(function, options, target)
    names = list(inspect.signature(function).parameters)
    try:
        parameters = describe_parameters(names[1:], args[1:])
    except TypeError as error:
        raise KernelCompilationError(f"kernel {function.__name__}: {error}") from None
    entry_point = "kapi_" + re.sub(r"\W", "_", function.__name__)

    def finish(lowered: LoweredFunction) -> tuple[PackedLayout, tuple[Parameter, ...]]:
        is_linear = target.needs_linear_groups and lowered.uses_sub_groups and args[0].ndim > 1
        packed = packed_layout(args[0], parameters, bool(lowered.failures), is_linear)
        build_entry_point(lowered.context, lowered.library, entry_point, lowered.fndesc, args, parameters, packed)
        return packed, with_writes(parameters, names, lowered.writes)

    prepare(target)
    with global_compiler_lock:
        lowered, (layout, parameters) = lower_function(function, args, types.none, target, options, finish)
    emitted = _emitted("kernel", function, names, args, lowered.modules, entry_point, target, options, optimise)
    header = read_header(emitted.code)
    _require_capabilities(function, header.capabilities, lowered)
    return SpirvModule(
        name=function.__name__,
        code=emitted.code,
        entry_point=entry_point,
        index_space="item" if isinstance(args[0], ItemType) else "nd_item",
        ndim=args[0].ndim,
        parameters=parameters,
        layout=layout,
        failures=lowered.failures,
        target=target,
        options=options,
        capabilities=header.capabilities,
        extensions=header.extensions,
        typed_ir=lowered.typed_ir,
        llvm_ir="\n".join(lowered.modules),
        optimized_llvm_ir=emitted.llvm_ir,
    )


def compile_spirv(
    function: Callable[..., object],
    signature: Sequence[types.Type],
    device_function: bool = False,
    debug: bool = False,
    fastmath: bool | Iterable[str] = False,
    opt: bool = True,
    target: SpirvTarget | None = None,
) -> tuple[bytes, types.Type]:
    """Compile a Python function to SPIR-V, as a kernel or as a function to be linked to other modules.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language.
    signature : sequence of numba.types.Type
        The type of each parameter.
    device_function : bool
        Whether to export the function under its own name, with plain arguments (arrays as pointer, shape, and strides
        where they have any), in place of a kernel. Its value is what the function returns.
    debug : bool
        Whether to compile asserts, raises and index checks in; for kernels only.
    fastmath : bool or iterable of str
        As in `kapi_sim.spec.KernelOptions`.
    opt : bool
        Whether LLVM's optimisation passes run.
    target : SpirvTarget, optional
        What to compile for; `KAPI_DEFAULT_TARGET` by default.

    Returns
    -------
    code : bytes
        The SPIR-V binary.
    return_type : numba.types.Type
        What the function returns; ``none`` for a kernel.

    Raises
    ------
    KernelCompilationError
        As `compile_kernel`; or if a device function is to be compiled in debug mode, which has no launch to raise.
    TypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> from numba import types
    >>> def square(x):
    ...     return x * x
    >>> code, return_type = compile_spirv(square, [types.float32], device_function=True)
    >>> code[:4].hex(), return_type
    ('03022307', float32)
    """
    _require_target(target)
    options = KernelOptions.of(debug=debug, fastmath=fastmath)
    if not device_function:
        module = compile_kernel(function, signature, target=target, options=options, optimise=opt)  # type: ignore[arg-type]
        return module.code, types.none
    if debug:
        raise KernelCompilationError(
            f"debug must be False for a device function, got True for {function.__name__}: "
            "it is the launch of a kernel that raises"
        )
    target = target or KAPI_DEFAULT_TARGET
    plain, args = _checked(function, signature)
    names = list(inspect.signature(plain).parameters)

    def finish(lowered: LoweredFunction) -> None:
        build_exported_function(lowered.context, lowered.library, plain.__name__, lowered.fndesc, names)

    prepare(target)
    with global_compiler_lock:
        lowered, _ = lower_function(plain, args, None, target, options, finish)
    emitted = _emitted("function", plain, names, args, lowered.modules, plain.__name__, target, options, opt)
    _require_capabilities(plain, read_header(emitted.code).capabilities, lowered)
    return emitted.code, lowered.return_type


def _in_kernel(type_: types.Type) -> types.Type:
    """A type without what a kernel's code does not depend on."""
    if isinstance(type_, types.BaseTuple):
        return tuple_like(type_, tuple(map(_in_kernel, type_.types)))
    return type_.in_kernel() if isinstance(type_, UsmArrayType) else type_


def _checked(
    function: Callable[..., object], signature: Sequence[types.Type]
) -> tuple[FunctionType, tuple[types.Type, ...]]:
    if not isinstance(function, FunctionType):
        cure = ": pass its py_func" if isinstance(getattr(function, "py_func", None), FunctionType) else ""
        raise TypeError(f"function must be a plain Python function, got {type(function).__name__}{cure}")
    if isinstance(signature, str) or not isinstance(signature, Sequence):
        raise TypeError(
            f"signature must be a sequence of Numba types, one for each parameter, got {signature!r}: write a list"
        )
    parameters = inspect.signature(function).parameters
    for name, type_ in zip(parameters, signature, strict=False):
        if not isinstance(type_, types.Type):
            raise TypeError(
                f"signature must be a sequence of Numba types, got {type_!r} for parameter {name!r}: write one such as "
                "numba.types.float32 or kapi_types.UsmArrayType(numba.types.float32, 1, 'C')"
            )
        if isinstance(type_, types.Array) and not isinstance(type_, UsmArrayType):
            raise TypeError(
                f"arrays in a signature must be of kapi_types.UsmArrayType, got {type_} for parameter {name!r}: write "
                f"UsmArrayType(numba.types.{type_.dtype}, {type_.ndim}, {type_.layout!r})"
            )
    args = tuple(map(_in_kernel, signature))
    if len(args) != len(parameters):
        raise TypeError(
            f"signature must have a type for each of {function.__name__}'s {len(parameters)} parameters, "
            f"got {len(args)}"
        )
    return function, args


def _require_target(target: object) -> None:
    if target is not None and not isinstance(target, SpirvTarget):
        raise TypeError(f"target must be a SpirvTarget, got {target!r}: write one, or leave it out for the default")


def _require_sub_group_size(function: FunctionType, options: KernelOptions, target: SpirvTarget) -> None:
    """Raise if the options ask for sub-groups that the target does not have."""
    size, sizes = options.sub_group_size, target.sub_group_sizes
    if size is not None and sizes and size not in sizes:
        raise LimitError(
            f"sub_group_size of kernel `{function.__name__}` must be one that this device has "
            f"({', '.join(map(str, sizes))}), got {size}: choose one of them, or leave the option out"
        )


def _require_capabilities(function: FunctionType, capabilities: Sequence[str], lowered: LoweredFunction) -> None:
    """Raise if the module computes in a float type that its target lacks; what is folded away does not count."""
    for capability, problems in lowered.lacking.items():
        if capability in capabilities:
            width = capability.lower()
            where = f":\n{describe_problems(problems)}" if problems else ""
            raise KernelCompilationError(
                f"{function.__name__} ({function.__code__.co_filename}:{function.__code__.co_firstlineno}) "
                f"must do without {width} on a device that has none, got {width}{where}"
            )


def _emitted(
    kind: str,
    function: FunctionType,
    names: Sequence[str],
    args: Sequence[types.Type],
    modules: Sequence[str],
    entry_point: str,
    target: SpirvTarget,
    options: KernelOptions,
    optimise: bool,
) -> Emitted:
    try:
        emitted = emit(modules, entry_point, target, passes="all" if optimise else "needed")
    except HelperEndedError as error:
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        raise KernelCompilationError(
            f"{kind} {function.__name__} ({place}) was not compiled: the helper process that runs LLVM must be left "
            f"alone, got {error}, and so did the one after it; as a rule the machine is short of memory. Nothing is "
            "wrong with the kernel: free some memory, and launch it again"
        ) from error
    except EmissionError as error:
        spelled = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, args, strict=True))
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        raise KernelCompilationError(
            f"{kind} {function.__name__} ({place}) must use only what SPIR-V can express, "
            f"got {error}; compiled for {spelled}"
        ) from error
    if contraction.EXTENSION not in target.extensions:
        return emitted
    return replace(emitted, code=contraction.allow(emitted.code, options.fast_math_flags))
