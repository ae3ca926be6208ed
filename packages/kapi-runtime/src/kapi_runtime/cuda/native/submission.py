"""The native functions of a launch on CUDA devices, and whether they can be had in this process."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import NamedTuple

from kapi_runtime.cuda.devices import driver
from kapi_runtime.native.loading import NativeLibrary, Worth, python_addresses
from kapi_runtime.platform.whole import done_whole

__all__ = ["NativeFunctions", "cu_launch_kernel", "native_functions", "why_not"]

_PYTHON = (
    *("PyBool_FromLong", "PyErr_Clear", "PyEval_RestoreThread", "PyEval_SaveThread", "PyLong_AsVoidPtr"),
    *("PyLong_FromLong", "PyObject_GetAttr", "Py_DecRef"),
)


class NativeFunctions(NamedTuple):
    """Native code as Python calls it.

    Attributes
    ----------
    send : callable
        Launches what is at an address, and returns the driver's code.
    read_cupy, read_torch : callable
        Read arrays of a library by the table at an address.
    """

    send: Callable[[int], int]
    read_cupy: Callable[..., bool]
    read_torch: Callable[..., bool]


_made: list[NativeFunctions | None] = []
_reason = ""


def native_functions(at_once: bool = False) -> NativeFunctions | None:
    """Return the native functions; None if they cannot be had or are not worth it yet.

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
    return driver.address_of("cuLaunchKernel")


def _make_once() -> None:
    global _reason
    made: NativeFunctions | None = None
    _reason = why_not()
    if not _reason:
        try:
            made = NativeFunctions(*_library.load(NativeFunctions._fields, None))
        except Exception as error:  # whatever it is, the plain way gives the same results
            _reason = f"{type(error).__name__}: {error}"
    _made.append(made)


_library = NativeLibrary(
    "kapi_runtime.cuda.native.launching",
    ("kapi_runtime.cuda.native.structures", "kapi_runtime.platform.dlpack", "kapi_sim.language.usm_structures"),
    python_addresses(_PYTHON),
)
_worth = Worth(lambda: _library.is_kept)
