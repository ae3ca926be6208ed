"""A trace as text: one line of the kernel to a row."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from textwrap import wrap

from kapi_sim import environment_variables
from kapi_sim.tracing.record import Launch
from kapi_sim.tracing.statistics import LineStatistics, line_statistics

__all__ = ["text"]

_BOLD, _DIM, _RED, _YELLOW, _GREEN, _END = (f"\x1b[{code}m" for code in (1, 2, 31, 33, 32, 0))
_HEADS = ("line", "runs", "active", "reads", "writes", "atomics", "bytes", "segments", "banks", "contention")
_OF_ATOMICS = ("atomics", "contention")
"""Columns of kernels with atomics."""


def text(launches: Sequence[Launch], color: bool | None) -> str:
    """Return the table; see `Trace.text`."""
    is_colored = _is_terminal() if color is None else color
    blocks = [_launch(launch, is_colored) for launch in launches]
    return "\n\n".join(blocks) or "nothing was launched"


def _is_terminal() -> bool:
    # https://no-color.org
    return not environment_variables.NO_COLOR.value and bool(getattr(sys.stdout, "isatty", lambda: False)())


def _paint(value: str, paint: str, is_colored: bool) -> str:
    return f"{paint}{value}{_END}" if is_colored and paint else value


def _launch(launch: Launch, is_colored: bool) -> str:
    lines = [
        _paint(f"{launch.kernel} over {launch.spelled_space}", _BOLD, is_colored)
        + launch.in_words(f": {launch.items} work-items, {len(launch.events)} events")
    ]
    if launch.dropped:
        lines.append(_paint(f"{launch.dropped} later events were left out: trace(limit=...)", _YELLOW, is_colored))
    for array in launch.arrays:
        where = launch.in_words(f"{array.space} memory")
        lines.append(f"  {array.name}: {where}, shape {array.shape}, {array.dtype}")
    rows = line_statistics(launch)
    has_atomics = any(row.atomics for row in rows)
    text = [head for head in _HEADS if has_atomics or head not in _OF_ATOMICS]
    cells = [dict(zip(_HEADS, texts, strict=True)) for texts in (_HEADS, *(_cells(row) for row in rows))]
    widths = {head: max(len(row[head]) for row in cells) for head in text}
    lines.append(_paint("  ".join(f"{head:>{width}}" for head, width in widths.items()), _DIM, is_colored))
    for row, made in zip(rows, cells[1:], strict=True):
        paints = dict(zip(_HEADS, _paints(row), strict=True))
        painted = [_paint(f"{made[head]:>{widths[head]}}", paints[head], is_colored) for head in text]
        lines.append("  ".join(painted) + "  " + row.site.source)
    legend = (
        f"of each sub-group of {launch.sub_group_size}: active is the part that runs the line together; segments are "
        "stretches of global memory that one access falls into; banks, the cycles that local memory needs for one "
        "access"
    )
    if has_atomics:
        legend += "; contention, the work-items that use one element in one atomic operation"
    lines += [_paint(line, _DIM, is_colored) for line in wrap(launch.in_words(f"{legend} (1 is best)"), 112)]
    return "\n".join(lines)


def _cells(row: LineStatistics) -> tuple[str, ...]:
    return (
        str(row.site.line),
        str(row.executions),
        f"{row.active:.0%}",
        *(str(number or "") for number in (row.reads, row.writes, row.atomics, row.bytes)),
        f"{row.segments:.1f}" if row.segments else "",
        f"{row.bank_conflict:.1f}" if row.bank_conflict else "",
        f"{row.contention:.1f}" if row.contention else "",
    )


def _paints(row: LineStatistics) -> tuple[str, ...]:
    def judged(value: float) -> str:
        return "" if not value else _GREEN if value <= 1 else _YELLOW if value <= 4 else _RED

    active = "" if row.active == 1 else _YELLOW if row.active >= 0.5 else _RED
    return ("", "", active, "", "", "", "", *map(judged, (row.segments, row.bank_conflict, row.contention)))
