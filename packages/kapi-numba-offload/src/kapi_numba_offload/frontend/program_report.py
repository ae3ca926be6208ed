"""Report of a program: the time of each line of its offloaded functions, where it ran, and the bytes that it moved."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kapi_numba_offload.run.call_graph import recording
from kapi_numba_offload.run.offload_report import ExplainedPart, parts_of
from kapi_numba_offload.run.source_warnings import in_authors_file
from kapi_numba_offload.run.timing import timing
from kapi_sim.programs.running import run_program

__all__ = ["ProgramReport", "report_program"]

_COLOURS = {"kernel": "#3a8f4a", "numpy": "#7a6fc0", "host": "#c65f3a"}
_OF_LIBRARIES = "#3878b8"
_WIDTH, _ROW = 700, 22  # of the picture, in pixels


@dataclass(frozen=True, slots=True)
class ProgramReport:
    """The work of a program's offloaded functions.

    - `parts`: file and part for each line: parts of one line that ran in one place count together.
    """

    program: str
    status: int
    seconds: float
    parts: tuple[tuple[str, ExplainedPart], ...]

    @property
    def text(self) -> str:
        """A table for each file, the lines in order, with the reason of each that was no kernel."""
        lines = [self._title]
        for file in dict.fromkeys(file for file, _ in self.parts):
            lines += ["", file, f"{'line':>6} {'time s':>10} {'share':>6} {'runs':>7} {'bytes moved':>12}  where"]
            for part in (part for own, part in self.parts if own == file):
                lines.append(
                    f"{part.line:>6} {part.seconds:>10.6f} {self._share(part):>6.1%} {part.runs:>7} {part.moved:>12}  "
                    f"{part.where:<7} {part.function}: {part.text}"
                )
                lines += [f"{'':>46}{line.strip()}" for line in part.reason.splitlines()]
        return "\n".join(lines)

    @property
    def page(self) -> str:
        """A page of HTML, with a picture: a bar for each line, as long as its time."""
        rows = "\n".join(
            f"<tr><td>{html.escape(Path(file).name)}:{part.line}<td><code>{html.escape(part.text)}</code>"
            f"<td>{html.escape(part.function)}<td>{html.escape(part.where)}<td>{part.seconds:.6f}"
            f"<td>{self._share(part):.1%}<td>{part.runs}<td>{part.moved}<td>{html.escape(part.reason)}</tr>"
            for file, part in self.parts
        )
        names = "line", "source", "function", "where", "time in s", "share", "runs", "bytes moved", "reason"
        heads = "".join(f"<th>{each}" for each in names)
        name = html.escape(Path(self.program).name)
        return (
            f"<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n<title>Offload in {name}</title>\n<style>"
            "body{font:15px/1.5 sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #bbb;"
            "padding:.3em .6em;text-align:left;vertical-align:top}</style>\n"
            f"<h1>Offload in {name}</h1>\n<p>{html.escape(self._title)}</p>\n{self._picture()}\n"
            f"<table><tr>{heads}</tr>\n{rows}\n</table>\n</html>\n"
        )

    @property
    def _title(self) -> str:
        if not self.parts:
            return f"{self.program}: {self.seconds:.3f} s; no part of a function was offloaded"
        within = sum(part.seconds for _, part in self.parts)
        moved = sum(part.moved for _, part in self.parts)
        return (
            f"{self.program}: {self.seconds:.3f} s, {within:.3f} s of it in the parts of offloaded functions; "
            f"{moved} bytes moved between host and device"
        )

    def _share(self, part: ExplainedPart) -> float:
        return part.seconds / (sum(each.seconds for _, each in self.parts) or 1.0)

    def _picture(self) -> str:
        longest = max((part.seconds for _, part in self.parts), default=0.0) or 1.0
        bars = []
        for number, (file, part) in enumerate(sorted(self.parts, key=lambda each: -each[1].seconds)):
            top, width = number * _ROW, max(1.0, _WIDTH * part.seconds / longest)
            label = html.escape(f"{Path(file).name}:{part.line} {part.where}, {part.seconds:.6f} s: {part.text}")
            colour = _COLOURS.get(part.where, _OF_LIBRARIES)
            bars.append(
                f"<rect x='0' y='{top + 2}' width='{width:.1f}' height='{_ROW - 4}' fill='{colour}' opacity='.45'/>"
                f"<text x='6' y='{top + 15}' font-size='13'>{label}</text>"
            )
        height = _ROW * len(bars)
        return (
            f"<svg role='img' width='{_WIDTH}' height='{height}' style='overflow:visible'><title>Time by line</title>"
            f"{''.join(bars)}</svg>"
        )


def report_program(file: Path, arguments: Sequence[str]) -> ProgramReport:
    """Run a program, and report on the offloaded functions that its main thread called.

    Each part of a function waits for its own work, so that the times are those of the parts.
    """
    with timing() as times, recording() as recorded:
        start = time.perf_counter()
        status, _ = run_program(file, arguments)
        seconds = time.perf_counter() - start
    found: dict[tuple[str, int, str], ExplainedPart] = {}
    for offloaded in recorded.values():
        for part in parts_of(offloaded, times):
            own, line = in_authors_file(offloaded.function.__code__.co_filename, part.line)
            before = found.get((own, line, part.where))
            if before is not None:
                part = replace(
                    before, moved=before.moved + part.moved, runs=before.runs + part.runs,
                    seconds=before.seconds + part.seconds,
                )  # fmt: skip
            found[own, line, part.where] = replace(part, line=line)
    in_order = sorted(found.items(), key=lambda each: each[0])
    return ProgramReport(str(file), status, seconds, tuple((key[0], part) for key, part in in_order))
