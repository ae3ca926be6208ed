"""Errors for arguments, modules and kernels that are not of one platform."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from kapi_sim.errors import ExecutionPlacementError, KernelLaunchError
from kapi_sim.short_repr import short_repr

if TYPE_CHECKING:
    from kapi_lowering import KernelModule

__all__ = ["other_target_error", "own_kernel", "placement_error"]

_Kernel = TypeVar("_Kernel")


def placement_error(message: str, code: str, *, is_type_error: bool = False) -> ExecutionPlacementError:
    """Make the error; where dpnp is loaded, it is dpnp's own `ExecutionPlacementError`, too.

    - `message`, `code`: its text and code.
    - `is_type_error`: whether it is a `TypeError` as well, as dpnp's error for NumPy arrays is.
    """
    exceptions = sys.modules.get("dpnp.exceptions")
    theirs = getattr(exceptions, "ExecutionPlacementError", None)
    also = (*(() if theirs is None else (theirs,)), *((TypeError,) if is_type_error else ()))
    return _error_class(also)(message, code=code)


@cache
def _error_class(also: tuple[type[Exception], ...]) -> type[ExecutionPlacementError]:
    """The class of the error that is one of these classes, too."""
    if not also:
        return ExecutionPlacementError
    return type(
        ExecutionPlacementError.__name__,
        (ExecutionPlacementError, *also),
        {"__doc__": ExecutionPlacementError.__doc__, "__module__": ExecutionPlacementError.__module__},
    )


def other_target_error(module: KernelModule, platform: str) -> ExecutionPlacementError:
    """Make the error for a compiled kernel that is given arrays of a platform which it was not compiled for."""
    return placement_error(
        f"arrays of kernel `{module.name}` must be of the platform that it was compiled for, by "
        f"{type(module).__module__.partition('.')[0]}, got arrays of {platform}",
        "different-platforms",
    )


def own_kernel(class_: type[_Kernel], device: str, kernel: object) -> _Kernel:
    """Return a kernel that a platform built, which is of the platform's class.

    Raises `KernelLaunchError` if it is another one.
    """
    if not isinstance(kernel, class_):
        raise KernelLaunchError(
            f"a kernel for {device} must be built for it, got {short_repr(kernel)}", code="no-kernel"
        )
    return kernel
