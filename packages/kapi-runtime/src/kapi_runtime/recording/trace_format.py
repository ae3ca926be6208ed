"""A record of launches and copies as tables of text, and as a trace for Perfetto and Chrome."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

__all__ = ["Entry", "entries_table", "export_trace", "summary_table", "trace"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One launch or copy.

    Attributes
    ----------
    kind : {"launch", "copy"}
        What it was.
    name : str
        The kernel's name, or from where to where was copied.
    space : str
        The index space, as text; "" for a copy.
    nbytes : int
        Bytes of all array arguments, or bytes copied.
    device : str
        Where it ran.
    queue : int
        Address of the queue that it was submitted to.
    thread : str
        Name of the Python thread that submitted it.
    host : int
        When it had been submitted, in ns of `time.perf_counter_ns`.
    submit, start, end : int
        When the device got it, began it and ended it, in ns of the device's clock.
    """

    kind: Literal["launch", "copy"]
    name: str
    space: str
    nbytes: int
    device: str
    queue: int
    thread: str
    host: int
    submit: int
    start: int
    end: int

    @property
    def duration(self) -> int:
        """Time on the device in ns, from start to end."""
        return self.end - self.start


def entries_table(entries: Sequence[Entry]) -> str:
    """Return a line of text for each entry."""
    first = min((entry.submit for entry in entries), default=0)
    rows: list[tuple[str, ...]] = [("kind", "name", "range", "bytes", "submit us", "wait us", "run us")]
    for each in entries:
        times = (each.submit - first, each.start - each.submit, each.duration)
        rows.append((each.kind, each.name, each.space, str(each.nbytes), *(f"{ns / 1e3:.1f}" for ns in times)))
    return _aligned(rows, left=3)


def summary_table(entries: Sequence[Entry]) -> str:
    """Return a line of text for each kernel and kind of copy, the one that took longest first."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.kind, entry.name), []).append(entry)
    rows: list[tuple[str, ...]] = [("kind", "name", "count", "total us", "mean us", "min us", "max us", "GB/s")]
    for (kind, name), group in sorted(groups.items(), key=lambda item: -sum(e.duration for e in item[1])):
        times = [entry.duration for entry in group]
        total = sum(times)
        rate = f"{sum(entry.nbytes for entry in group) / total:.2f}" if total else "-"
        numbers = (total, total / len(times), min(times), max(times))
        rows.append((kind, name, str(len(times)), *(f"{ns / 1e3:.1f}" for ns in numbers), rate))
    return _aligned(rows, left=2)


def trace(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the entries as a trace: a track for each queue, grouped by device, times from the first submission on.

    References
    ----------
    Trace Event Format: complete events, ``"ph": "X"``, times in microseconds.
    """
    first = min((entry.submit for entry in entries), default=0)
    devices = list(dict.fromkeys(entry.device for entry in entries))
    queues = list(dict.fromkeys((entry.device, entry.queue) for entry in entries))
    events: list[dict[str, Any]] = []
    for pid, device in enumerate(devices):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": device}})
    for tid, (device, queue) in enumerate(queues):
        pid = devices.index(device)
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": f"queue {queue:#x}"}})
    for each in entries:
        events.append(
            {
                "ph": "X",
                "name": each.name,
                "cat": each.kind,
                "pid": devices.index(each.device),
                "tid": queues.index((each.device, each.queue)),
                "ts": (each.start - first) / 1e3,
                "dur": each.duration / 1e3,
                "args": {
                    "range": each.space,
                    "bytes": each.nbytes,
                    "submitted us": (each.submit - first) / 1e3,
                    "thread": each.thread,
                },
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def export_trace(entries: Sequence[Entry], path: str | PathLike[str]) -> None:
    """Write the trace as JSON."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace(entries), file)


def _aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Columns of text: the first `left` aligned to the left, the others, numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            f"{cell:<{width}}" if index < left else f"{cell:>{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
