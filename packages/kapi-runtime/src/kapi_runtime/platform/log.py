"""Log lines of a launch that is the first of its kind: its device, and how long its code took to be built there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from kapi_runtime.platform.interface import Platform
from kapi_sim import environment_variables
from kapi_sim.log import LOGGER, long_work

__all__ = ["building", "linking", "log_device"]


def building(kernel: str, device: Any, describe: Callable[[Any], str]) -> AbstractContextManager[None]:
    """Tell of the build by a driver that a ``with`` block does.

    - `device`: what it is built for.
    - `describe`: names the device.
    """
    return long_work(
        f"the driver builds kernel `{kernel}`", f"kernel `{kernel}`: built by the driver of {describe(device)}"
    )


def linking(kernel: str, device: Any, describe: Callable[[Any], str]) -> AbstractContextManager[None]:
    """Tell of the linking into this process that a ``with`` block does; parameters as of `building`."""
    return long_work(f"linking kernel `{kernel}`", f"kernel `{kernel}`: linked for {describe(device)}")


_reported: set[str] = set()


def log_device(platform: Platform, queue: Any) -> None:
    """Log the device of a launch that has no plan yet, once, with its size and the disk cache."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    device = platform.device_of(queue)
    name = platform.describe_device(device)
    if name not in _reported:
        _reported.add(name)
        unit = "thread" if platform.name == "cpu" else "compute unit"
        count = platform.limits(device).compute_units
        folder = "off" if environment_variables.CACHE.is_off else environment_variables.cache_folder() or "none"
        LOGGER.info("device: %s, %d %s; disk cache: %s", name, count, unit + "s" * (count != 1), folder)
