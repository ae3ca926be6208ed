"""What `call_kernel` takes on devices: kernels of every origin."""

from __future__ import annotations

from typing import Any

from kapi_sim import NdRange, Range
from kapi_sim.launchable import Launchable

__all__ = ["DeviceLaunchable"]


class DeviceLaunchable(Launchable):
    """A kernel that runs on devices: compiled by `@kernel`, or made elsewhere."""

    def run(self, index_space: Range | NdRange, args: tuple[Any, ...]) -> None:
        """Launch on the device of the arrays, and wait."""
        host_event, _ = self.submit(index_space, (), args)
        host_event.wait()
