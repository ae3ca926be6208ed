"""A trace as one page that needs nothing but itself: no network, no other file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pkgutil import get_data
from typing import Any

from kapi_sim.tracebacks import file_name
from kapi_sim.tracing.figure import item_color
from kapi_sim.tracing.record import Launch
from kapi_sim.tracing.statistics import line_statistics

__all__ = ["html"]

_KINDS = {"line": 0, "read": 1, "write": 2, "barrier": 3, "atomic": 4, "algorithm": 5, "sub-group": 6}
_WORDS = {
    "colour": "A colour is a work-item.",
    "algorithm": "group algorithm: all converge, no memory is ordered",
    "subgroup": "meeting of a sub-group",
    "wall": "to the next barrier or group algorithm (b)",
    "before": "a `group_barrier` is missing here",
    "after": "a `group_barrier` is missing here, before the next iteration of the loop",
    "within": "a `group_barrier` is missing between the reads of this line and its write",
    "meets": "meets its group in ",
    "meetsSubgroup": "converges with its sub-group in ",
    "segments": "segments of a sub-group's access: ",
    "contention": " of a sub-group at one element",
    "whose": " of the work-item that runs",
}
"""The page's terms for work-items and their groups, before they are replaced by those of the kernel's dialect."""
MAX_SHOWN = 1024
"""Cells shown of one array."""


def html(launches: Sequence[Launch]) -> str:
    """Return the page; see `Trace.html`."""
    data = json.dumps([_launch(launch) for launch in launches], separators=(",", ":"), default=str)
    # Inside a script element only the end tag has a meaning, and comments have one in old parsers.
    safe = data.replace("<", "\\u003c")
    names = ", ".join(dict.fromkeys(launch.kernel for launch in launches)) or "nothing launched"
    title = names.replace("&", "&amp;").replace("<", "&lt;")
    page = _part("page.html").replace("{title}", title)
    for name, part in (("style", _part("page.css")), ("model", _part("model.js")), ("view", _part("view.js"))):
        page = page.replace(f"{{{name}}}", part)
    return page.replace("{data}", safe)


@cache
def _part(name: str) -> str:
    # By the loader of the package, which needs no file system.
    part = get_data("kapi_sim.tracing", f"page/{name}")
    assert part is not None  # the tests run from the wheel
    return part.decode("utf-8")


def _launch(launch: Launch) -> dict[str, Any]:
    sources = launch.sources()
    numbers = {(source.file, source.first): i for i, source in enumerate(sources)}
    return {
        "kernel": launch.kernel,
        "space": launch.spelled_space,
        "items": launch.items,
        "count": launch.in_words(f"{launch.items} work-item{'s' * (launch.items != 1)}"),
        "words": {key: launch.in_words(text).replace("`", "") for key, text in _WORDS.items()},
        "groupSize": launch.group_size,
        "names": [_name(launch, item) for item in range(min(launch.items, 4096))],
        "labels": [launch.label(item) for item in range(min(launch.items, 4096))],
        "colors": [item_color(item) for item in range(min(launch.items, 4096))],
        "dropped": launch.dropped,
        "sources": [
            {"file": file_name(source.file), "first": source.first, "lines": source.lines} for source in sources
        ],
        "sites": [[numbers[file, function], line] for file, function, line in launch.sites],
        "arrays": [_array(launch, number) for number in range(len(launch.arrays))],
        "events": [
            [_KINDS[event.kind], event.item, event.phase, event.site, event.array, event.element, _value(event.value)]
            for event in launch.events
        ],
        "lines": _lines(launch),
        "failure": None if launch.failure is None else _failure(launch, numbers),
    }


def _failure(launch: Launch, numbers: dict[tuple[str, int], int]) -> dict[str, Any]:
    failure = launch.failure
    assert failure is not None
    barrier = None
    if failure.barrier is not None:
        file, function, line, where = failure.barrier
        if (file, function) in numbers:
            barrier = [numbers[file, function], line, where]
    return {
        "error": failure.error,
        "report": failure.report,
        "event": failure.event,
        "other": failure.other,
        "barrier": barrier,
    }


def _lines(launch: Launch) -> dict[str, list[Any]]:
    """Counts by file and line: runs, active part, reads, writes, bytes, segments, bank cycles, atomics, contention."""
    return {
        f"{file_name(row.site.filename)}:{row.site.line}": [
            row.executions,
            round(row.active, 3),
            row.reads,
            row.writes,
            row.bytes,
            round(row.segments, 2),
            round(row.bank_conflict, 2),
            row.atomics,
            round(row.contention, 2),
        ]
        for row in line_statistics(launch)
    }


def _array(launch: Launch, number: int) -> dict[str, Any]:
    array = launch.arrays[number]
    size = 1
    for extent in array.shape:
        size *= extent
    if size <= MAX_SHOWN:
        cells = list(range(size))
    else:
        touched = sorted({event.element for event in launch.events if event.array == number})
        cells = touched[:MAX_SHOWN]
    initial = None if array.initial is None else [_value(array.initial[cell]) for cell in cells]
    return {
        "name": array.name,
        "space": array.space,
        "memory": launch.in_words(f"{array.space} memory"),
        "shape": array.shape,
        "dtype": array.dtype,
        "size": size,
        "cells": cells,
        "initial": initial,
    }


def _value(value: Any) -> Any:
    """A number as JSON has it; nan and infinities, which it has not, as text."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def _name(launch: Launch, item: int) -> str:
    return launch.describe(item).removeprefix("work-item ")
