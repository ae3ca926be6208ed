"""`compile_kernel` and `compile_spirv`: a Python function and a signature in, SPIR-V out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields

from numba import types

from kapi_lowering.kernels.compilation import compiled_function, compiled_kernel
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language import KernelOptions
from kapi_spirv import contraction
from kapi_spirv.binary import read_header
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import KAPI_DEFAULT_TARGET, SpirvTarget

__all__ = ["compile_kernel", "compile_spirv"]

_NO_OPTIONS = KernelOptions()


def compile_kernel(
    function: Callable[..., None],
    signature: str | Sequence[types.Type],
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
    signature : str or sequence of numba.types.Type
        The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars; or a
        text that `kapi_types.parse_signature` takes.
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
    DtypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, "item1, float32[:]")
    >>> module.parameters[0].kind, module.layout.format
    ('array', '<qQq')
    """
    _require_target(target)
    target = target or KAPI_DEFAULT_TARGET
    module = compiled_kernel(function, signature, target, options, optimise)
    code = _contracted(module.code, target, options)
    header = read_header(code)
    shared = {each.name: getattr(module, each.name) for each in fields(module)}
    return SpirvModule(**shared | {"code": code}, capabilities=header.capabilities, extensions=header.extensions)


def compile_spirv(
    function: Callable[..., object],
    signature: str | Sequence[types.Type],
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
    signature : str or sequence of numba.types.Type
        The type of each parameter.
    device_function : bool
        Whether to export the function under its own name, with plain arguments (arrays as pointer, shape, and strides
        where they have any), in place of a kernel. Its value is what the function returns.
    debug : bool
        Whether to compile asserts, raises and index checks in; for kernels only.
    fastmath : bool or iterable of str
        As in `kapi_sim.language.KernelOptions`.
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
    DtypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> def square(x):
    ...     return x * x
    >>> code, return_type = compile_spirv(square, "float32", device_function=True)
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
            f"debug must be False for a device function, got True for {getattr(function, '__name__', function)}: "
            "it is the launch of a kernel that raises",
            code="debug-of-device-function",
        )
    target = target or KAPI_DEFAULT_TARGET
    code, return_type = compiled_function(function, signature, target, options, opt)
    return _contracted(code, target, options), return_type


def _require_target(target: object) -> None:
    if target is not None and not isinstance(target, SpirvTarget):
        raise TypeError(f"target must be a SpirvTarget, got {target!r}: write one, or leave it out for the default")


def _contracted(code: bytes, target: SpirvTarget, options: KernelOptions) -> bytes:
    """The module with its permission to contract, where the target takes one."""
    if contraction.EXTENSION not in target.extensions:
        return code
    return contraction.allow(code, options.fast_math_flags)
