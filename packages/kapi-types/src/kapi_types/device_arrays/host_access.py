"""Memory that a function on the host may not touch, and arrays that it may not make: compile errors in plain words."""

from __future__ import annotations

import linecache
from traceback import walk_stack
from typing import NoReturn

from kapi_sim.errors import KernelCompilationError
from kapi_types._numba_compat import NUMBA_FOLDER
from kapi_types.device_arrays.device_array import DeviceArrayType
from kapi_types.device_arrays.libraries import library_named

__all__ = ["refuse_access", "refuse_allocation", "refuse_elements"]


def refuse_access(array: DeviceArrayType) -> NoReturn:
    """End the compilation of a host function that would touch memory which only a device is known to reach.

    Raises `KernelCompilationError`: always. It is no error of Numba's, so it reaches the user as it stands.
    """
    library = library_named(array.library)
    if library is not None:
        raise KernelCompilationError(
            f"{_location()}array that a function on the host touches must be in memory that the host reaches, got "
            f"{array}; copy it to the host with `{library.host_copy}`, or let the device do it: in a kernel, or "
            "with kapi-numba-offload installed",
            code="host-memory-access",
        )
    kind = (
        f"{array.usm_type} memory"
        if array.usm_type
        else "memory of unknown USM kind (arrays tell theirs by `usm_type`; the result of an expression has none)"
    )
    raise KernelCompilationError(
        f"{_location()}array that a function on the host touches must be in memory that the host reaches "
        f"(USM kind shared or host), got {array} in {kind}; "
        'make it with usm_type="shared", copy it to the host with its `asnumpy`, or let the device do it: '
        "in a kernel, or with kapi-numba-offload installed",
        code="host-memory-access",
    )


def refuse_elements(array: DeviceArrayType) -> NoReturn:
    """End the compilation of a host function that would touch elements of a type that Numba has for devices only.

    Raises `KernelCompilationError`: always.
    """
    raise KernelCompilationError(
        f"{_location()}array that a function on the host touches must have elements that Numba knows on the host, "
        f"got {array}; convert it with its `astype`, or let the device do it: in a kernel, or with "
        "kapi-numba-offload installed",
        code="host-elements",
    )


def refuse_allocation(array: type[DeviceArrayType]) -> NoReturn:
    """End the compilation of a host function that would allocate a device array.

    Raises `KernelCompilationError`: always.
    """
    new, remedy = ("device", "in a kernel") if array is DeviceArrayType else ("USM", "or install kapi-numba-offload")
    raise KernelCompilationError(
        f"{_location()}result must be stored in an array that exists, got an expression that makes a new {new} array, "
        f"for which a function on the host has no queue; pass an array for it and assign to its elements, {remedy}",
        code="host-allocation",
    )


def _location() -> str:
    """File, line and source of what is being compiled, of the innermost function that is not Numba's own."""
    for frame, _ in walk_stack(None):
        # Type inference and lowering keep the current source location as `loc`.
        loc = getattr(frame.f_locals.get("self"), "__dict__", {}).get("loc")
        if loc is not None and not loc.filename.startswith(NUMBA_FOLDER):
            source = linecache.getline(loc.filename, loc.line).strip()
            return f"{loc.filename}:{loc.line}: " + (f"`{source}`: " if source else "")
    return ""
