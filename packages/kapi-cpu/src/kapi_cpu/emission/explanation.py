"""Decisions of the vectoriser, as a module keeps them: records with a text for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

__all__ = ["Decision", "Explanation"]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision, about a region or an access of a kernel.

    Attributes
    ----------
    kind : str
        "kernel", "loop", "barrier", "gather", "scatter", "strided", "record", "masked", "far", or "lane loop" of what
        is done for each lane on its own.
    line : int
        Of the source; 0 unless the kernel is compiled with ``lineinfo=True``.
    lanes : int
        Work-items that are computed at once; 1 of scalar code.
    why : str
        The reason.
    count : int
        Instructions of that line for which the same holds.
    """

    kind: str
    line: int
    lanes: int
    why: str
    count: int = 1

    def __str__(self) -> str:
        location = f"line {self.line}: " if self.line else ""
        many = f" ({self.count} times)" if self.count > 1 else ""
        return f"{location}{self.kind}, {'scalar' if self.lanes == 1 else f'{self.lanes} lanes'}: {self.why}{many}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """All decisions about a kernel; as a string, a line for each.

    Attributes
    ----------
    decisions : tuple of Decision
        The kernel's first, the others in the order of its code.
    """

    decisions: tuple[Decision, ...]

    @classmethod
    def of(cls, found: Sequence[Decision]) -> Explanation:
        """Count decisions that are the same for several instructions."""
        counts: dict[Decision, int] = {}
        for each in found:
            counts[each] = counts.get(each, 0) + 1
        return cls(tuple(Decision(each.kind, each.line, each.lanes, each.why, count) for each, count in counts.items()))

    def to_json(self) -> str:
        """The decisions as a list of objects."""
        return json.dumps([asdict(each) for each in self.decisions], separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Read what `to_json` wrote.

        Raises
        ------
        ValueError
            If it is something else.
        """
        try:
            return cls(tuple(Decision(**each) for each in json.loads(text)))
        except TypeError as error:
            raise ValueError(f"decisions must be those of a CPU module, got {error}") from None

    def __str__(self) -> str:
        return "\n".join(map(str, self.decisions))
