"""`compile_kernel` and `compile_ptx`: a Python function and a signature in, PTX out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from math import prod

from numba import types

from kapi_lowering.kernels.compilation import compiled_function, compiled_kernel
from kapi_lowering.results.packed import Parameter
from kapi_ptx.local_layout import is_static
from kapi_ptx.module import PtxModule
from kapi_ptx.target import KAPI_DEFAULT_TARGET, PtxTarget
from kapi_sim.errors import KernelCompilationError
from kapi_sim.language import KernelOptions

__all__ = ["compile_kernel", "compile_ptx"]

_NO_OPTIONS = KernelOptions()


def compile_kernel(
    function: Callable[..., None],
    signature: str | Sequence[types.Type],
    *,
    target: PtxTarget | None = None,
    options: KernelOptions = _NO_OPTIONS,
    optimise: bool = True,
) -> PtxModule:
    """Compile a Python function to a PTX kernel. Needs neither GPU nor driver.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    signature : str or sequence of numba.types.Type
        The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars; or a
        text that `kapi_types.parse_signature` takes.
    target : PtxTarget, optional
        What to compile for; `KAPI_DEFAULT_TARGET` by default.
    options : KernelOptions, optional
        How to compile: those of `@kernel`.
    optimise : bool
        Whether LLVM's optimisation passes run.

    Returns
    -------
    PtxModule

    Raises
    ------
    KernelCompilationError
        If the function is not in the kernel language, with every problem and its line; if it needs NVIDIA's libdevice,
        which ``kapi-ptx[libdevice]`` brings, and that is not installed; or if LLVM cannot make PTX of it.
    LimitError
        If the options ask for sub-groups of another size than 32, or the private arrays are too large.
    DtypeError
        If `signature` does not fit the function's parameters.

    Examples
    --------
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, "item1, float32[:]")
    >>> module.parameters[0].kind, module.layout.format
    ('array', '<qQq')
    >>> ".visible .entry kapi_double(" in module.ptx
    True
    """
    _require_target(target)
    module = compiled_kernel(function, signature, target or KAPI_DEFAULT_TARGET, options, optimise)
    shared = {each.name: getattr(module, each.name) for each in fields(module)}
    return PtxModule(**shared, local_itemsizes=_dynamic_itemsizes(module.parameters))


def compile_ptx(
    function: Callable[..., object],
    signature: str | Sequence[types.Type],
    device_function: bool = False,
    debug: bool = False,
    fastmath: bool | Iterable[str] = False,
    opt: bool = True,
    target: PtxTarget | None = None,
    lineinfo: bool = False,
) -> tuple[bytes, types.Type]:
    """Compile a Python function to PTX, as a kernel or as a function to be linked to other modules.

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
    target : PtxTarget, optional
        What to compile for; `KAPI_DEFAULT_TARGET` by default.
    lineinfo : bool
        Whether to write the lines of the source into the PTX, for profilers.

    Returns
    -------
    code : bytes
        The PTX, in ASCII.
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
    >>> code, return_type = compile_ptx(square, "float32", device_function=True)
    >>> b".func" in code, return_type
    (True, float32)
    """
    _require_target(target)
    options = KernelOptions.of(debug=debug, fastmath=fastmath, lineinfo=lineinfo)
    if not device_function:
        module = compile_kernel(function, signature, target=target, options=options, optimise=opt)  # type: ignore[arg-type]
        return module.code, types.none
    if debug:
        raise KernelCompilationError(
            f"debug must be False for a device function, got True for {getattr(function, '__name__', function)}: "
            "it is the launch of a kernel that raises",
            code="debug-of-device-function",
        )
    return compiled_function(function, signature, target or KAPI_DEFAULT_TARGET, options, opt)


def _require_target(target: object) -> None:
    if target is not None and not isinstance(target, PtxTarget):
        raise TypeError(f"target must be a PtxTarget, got {target!r}: write one, or leave it out for the default")


def _dynamic_itemsizes(parameters: Sequence[Parameter]) -> tuple[int, ...]:
    """Bytes of an element of each parameter in the memory that the launch asks for."""
    local = [each.type for each in parameters if each.kind == "local"]
    itemsizes = [max(8, each.dtype.bitwidth) // 8 for each in local]  # a bool takes a byte
    sizes = [
        None if each.extents is None else prod(each.extents) * itemsize
        for each, itemsize in zip(local, itemsizes, strict=True)
    ]
    return () if is_static(sizes) else tuple(itemsizes)
