"""``@cuda.jit`` and its kin, which make kernels and device functions of plain Python functions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.numba_cuda.launches.dispatcher import Dispatcher, numba_function
from kapi_sim.numba_cuda.launches.launch_signatures import declared_signature, is_signature
from kapi_sim.numba_cuda.static_types.kinds import Declared, SignatureError
from kapi_sim.numba_cuda.support import refuse
from kapi_sim.short_repr import short_repr

__all__ = ["LinkedSource", "declare_device", "jit"]

_OF_SIGNATURES = ("argtypes", "restype", "bind")
_OPTIONS = ("boundscheck", "extensions", "fastmath", "launch_bounds", "lto", "max_registers", "shared_memory_carveout")


class OptionError(KernelCompilationError, ValueError, NotImplementedError):
    """An option is none that ``@cuda.jit`` has."""


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: Any = "never",
    forceinline: bool = False,
    link: Any = (),
    debug: bool | None = None,
    opt: Any = None,
    lineinfo: bool = False,
    cache: bool = False,
    **options: Any,
) -> Any:
    """Make a kernel, or with `device` a function that kernels call, of a plain Python function.

    Parameters
    ----------
    func_or_sig : function, signature or list of signatures
        What is decorated, or its types.
    device : bool
        Whether kernels call it.
    inline, forceinline, debug, opt, lineinfo, cache, **options
        For the compiler; the simulator has none.
    link : sequence
        Files of CUDA C, of which nothing is used: a kernel that calls a function of theirs is refused.

    Returns
    -------
    Dispatcher, or a decorator that makes one

    Raises
    ------
    SignatureError
        If a signature is none, or none that the function can have.
    OptionError
        If there is no such option.
    """
    _require_options(options, device, link)
    given = {
        "device": device,
        "debug": debug,
        "opt": opt,
        "fastmath": options.pop("fastmath", False),
        "inline": inline,
        "lineinfo": lineinfo,
        **options,
    }
    is_list = isinstance(func_or_sig, list)
    if not is_list and func_or_sig is not None and not is_signature(func_or_sig):
        return _decorated(func_or_sig, (), given, False)
    signatures = func_or_sig if is_list else [] if func_or_sig is None else [func_or_sig]
    declared = tuple(map(declared_signature, signatures))
    return lambda function: _decorated(function, declared, given, is_list)


def _require_options(options: dict[str, Any], device: bool, link: Any) -> None:
    for name in options:
        if name in _OF_SIGNATURES and options[name] is not None:
            raise SignatureError(
                f"the types of a function must be given as the first argument of cuda.jit, got option {name}: write "
                "@cuda.jit('void(float32[:])')",
                code="signature-form",
            )
        if name not in (*_OPTIONS, *_OF_SIGNATURES):
            raise OptionError(
                f"an option of cuda.jit must be one that numba.cuda has, got {name}: leave it out",
                code="option-unknown",
            )
    if options.get("boundscheck"):
        raise OptionError(
            "option boundscheck must not be true, which numba.cuda refuses: leave it out, the simulator checks bounds",
            code="option-unknown",
        )
    if device and link:
        raise OptionError("option link must be given to a kernel, got a device function", code="option-unknown")


def _decorated(function: Any, declared: Sequence[Declared], given: dict[str, Any], is_list: bool) -> Any:
    plain = function.py_func if isinstance(function, DeviceFunction) else numba_function(function) or function
    if not hasattr(plain, "__code__"):
        raise KernelCompilationError(
            f"a kernel must be a plain Python function, got {short_repr(function)}", code="kernel-form"
        )
    return functools.update_wrapper(Dispatcher(plain, declared, given, is_list), plain)


class LinkedSource:
    """Code that is linked to kernels on a GPU, which nothing is made of here: a call of what it holds is refused."""

    def __init__(self, data: Any, name: str | None = None, **options: Any) -> None:
        self.data = data
        self.name = name


class Foreign:
    """A function of CUDA C, of which the simulator has no Python to run."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        """Refuse the call."""
        refuse("declare_device")


def declare_device(name: str, sig: Any, **options: Any) -> Foreign:
    """Return what stands for a function of CUDA C: a kernel that calls it is refused.

    Parameters
    ----------
    name : str
        The function's.
    sig : signature
        Its types, that of the result among them.
    **options
        How it is linked.

    Raises
    ------
    SignatureError
        If the signature is none, or lacks the result.
    """
    if declared_signature(sig).result is None:
        raise SignatureError(
            f"signature of declared function `{name}` must have the type of the result, got {short_repr(sig)}: write "
            "'float32(float32)'",
            code="signature-form",
        )
    return Foreign(name)
