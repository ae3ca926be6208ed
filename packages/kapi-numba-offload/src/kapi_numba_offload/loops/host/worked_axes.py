"""Amounts of work: elements of arrays that one iteration of a loop works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from kapi_sim import environment_variables

__all__ = ["WorkedAxes", "largest", "most_elements"]

_DEFAULT = 32768  # elements: with fewer, NumPy needs less time for some operations than their launches


def most_elements() -> int:
    """Limit of the elements of a statement in a small loop: `KAPI_OFFLOAD_SMALL`, 0 for no small loops."""
    return environment_variables.OFFLOAD_SMALL.number(_DEFAULT)


@dataclass(frozen=True, slots=True)
class WorkedAxes:
    """Axes of arrays that the statements of a loop work on.

    - `most`: how many axes they work on at most, those of the operands of products of matrices left out; None if that
      is not known.
    - `of_products`: how many axes the operands of products of matrices have at most.
    - `parts`: for names of arrays, and axes of them, how much of the axis statements work on wherever the array is
      named: numbers of elements, or the variables that have them.
    """

    most: int | None
    of_products: int
    parts: Mapping[str, Mapping[int, frozenset[int | str]]]

    def of(self, name: str, shape: tuple[int, ...], values: Mapping[str, Any]) -> tuple[int, ...]:
        """The lengths of the axes of an array that a statement may work on, for variables with these values."""
        parts = self.parts.get(name)
        if parts is None:
            return shape
        made = list(shape)
        for axis, own in parts.items():
            lengths = [values.get(each) if isinstance(each, str) else each for each in own]
            known = [each for each in lengths if isinstance(each, int)]
            if axis < len(made) and len(known) == len(lengths):
                made[axis] = min(made[axis], max(0, *known))
        return tuple(made)


def largest(shape: tuple[int, ...], axes: int | None) -> int:
    """The elements along so many axes, at most."""
    return prod(sorted(shape)[len(shape) - axes :] if axes is not None and axes < len(shape) else shape)
