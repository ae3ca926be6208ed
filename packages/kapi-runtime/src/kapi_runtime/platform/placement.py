"""The error for arguments that do not share one place."""

from __future__ import annotations

import sys
from typing import Any

from kapi_sim.errors import ExecutionPlacementError

__all__ = ["placement_error"]


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
