"""The native function of a launch on CUDA devices, and whether it can be had in this process."""

from __future__ import annotations

import platform
from collections.abc import Callable

from kapi_runtime.cuda.devices import driver
from kapi_runtime.native.loading import NativeLibrary, Worth, python_addresses
from kapi_runtime.platform.whole import done_whole

__all__ = ["cu_launch_kernel", "native_functions", "why_not"]

_SINCE = 11000  # CUDA 11.0: older drivers are not supported
_PYTHON = ("PyBool_FromLong", "PyEval_RestoreThread", "PyEval_SaveThread", "PyLong_AsVoidPtr", "PyLong_FromLong")

_made: list[tuple[Callable[[int], int], Callable[..., bool]] | None] = []
_reason = ""


def native_functions(at_once: bool = False) -> tuple[Callable[[int], int], Callable[..., bool]] | None:
    """Return what launches what is at an address, and what reads CuPy's arrays by the table at an address.

    None if they cannot be had or are not worth it yet.

    Parameters
    ----------
    at_once : bool
        Whether to make it whatever it costs.
    """
    if not _made and (at_once or _worth.is_worth_it()):
        done_whole(_make_once)
    return _made[0] if _made else None


def why_not() -> str:
    """Return why launches go the plain way; an empty text if they go the native way, once there are enough of them."""
    if _made:
        return _reason
    if platform.python_implementation() != "CPython":
        return f"Python must be CPython, got {platform.python_implementation()}"
    return "" if cu_launch_kernel() else "the driver must give the address of cuLaunchKernel, got none"


def cu_launch_kernel() -> int:
    """Return the address of the driver's function, or 0 if it gives none."""
    try:
        code, address, *_ = driver.bindings().cuGetProcAddress(b"cuLaunchKernel", _SINCE, 0)
    except (AttributeError, TypeError, ValueError):
        return 0
    return 0 if code else int(address or 0)


def _make_once() -> None:
    global _reason
    made: tuple[Callable[[int], int], Callable[..., bool]] | None = None
    _reason = why_not()
    if not _reason:
        try:
            send, read = _library.load(("send", "read_cupy"), None)
            made = send, read
        except Exception as error:  # whatever it is, the plain way gives the same results
            _reason = f"{type(error).__name__}: {error}"
    _made.append(made)


_library = NativeLibrary(
    "kapi_runtime.cuda.native.launching",
    ("kapi_runtime.cuda.native.structures", "kapi_sim.language.usm_structures"),
    python_addresses(_PYTHON),
)
_worth = Worth(lambda: _library.is_kept)
