"""`Trace`: the record of a block, and how it is counted, drawn and saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr
from kapi_sim.tracing.record import Launch

if TYPE_CHECKING:
    from kapi_sim.items.schedule_state import ScheduleState
    from kapi_sim.tracing.statistics import LineStatistics

__all__ = ["Trace", "require_format"]

_FORMATS = (".html", ".svg", ".txt")
"""The endings of files that a trace is saved as: a page, a figure, the table."""


class Trace:
    """The record of a ``with kapi_sim.trace()`` block.

    Attributes
    ----------
    launches : list of Launch
        In the order in which they started.
    limit : int
        Most events kept.
    """

    __slots__ = ("launches", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.launches: list[Launch] = []

    def start(self, kernel: str, clock: ScheduleState, sub_group_size: int) -> Launch:
        """Begin the record of a launch."""
        room = max(self.limit - sum(len(launch.events) for launch in self.launches), 0)
        launch = Launch(kernel, clock.space, clock.describe, room, sub_group_size)
        launch.label, launch.in_words, launch.spelled_space = clock.label, clock.in_words, clock.spelled_space
        self.launches.append(launch)
        return launch

    def statistics(self, launch: int = -1) -> list[LineStatistics]:
        """Return reads, writes, bytes, coalescing, bank conflicts and active work-items of each line.

        Parameters
        ----------
        launch : int
            Which launch, the last one if left out.

        Raises
        ------
        KernelLaunchError
            If nothing was launched.
        """
        from kapi_sim.tracing.statistics import line_statistics

        return line_statistics(self._launch(launch))

    def accesses(self, kind: str, space: str = "global", launch: int = -1) -> list[int]:
        """Return how many elements each work-item accessed in one launch.

        Parameters
        ----------
        kind : str
            ``"read"``, ``"write"`` or ``"atomic"``.
        space : str
            ``"global"``, ``"local"`` or ``"private"``.
        launch : int
            Which launch, the last one if left out.

        Returns
        -------
        list of int
            One number for each work-item, in the order of `TracedEvent.item`.

        Raises
        ------
        KernelLaunchError
            If `kind` or `space` is another one, if nothing was launched, or if the trace left events out.

        Examples
        --------
        >>> import numpy as np, kapi_sim as kapi
        >>> @kapi.kernel
        ... def last_two(item: kapi.Item, a, b):
        ...     i = item.get_id(0)
        ...     b[i] = a[i] + (a[i - 1] if i > 0 else 0)
        >>> with kapi.trace() as t:
        ...     last_two[3](np.arange(3), np.zeros(3))
        >>> t.accesses("read")
        [1, 2, 2]
        """
        from kapi_sim.tracing.statistics import accesses

        return accesses(self._launch(launch), kind, space)

    def text(self, color: bool | None = None) -> str:
        """Return a table of the lines of each launch.

        Parameters
        ----------
        color : bool, optional
            Whether to colour it for a terminal; where left out, if standard output is one.
        """
        from kapi_sim.tracing.table import text

        return text(self.launches, color)

    def html(self) -> str:
        """Return a page to step through, which needs nothing but itself."""
        from kapi_sim.tracing.html import html

        return html(self.launches)

    def svg(self, launch: int = -1) -> str:
        """Return a figure of one launch: work-items by row, barriers as walls.

        Parameters
        ----------
        launch : int
            Which launch, the last one if left out.

        Raises
        ------
        KernelLaunchError
            If nothing was launched.
        """
        from kapi_sim.tracing.figure import svg

        return svg(self._launch(launch))

    def save(self, path: str | Path) -> None:
        """Write a page (``.html``), a figure (``.svg``) or the table (``.txt``), by the ending of `path`.

        Raises
        ------
        KernelLaunchError
            If the ending is another one.
        """
        ending = require_format(path)
        made = self.text(color=False) + "\n" if ending == ".txt" else self.svg() if ending == ".svg" else self.html()
        Path(path).write_text(made, encoding="utf-8")

    def _launch(self, number: int) -> Launch:
        if not self.launches:
            raise KernelLaunchError(
                "a trace must hold a launch to be looked at, got none: launch inside the block", code="trace-empty"
            )
        return self.launches[number]

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:720px;border:0" title="kapi trace"></iframe>'

    def _repr_svg_(self) -> str | None:
        # What shows no pages, such as a PDF, takes the figure.
        return self.svg() if self.launches else None

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        events = sum(len(launch.events) for launch in self.launches)
        count = len(self.launches)
        return f"<Trace of {count} launch{'es' * (count != 1)}, {events} events>"


def require_format(path: str | Path) -> str:
    """Return the ending of a file that a trace can be saved to, or raise KernelLaunchError."""
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        raise KernelLaunchError(
            f"path must end in {', '.join(_FORMATS)}, got {short_repr(str(path))}", code="picture-format"
        )
    return ending
