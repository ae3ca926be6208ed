"""The orders in which work-items run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Order", "Shuffler", "sample_of"]


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which work-items run.

    - `seed`: permutes groups, and work-items between barriers; `None` is program order.
    - `is_reversed`: whether the last ones come first.
    - `only`: the number of the one group that runs, or of the one work-item of a `Range`; `None` for all.
    """

    seed: int | None = None
    is_reversed: bool = False
    only: int | None = None

    def shuffler(self) -> Shuffler | None:
        """Return what permutes lists in place; `None` for program order."""
        if self.is_reversed:
            return _Reverser()
        if self.seed is None:
            return None
        # Imported when first asked for: most launches run in program order.
        from random import Random

        return Random(self.seed)


def sample_of(total: int, groups: float | None) -> frozenset[int] | None:
    """Return the numbers of the groups that run, evenly spaced, with the first and the last; `None` for all.

    - `total`: how many groups a launch has.
    - `groups`: how many may run, or below 1 the part of them.

    Examples
    --------
    >>> sorted(sample_of(100, 4)), sorted(sample_of(100, 0.03)), sample_of(3, 4)
    ([0, 33, 66, 99], [0, 49, 99], None)
    """
    if groups is None:
        return None
    count = max(1, round(total * groups) if groups < 1 else int(groups))
    if count >= total:
        return None
    return frozenset(location * (total - 1) // max(count - 1, 1) for location in range(count))


class Shuffler(Protocol):
    """The function that permutes a list in place."""

    def shuffle(self, x: list[Any]) -> None:
        """Permute."""
        ...


class _Reverser:
    def shuffle(self, x: list[Any]) -> None:
        x.reverse()
