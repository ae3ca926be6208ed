"""The queue to which NumPy arrays are moved for each launch, inside of a `device_context`."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from kapi_runtime.platform.interface import Platform

__all__ = ["HostArrayTarget", "device_array_target", "host_array_target"]


@dataclass(frozen=True, slots=True)
class HostArrayTarget:
    """The queue to which NumPy arrays are moved, and whether a copy is warned of.

    Attributes
    ----------
    platform : Platform
        The platform of the queue.
    queue : object
        The queue.
    warn : bool
        Whether a copy is warned of.
    in_place : bool
        Whether arrays stay where they are if the device reads the host's memory.
    """

    platform: Platform
    queue: Any
    warn: bool
    in_place: bool = True


host_array_target: ContextVar[HostArrayTarget | None] = ContextVar("kapi_host_array_target", default=None)
"""The target of this thread or task, None outside of every `device_context`, which sets it."""


def device_array_target() -> HostArrayTarget | None:
    """Return the target; None also in the context of a platform whose kernels use NumPy arrays in place."""
    target = host_array_target.get()
    return None if target is None or target.platform.is_host else target
