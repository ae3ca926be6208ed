"""Compilation of functions to code that other programs load, by numba.cuda's names."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from kapi_runtime.host.devices import current_device
from kapi_runtime.platform.installed import named, platform_of_device
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.interface.numba_cuda import lacking

__all__ = ["compile", "compile_for_current_device", "compile_ptx", "compile_ptx_for_current_device"]


def compile(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: Any = False,
    cc: tuple[int, int] | None = None,
    opt: bool = True,
    abi: str = "c",
    abi_info: dict[str, Any] | None = None,
    output: str = "ptx",
) -> tuple[Any, Any]:
    """Compile a Python function to PTX; needs neither GPU nor driver.

    Parameters
    ----------
    pyfunc : function
        A plain Python function in the kernel language.
    sig : str or sequence of numba.types.Type
        The type of each parameter.
    debug : bool
        Whether to compile asserts, raises and index checks in.
    lineinfo : bool
        Whether the code says which line of the source each instruction is of.
    device : bool
        Whether to export it as a function that other code calls, in place of a kernel.
    fastmath : bool or iterable of str
        As for `kernel`.
    cc : tuple of int, optional
        The compute capability to compile for.
    opt : bool
        Whether LLVM's optimisation passes run.
    abi : {"c", "numba"}
        How a function is called: "c" is what kapi has, with the result as value.
    abi_info : dict, optional
        ``{"abi_name": name}``: the name that a function is exported by.
    output : {"ptx", "ltoir"}
        "ptx" is what kapi has.

    Returns
    -------
    code : str
        PTX.
    return_type : numba.types.Type
        Type of the result.

    Raises
    ------
    DriverError
        If ``kapi-runtime[cuda]`` is not installed, which brings the compiler.
    KernelCompilationError
        If the function cannot be compiled.
    LimitError
        If `abi` or `output` is what kapi has not.
    """
    return _ptx("compile", pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, output)


def compile_ptx(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: Any = False,
    cc: tuple[int, int] | None = None,
    opt: bool = True,
    abi: str = "numba",
    abi_info: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Compile a Python function to PTX, by default as a kernel; parameters and errors are those of `compile`."""
    return _ptx("compile_ptx", pyfunc, sig, debug, lineinfo, device, fastmath, cc, opt, abi, abi_info, "ptx")


def compile_for_current_device(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: Any = False,
    opt: bool = True,
    abi: str = "c",
    abi_info: dict[str, Any] | None = None,
    output: str = "ptx",
) -> tuple[Any, Any]:
    """Compile a Python function for the abilities of the current device: to PTX, or on SYCL to SPIR-V.

    Parameters and errors are those of `compile`; "ptx" is the code of the device, whatever it is.

    Examples
    --------
    >>> import kapi_runtime.compat as cuda
    >>> from numba import float32
    >>> def square(x):
    ...     return x * x
    >>> code, returns = cuda.compile_for_current_device(square, (float32,))
    >>> code[:4].hex(), returns
    ('03022307', float32)
    """
    chosen = current_device()
    platform = platform_of_device(chosen)
    function = _checked("compile_for_current_device", pyfunc, device, abi, abi_info, output)
    options = {"debug": debug, "fastmath": fastmath, "opt": opt, **({"lineinfo": True} if lineinfo else {})}
    return _compiled(platform, function, sig, device, platform.target_of(chosen), options)


def compile_ptx_for_current_device(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: Any = False,
    opt: bool = True,
    abi: str = "numba",
    abi_info: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Compile a Python function to PTX for the current device; parameters and errors are those of `compile`.

    Raises
    ------
    LimitError
        If the device is none of CUDA's, too.
    """
    platform = platform_of_device(current_device())
    if platform.name != "cuda":
        raise lacking(
            "compile_ptx_for_current_device", "call `compile_for_current_device` for its code", platform.name.upper()
        )
    name = "compile_ptx_for_current_device"
    capability = current_device().compute_capability
    return _ptx(name, pyfunc, sig, debug, lineinfo, device, fastmath, capability, opt, abi, abi_info, "ptx")


def _ptx(
    name: str,
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool,
    lineinfo: bool,
    device: bool,
    fastmath: Any,
    cc: tuple[int, int] | None,
    opt: bool,
    abi: str,
    abi_info: dict[str, Any] | None,
    output: str,
) -> tuple[Any, Any]:
    platform: Any = named("cuda", f"`{name}`")
    function = _checked(name, pyfunc, device, abi, abi_info, output)
    options = {"debug": debug, "lineinfo": lineinfo, "fastmath": fastmath, "opt": opt}
    return _compiled(platform, function, sig, device, platform.numba_cuda.target_of_capability(cc), options)


def _compiled(
    platform: Platform, function: Any, sig: Any, device: bool, target: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    code, returns = platform.compile_function(function, sig, device, target, **options)
    return (code.decode().rstrip("\0") if platform.name == "cuda" else code), returns


def _checked(
    name: str, pyfunc: Callable[..., Any], device: bool, abi: str, abi_info: dict[str, Any] | None, output: str
) -> Callable[..., Any]:
    """The function to compile, with the name that it is exported by."""
    if output != "ptx":
        raise lacking(f"{name}(output={output!r})", 'leave output out, which is "ptx"')
    if abi not in ("c", "numba"):
        raise lacking(f"{name}(abi={abi!r})", 'write abi="c"')
    if device and abi == "numba":
        raise lacking(f'{name}(abi="numba")', 'write abi="c": the result is the value of the function')
    names = dict(abi_info or {})
    export = names.pop("abi_name", None)
    if names or (export is not None and abi != "c"):
        raise lacking(f"{name}(abi_info={abi_info!r})", 'it may hold "abi_name" alone, of a function with abi="c"')
    if export is None:
        return pyfunc
    plain: Any = getattr(pyfunc, "py_func", pyfunc)
    made = types.FunctionType(plain.__code__, plain.__globals__, export, plain.__defaults__, plain.__closure__)
    made.__kwdefaults__, made.__doc__ = plain.__kwdefaults__, plain.__doc__
    made.__module__, made.__qualname__ = plain.__module__, export
    return made
