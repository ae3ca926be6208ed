"""Compilation to SPIR-V for the device at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_runtime.sycl.discovery import current_device
from kapi_runtime.sycl.targets import target_of
from kapi_spirv import compile_spirv

__all__ = ["compile_spirv", "compile_spirv_for_current_device"]


def compile_spirv_for_current_device(
    function: Callable[..., Any],
    signature: Any,
    device_function: bool = False,
    debug: bool = False,
    fastmath: Any = False,
    opt: bool = True,
) -> tuple[bytes, Any]:
    """Compile a Python function to SPIR-V for the abilities of the current device.

    Parameters
    ----------
    function, signature, device_function, debug, fastmath, opt
        As for `compile_spirv`.

    Returns
    -------
    code : bytes
        The SPIR-V binary.
    returns : numba.types.Type
        Type of the result.

    Raises
    ------
    DeviceNotFoundError
        If there is no device.
    KernelCompilationError
        If the function cannot be compiled, or needs what the device has not.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> from numba import float32
    >>> def square(x):
    ...     return x * x
    >>> code, returns = kapi.compile_spirv_for_current_device(square, (float32,), device_function=True)
    >>> code[:4].hex(), returns
    ('03022307', float32)
    """
    return compile_spirv(
        function,
        signature,
        device_function=device_function,
        debug=debug,
        fastmath=fastmath,
        opt=opt,
        target=target_of(current_device()),
    )
