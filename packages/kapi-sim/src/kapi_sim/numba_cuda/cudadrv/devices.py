"""The devices and their contexts: one, the simulator's."""

from __future__ import annotations

from kapi_sim.numba_cuda.host.devices import current_context as get_context
from kapi_sim.numba_cuda.host.devices import gpus, require_context

__all__ = ["get_context", "gpus", "require_context", "reset"]


def reset() -> None:
    """Do nothing: arrays live as long as they are held."""
