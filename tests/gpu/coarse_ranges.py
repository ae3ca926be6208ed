"""Threads that run several work-items, of ranges of any size: otherwise they are of large ones."""

from __future__ import annotations

from kapi_runtime.cuda import submission
from kapi_runtime.cuda.programs import work_group_size

__all__ = ["use_coarse_entry_points"]


def use_coarse_entry_points() -> None:
    """Launch each kernel that has a coarse entry point with it, and in groups of one, so that few work-items do."""
    submission.COARSE_BLOCKS_PER_UNIT = 0
    submission.COARSE_BLOCKS_ALONG_X = 1
    work_group_size.GROUP_SIZE = 1
