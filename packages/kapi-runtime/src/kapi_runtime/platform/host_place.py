"""Where NumPy arrays are moved to for each launch, if the program has said so by `device_context`."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from kapi_runtime.platform.interface import Platform

__all__ = ["HostPlace", "place_of_host_arrays", "places"]


@dataclass(frozen=True, slots=True)
class HostPlace:
    """Where NumPy arrays are moved to, and whether a copy is warned of.

    Attributes
    ----------
    platform : Platform
        Whose the queue is.
    queue : object
        Where to.
    warn : bool
        Whether a copy is warned of.
    in_place : bool
        Whether arrays stay where they are if the device reads the host's memory.
    """

    platform: Platform
    queue: Any
    warn: bool
    in_place: bool = True


places: ContextVar[HostPlace | None] = ContextVar("kapi_place_of_host_arrays", default=None)
"""The place in this thread or task; `device_context` sets it."""


def place_of_host_arrays() -> HostPlace | None:
    """Return where NumPy arrays are moved to here, or None outside of every `device_context`."""
    return places.get()
