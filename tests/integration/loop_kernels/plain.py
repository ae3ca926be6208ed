"""A kernel as plain Python: what stands in for a work-item and for kapi's functions."""

from __future__ import annotations

import linecache
import types
from typing import Any

import numpy as np

__all__ = ["GROUP", "WorkItem", "compiled", "in_plain_python"]

GROUP = 16
"""The work-items of a work-group."""


class WorkItem:
    """Stands in for the work-item where the kernel's Python is run as it is."""

    size = GROUP
    """The work-items of its work-group."""

    def __init__(self, *ids: int) -> None:
        self.ids = ids

    def get_id(self, dimension: int) -> int:
        return self.ids[dimension]

    get_global_id = get_id

    def get_local_linear_id(self) -> int:
        return 0

    def get_group(self) -> WorkItem:
        return self

    get_sub_group = get_group


in_plain_python = types.SimpleNamespace(
    plus=None,
    device_func=lambda function: function,
    group_barrier=lambda _group: None,
    group_broadcast=lambda _group, value: value,
    any_of_group=lambda _group, value: value,
    reduce_over_group=lambda group, value, _function: value * group.size,
)
"""kapi's functions for one work-item of a group whose members all give one value."""


def compiled(source: str, filename: str, kapi: Any = None) -> Any:
    """The function `kernel` of a source, with a file that has its lines."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {"np": np, "kapi": kapi}
    exec(compile(source, filename, "exec"), scope)
    return scope["kernel"]
