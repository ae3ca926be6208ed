"""The record of a launch, as compiled code reads it: 64-bit words.

A caller fills one for each thread. Axis 0 is the fastest.
"""

from __future__ import annotations

__all__ = ["ALIGNMENT", "LONGEST_BYTES", "RECORD_BYTES", "WORDS", "aligned", "word"]

ALIGNMENT = 64
"""Bytes; each piece of a work-group's memory begins at a multiple."""

WORDS = (
    "global_size.0", "global_size.1", "global_size.2",
    "local_size.0", "local_size.1", "local_size.2",
    "group_count.0", "group_count.1", "group_count.2",
    "first_group", "end_group", "local_memory", "scratch", "context",
)  # fmt: skip
"""The words, in their order: extents of the launch; the linear ids of the groups to run, the last excluded; and
addresses of memory of one group: local memory, what group operations pass values through, and what work-items keep at
barriers."""


RECORD_BYTES = 8 * len(WORDS)

_BEHIND = ("iteration.0", "first_item.0")
"""Words that code itself writes behind a copy of the record: the iteration of a loop that is outside of the groups,
and the global id of the first work-item where all groups are one row."""

LONGEST_BYTES = RECORD_BYTES + 8 * len(_BEHIND)


def word(name: str) -> int:
    """The offset of a word, in bytes."""
    return 8 * (*WORDS, *_BEHIND).index(name)


def aligned(nbytes: int) -> int:
    """The next multiple of `ALIGNMENT`."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
