"""The native functions of a launch on CUDA devices, and whether they can be had in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from kapi_runtime.cuda.devices import driver
from kapi_runtime.native.loading import UnlikeError, load, python_function
from kapi_sim.forks import reinit_after_fork

__all__ = ["NativeFunctions", "cu_launch_kernel", "native_functions", "why_not"]

_MODULE, _DYNAMIC = "kapi_runtime.cuda.native.launching", "kapi_runtime.cuda.native.dynamic_launching"


class NativeFunctions(NamedTuple):
    """Native code as Python calls it.

    - `launch`, `pack`, `send`, `resend`: as `launching` says; the first argument is the address of a `CudaLaunch`.
    - `launch_dynamic`, `pack_dynamic`: as `dynamic_launching` says; the first argument is the address of a
      `DynamicLaunch`.
    """

    launch: Callable[[int, tuple[Any, ...], list[Any]], tuple[Any, Any] | Literal[False] | None]
    pack: Callable[[int, tuple[Any, ...]], bool]
    send: Callable[[int, Any, list[Any]], tuple[Any, Any] | Literal[False]]
    resend: Callable[[int, Any], tuple[Any, Any] | Literal[False]]
    launch_dynamic: Callable[[int, Any, tuple[Any, ...], list[Any]], tuple[Any, Any] | Literal[False] | None]
    pack_dynamic: Callable[[int, Any, tuple[Any, ...]], bool]


_lock = reinit_after_fork(threading.Lock())
_made: list[NativeFunctions | None] = []
_reason = ""


def native_functions() -> NativeFunctions | None:
    """Return the native functions; None if they cannot be had."""
    return _made[0] if _made else _made_once()


def why_not() -> str:
    """Return why launches take the slow path; an empty text if they take the native one."""
    native_functions()
    return _reason


def cu_launch_kernel() -> int:
    """Return the address of the driver's function, or 0 if it gives none."""
    return driver.address_of("cuLaunchKernel")


def _made_once() -> NativeFunctions | None:
    global _reason
    with _lock:
        if not _made:
            _reason = ""
            try:
                if not cu_launch_kernel():
                    raise UnlikeError("the driver must give the address of cuLaunchKernel, got none")
                own, dynamic = NativeFunctions._fields[:4], NativeFunctions._fields[4:]
                loaded = load(_MODULE, own, python_function), load(_DYNAMIC, dynamic, python_function)
                _made.append(NativeFunctions(*loaded[0], *loaded[1]))
            except Exception as error:  # whatever it is, the slow path gives the same results
                _reason = str(error) if isinstance(error, UnlikeError) else f"{type(error).__name__}: {error}"
                _made.append(None)
    return _made[0]
