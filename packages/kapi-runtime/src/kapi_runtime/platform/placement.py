"""The error for arguments that do not share one place."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kapi_sim.errors import ExecutionPlacementError

if TYPE_CHECKING:
    from kapi_lowering import KernelModule

__all__ = ["other_target_error", "placement_error"]


def placement_error(message: str, code: str) -> ExecutionPlacementError:
    """Make the error; where dpnp is loaded, it is dpnp's own `ExecutionPlacementError`, too."""
    return _error_class()(message, code=code)


_classes: dict[Any, type[ExecutionPlacementError]] = {}


def _error_class() -> type[ExecutionPlacementError]:
    exceptions = sys.modules.get("dpnp.exceptions")
    theirs = getattr(exceptions, "ExecutionPlacementError", None)
    if theirs is None:
        return ExecutionPlacementError
    if theirs not in _classes:
        _classes[theirs] = type(
            ExecutionPlacementError.__name__,
            (ExecutionPlacementError, theirs),
            {"__doc__": ExecutionPlacementError.__doc__, "__module__": ExecutionPlacementError.__module__},
        )
    return _classes[theirs]


def other_target_error(module: KernelModule, platform: str) -> ExecutionPlacementError:
    """Make the error for a compiled kernel that is given arrays of a platform which it was not compiled for."""
    return placement_error(
        f"arrays of kernel `{module.name}` must be of the platform that it was compiled for, by "
        f"{type(module).__module__.partition('.')[0]}, got arrays of {platform}",
        "different-platforms",
    )
