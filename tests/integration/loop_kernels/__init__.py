"""Kernels of loops, as text: run on a device, and as plain Python with a stand-in for each work-item."""

from __future__ import annotations

from loop_kernels.nested import SPACES, Nested
from loop_kernels.plain import GROUP, WorkItem, compiled, in_plain_python
from loop_kernels.shared import GroupedItem, Shared

__all__ = ["GROUP", "SPACES", "GroupedItem", "Nested", "Shared", "WorkItem", "compiled", "in_plain_python"]
