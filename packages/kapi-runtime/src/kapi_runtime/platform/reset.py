"""Functions that drop what is cached for a device when it is reset; modules with such caches register them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["forget", "on_reset"]

_forgetting: list[Callable[[Any], None]] = []


def on_reset(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """Register a function of a device that drops what is cached for it; usable as a decorator."""
    _forgetting.append(function)
    return function


def forget(device: Any) -> None:
    """Drop what is cached for a device."""
    for function in _forgetting:
        function(device)
