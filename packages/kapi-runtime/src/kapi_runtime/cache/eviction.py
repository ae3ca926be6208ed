"""Eviction: the entries that were unused the longest make room, once the folder holds more bytes than it may."""

from __future__ import annotations

import itertools
import sys

from kapi_runtime.cache.folder import CacheFolder
from kapi_sim import environment

__all__ = ["DEFAULT_SIZE", "evict_unused", "size_limit"]

DEFAULT_SIZE = 256
"""Megabytes that the folder may hold if the environment names no other number."""


def size_limit() -> tuple[int, str]:
    """Return how many bytes the folder may hold, and what is wrong with the number in the environment, or ""."""
    asked = environment.CACHE_SIZE.value
    problem = ""
    try:
        megabytes = float(DEFAULT_SIZE if asked is None else asked)
        if not megabytes >= 0:  # NaN is not, either
            raise ValueError
    except ValueError:
        problem = f"{environment.CACHE_SIZE.name} must be a number of megabytes, got {asked!r}: {DEFAULT_SIZE} is used"
        megabytes = DEFAULT_SIZE
    return int(min(megabytes * 2**20, sys.maxsize)), problem


def evict_unused(folder: CacheFolder, limit: int) -> None:
    """Remove the entries that were unused the longest, until the others hold at most `limit` bytes."""
    entries = sorted(folder.entries(), key=lambda each: each.used, reverse=True)
    for entry, total in zip(entries, itertools.accumulate(each.nbytes for each in entries), strict=True):
        if total > limit:
            folder.remove(entry.key)
