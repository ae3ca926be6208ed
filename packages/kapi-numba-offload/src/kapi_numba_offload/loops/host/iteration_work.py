"""Work of a plain loop's iterations, for the values that it is given: how many there are, and of how many elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isinf
from typing import Any

from kapi_numba_offload.libraries.arrays import arrays_among
from kapi_numba_offload.loops.host.host_copies import is_reachable
from kapi_numba_offload.loops.host.loop_costs import COPIED_BYTE, COPY, LoopCosts, Seconds, known_values
from kapi_numba_offload.loops.host.worked_axes import WorkedAxes, largest, most_elements

__all__ = ["StepSizes"]

_MANY = 256  # iterations
_FEW = 1024  # elements: Numba works on so many in the time of a launch
_FAR = 3  # times: launches that are repeated take less than others
_IN_PRODUCTS = 32  # times as many elements that a product of matrices may read: its call costs more than a launch


@dataclass(frozen=True, slots=True)
class StepSizes:
    """The factors of the work of a loop's iterations.

    - `given`: the variables that it is given.
    - `axes`: the axes of arrays that its statements work on.
    - `costs`: what its costs depend on.
    - `depth`: how many loops and rows are nested in its `prange` loops, 0 where it has none: their iterations are as
      many as the elements along so many axes.
    - `has_rows`: whether it takes rows or elements of arrays: many of them are worth a copy of the arrays to the host.
    - `only_reads`: whether it keeps the elements of a variable's array.
    """

    given: tuple[str, ...]
    axes: WorkedAxes
    costs: LoopCosts
    depth: int
    has_rows: bool
    only_reads: Callable[[str], bool]

    def are_few(self, captured: Sequence[Any]) -> bool:
        """Whether statements work on few elements."""
        most, shapes = most_elements(), self._shapes(captured)
        return (
            max(largest(each, self.axes.most) for each in shapes) <= most
            and max(largest(each, self.axes.of_products) for each in shapes) <= most * _IN_PRODUCTS
            and (not self.depth or self._in_parallel_loops(captured) <= most)
        )

    def are_many(self, captured: Sequence[Any]) -> bool:
        """Whether there are many iterations."""
        return self._iterations(captured) >= _MANY

    def are_short(self, captured: Sequence[Any]) -> bool:
        """Whether there are many iterations, of so few elements each that Numba does one in the time of a launch."""
        arrays = list(arrays_among(captured))
        if not arrays or not self.are_many(captured):
            return False
        axes = self.axes.most, self.axes.of_products
        if max(largest(each, of) for each in self._shapes(captured) for of in axes) > min(_FEW, most_elements()):
            return False
        if all(map(is_reachable, arrays)):
            return True
        return self.has_rows and (isinf(self._iterations(captured)) or self.are_cheaper_on_host(captured))

    def are_cheaper_on_host(self, captured: Sequence[Any]) -> bool:
        """Whether the host takes less time for the copies and the work than the device's launches take."""
        seconds = self._seconds(captured)
        return seconds.on_host < seconds.on_device

    def are_quickest_in_groups(self, captured: Sequence[Any], full_groups: float, *, waits: bool) -> bool:
        """Whether work-groups take far less time than launches, and less than the host and its copies.

        - `full_groups`: how many groups as full as one alone there are: fewer than one for few work-items.
        - `waits`: whether there is one group, which waits for barriers or memory.
        """
        seconds = self._seconds(captured)
        in_groups = seconds.waiting * waits + seconds.working / full_groups
        return _FAR * in_groups < seconds.on_device and in_groups < seconds.on_host

    def _seconds(self, captured: Sequence[Any]) -> Seconds:
        """Seconds of a run, those on the host with copies."""
        of_copies = 0.0
        for name, value in zip(self.given, captured, strict=True):
            copies = 1 if self.only_reads(name) else 2
            of_copies += sum(copies * (COPY + each.nbytes * COPIED_BYTE) for each in arrays_among((value,)))
        shapes, lengths = self._shapes(captured), _lengths(captured)

        def of_statement(axes: int | None, loops: int) -> int:
            return max(largest(lengths, loops) if loops else 0, *(largest(each, axes) for each in shapes))

        found = self.costs.seconds(self._values(captured), of_statement)
        return found._replace(on_host=of_copies + found.on_host)

    def _shapes(self, captured: Sequence[Any]) -> list[tuple[int, ...]]:
        """The lengths of the axes of each array that a statement may work on."""
        values = dict(zip(self.given, captured, strict=True))
        return [
            self.axes.of(name, each.shape, values) for name, value in values.items() for each in arrays_among((value,))
        ]

    def _in_parallel_loops(self, captured: Sequence[Any]) -> int:
        """The iterations of one `prange` loop, at most."""
        return largest(_lengths(captured), self.depth)

    def _iterations(self, captured: Sequence[Any]) -> float:
        found = self.costs.iterations(self._values(captured))
        return inf if found is None else len(found)

    def _values(self, captured: Sequence[Any]) -> dict[str, Any]:
        return known_values(dict(zip(self.given, captured, strict=True)))


def _lengths(captured: Sequence[Any]) -> tuple[int, ...]:
    """The lengths of all axes of the arrays."""
    return tuple(length for each in arrays_among(captured) for length in each.shape)
