"""Work-groups of the CPU for an index space.

A work-group is what one thread runs at once, so it is as long along the last dimension, the fastest, as it may be: its
neighbours are lanes of one vector.  Groups at the end may be cut off, so that no range is rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

__all__ = ["GROUP_SIZE", "chosen_group"]

GROUP_SIZE = 1024
"""Work-items of a group that nobody has chosen: as few as make the cost of beginning a group small."""

_GROUPS, _LEAST, _MULTIPLE = 16, 128, 64
"""Groups that a smaller range is cut into, for work-items that take long; their least size; what sizes are multiples
of, so that few vectors are cut off."""


def chosen_group(extents: Sequence[int]) -> list[int]:
    """Return the work-group for a range.

    - `extents`: one to three, the fastest last.

    Examples
    --------
    >>> chosen_group([1000003]), chosen_group([1000, 1000]), chosen_group([100, 3])
    ([1024], [1, 1000], [42, 3])
    >>> chosen_group([1000]), chosen_group([5000])
    ([128], [320])
    """
    several = -(-prod(extents) // (_GROUPS * _MULTIPLE)) * _MULTIPLE
    group, left = [], min(GROUP_SIZE, max(_LEAST, several))
    for extent in reversed(extents):
        size = max(1, min(extent, left))
        group.append(size)
        left //= size
    return group[::-1]
