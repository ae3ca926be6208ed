"""The switch that traces launches."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kapi_sim.tracing.traces import Trace

__all__ = ["active_trace"]

active_trace: ContextVar[Trace | None] = ContextVar("kapi_sim_trace", default=None)
"""The innermost trace that is recording."""
