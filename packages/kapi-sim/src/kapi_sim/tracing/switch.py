"""Whether launches are traced, and where a traced kernel's lines go."""

from __future__ import annotations

from contextvars import ContextVar
from types import CellType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kapi_sim.tracing.trace import Trace

__all__ = ["LINE", "active_trace"]

active_trace: ContextVar[Trace | None] = ContextVar("kapi_sim_trace", default=None)
"""The innermost trace that is recording."""

LINE = CellType()
"""Holds the function that a traced kernel calls before each statement, with file, function's line and line."""
