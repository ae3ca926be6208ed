"""Log lines of a launch that is the first of its kind: its device, and how long the driver built the kernel."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kapi_runtime.platform.interface import Platform
from kapi_sim.log import LOGGER
from kapi_sim.progress import progress_text

__all__ = ["building", "log_device"]


@contextmanager
def building(kernel: str, device: Any, describe: Callable[[Any], str]) -> Iterator[None]:
    """Tell of the build that a ``with`` block does.

    Parameters
    ----------
    kernel : str
        The kernel's name.
    device : object
        What it is built for.
    describe : callable
        Names the device.
    """
    start = time.perf_counter()
    with progress_text(f"the driver builds kernel `{kernel}`"):
        yield
    if LOGGER.isEnabledFor(logging.INFO):
        seconds = time.perf_counter() - start
        LOGGER.info("kernel `%s`: built by the driver of %s, %.3f s", kernel, describe(device), seconds)


_told: set[str] = set()


def log_device(platform: Platform, queue: Any) -> None:
    """Log the device of a launch that has no plan yet, once."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    name = platform.describe_device(platform.device_of(queue))
    if name not in _told:
        _told.add(name)
        LOGGER.info("device: %s", name)
