"""Configurations of launches: blocks, threads, and bytes of dynamic shared memory."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.tracebacks import shorten

__all__ = ["ConfigurationError", "LaunchConfiguration", "dimensions"]


class ConfigurationError(KernelLaunchError, ValueError):
    """A kernel is launched without a configuration, or with one that no launch can have."""


class ConfigurationTypeError(KernelLaunchError, TypeError):
    """A configuration is not made of integers."""


class Launchable(Protocol):
    """A kernel, as far as a configuration has to know it."""

    def launch(
        self, grid: tuple[int, ...], block: tuple[int, ...], nbytes: int, args: tuple[Any, ...], stream: Any
    ) -> None:
        """Run it."""


def dimensions(name: str, given: Any) -> tuple[int, int, int]:
    """Return the extents of a grid or a block along x, y and z."""
    extents = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not 1 <= len(extents) <= 3:
        raise ConfigurationError(
            f"{name} must be a sequence of 1, 2 or 3 integers, got {len(extents)}: {given!r}", code="cuda-configuration"
        )
    for extent in extents:
        if isinstance(extent, (bool, np.bool_)) or not isinstance(extent, (int, np.integer)):
            raise ConfigurationTypeError(
                f"{name} must be a sequence of integers, got {given!r}", code="cuda-configuration"
            )
        if extent < 1:
            raise ConfigurationError(
                f"{name} must be made of integers from 1 on, got {given!r}", code="cuda-configuration"
            )
    x, y, z = (*map(int, extents), 1, 1)[:3]
    return x, y, z


class LaunchConfiguration:
    """A kernel with its configuration; calling it launches, and waits.

    Parameters
    ----------
    kernel : Launchable
        What is launched.
    grid, block : tuple of int
        Blocks and threads, along x, y and z.
    sharedmem : int
        Bytes of dynamic shared memory.
    stream : Stream or 0
        The stream that the launch is put into.
    """

    __slots__ = ("block", "grid", "kernel", "sharedmem", "stream")

    def __init__(
        self,
        kernel: Launchable,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        sharedmem: int,
        stream: Any = 0,
    ) -> None:
        if isinstance(sharedmem, bool) or not isinstance(sharedmem, (int, np.integer)) or sharedmem < 0:
            raise ConfigurationError(
                f"sharedmem must be an integer from 0 on, got {sharedmem!r}", code="cuda-configuration"
            )
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.sharedmem = int(sharedmem)
        self.stream = stream

    def __call__(self, *args: Any) -> None:
        """Launch with these arguments."""
        try:
            self.kernel.launch(self.grid, self.block, self.sharedmem, args, self.stream)
        except Exception as error:
            shorten(error, isinstance(error, KapiError))
            raise

    def __repr__(self) -> str:
        return f"<{self.kernel!r} over {self.grid} blocks of {self.block} threads>"
