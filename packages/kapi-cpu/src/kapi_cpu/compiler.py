"""`compile_kernel`: a Python function and a signature in, object code out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from numba import types

from kapi_cpu.module import CpuModule
from kapi_cpu.target import CpuTarget, host_target
from kapi_lowering.kernels.compilation import compiled_kernel
from kapi_sim.language import KernelOptions

__all__ = ["compile_kernel"]

_NO_OPTIONS = KernelOptions()


def compile_kernel(
    function: Callable[..., None],
    signature: str | Sequence[types.Type],
    *,
    target: CpuTarget | None = None,
    options: KernelOptions = _NO_OPTIONS,
    optimise: bool = True,
) -> CpuModule:
    """Compile a Python function to a kernel for a CPU.

    Parameters
    ----------
    function : function
        A plain Python function in the kernel language; its first parameter is the Item or NdItem.
    signature : str or sequence of numba.types.Type
        The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars; or a
        text that `kapi_types.parse_signature` takes.
    target : CpuTarget, optional
        What to compile for; the processor that this process runs on by default.
    options : KernelOptions, optional
        How to compile: those of `@kernel`.
    optimise : bool
        Whether LLVM's optimisation passes run before vectorisation.

    Returns
    -------
    CpuModule

    Raises
    ------
    KernelCompilationError
        If the function is not in the kernel language, with every problem and its line.
    LimitError
        If the options ask for sub-groups that the target does not have, or the private arrays are too large.
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
    if target is not None and not isinstance(target, CpuTarget):
        raise TypeError(f"target must be a CpuTarget, got {target!r}: take host_target(), or leave it out")
    module = compiled_kernel(function, signature, target or host_target(), options, optimise)
    return CpuModule(**{each.name: getattr(module, each.name) for each in fields(module)})
