"""Reports of the outcome of each part of an offloaded function, as data, text and HTML."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO
from weakref import WeakKeyDictionary

from kapi_numba_offload._numba_compat import constants_of
from kapi_numba_offload.run.call_graph import OffloadedParts, transitive_calls
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.timing import PartWork, outcome_of

__all__ = [
    "ExplainedPart",
    "OffloadReport",
    "PartReport",
    "explained_parts",
    "html_report",
    "offload_diagnostics",
    "offload_reports",
    "parts_of",
    "remember",
    "report_of",
]


@dataclass(frozen=True, slots=True)
class PartReport:
    """The outcome of one part of a function.

    Attributes
    ----------
    kind : {"expression", "prange loop", "loop", "function"}
        What it is.
    line : int
        Line of its first statement.
    text : str
        The first statement.
    fused_with : tuple of int
        Lines of the other statements in the same kernel.
    outcome : str
        "offloaded", "one by one" (each statement a kernel, or dpnp's operations), "host", or "not run yet".
    reason : str
        Why it is no kernel, where it is none.
    launch : KernelLaunch or None
        Its latest launch.
    moved : int
        Bytes copied between host and device by its latest run.
    """

    kind: str
    line: int
    text: str
    fused_with: tuple[int, ...]
    outcome: str
    reason: str
    launch: KernelLaunch | None
    moved: int


@dataclass(frozen=True, slots=True)
class OffloadReport:
    """The parts of a function after offloading, for one list of argument types.

    Attributes
    ----------
    function : str
        Its name.
    filename : str
        Its file.
    signature : str
        The argument types.
    parts : tuple of PartReport
        Its parts, in order.
    called : tuple of OffloadReport
        Those of the offloaded functions that its calls called, and of what these called.
    """

    function: str
    filename: str
    signature: str
    parts: tuple[PartReport, ...]
    called: tuple[OffloadReport, ...] = ()

    def text(self, level: int = 1) -> str:
        """The report as text.

        Parameters
        ----------
        level : int
            1: parts, kernels, devices, ranges, data moved and reasons. 2: also array allocations. 3: also typed IR.
            4: also LLVM IR, and SPIR-V or PTX.

        Raises
        ------
        ValueError
            If there is no such level.
        """
        if level not in range(1, 5):
            raise ValueError(f"level must be from 1 to 4, got {level!r}")
        lines = [f"Offload of {self.function}({self.signature})", f"  {self.filename}"]
        for number, part in enumerate(self.parts, start=1):
            lines += _part_lines(number, part, level)
        if not self.parts and not self.called:
            lines.append("  nothing to offload: calls of dpnp's functions and Python only")
        for each in self.called:
            lines += ["", f"called by {self.function}: {each.text(level)}"]
        return "\n".join(lines)


def offload_reports(function: Any) -> list[OffloadReport]:
    """The reports of a function, one for each list of argument types with USM arrays.

    Parameters
    ----------
    function : Dispatcher
        What `numba.njit` or `offload` made.
    """
    return [report_of(each) for each in _offloaded(function)]


def offload_diagnostics(function: Any, level: int = 1, file: TextIO | None = None) -> None:
    """Print the outcome of each part of a function; ``function.offload_diagnostics(level)`` is the same.

    Parameters
    ----------
    function : Dispatcher
        What `numba.njit` or `offload` made.
    level : int
        1 to 4, as in `OffloadReport.text`.
    file : text file, optional
        Where to; the standard output by default.
    """
    texts = [report.text(level) for report in offload_reports(function)]
    print("\n\n".join(texts) or "no call with device arrays so far", file=file or sys.stdout)


def html_report(function: Any, path: str | Path) -> None:
    """Write the outcome of each part of a function as one self-contained page.

    Parameters
    ----------
    function : Dispatcher
        What `numba.njit` or `offload` made.
    path : str or Path
        The file to write.
    """
    reports = [each for own in offload_reports(function) for each in (own, *own.called)]
    sections = "\n".join(map(_section, reports))
    name = html.escape(getattr(function, "__name__", "function"))
    page = (
        f"<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n<title>Offload of {name}</title>\n<style>"
        "body{font:15px/1.5 sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #bbb;"
        "padding:.3em .6em;text-align:left;vertical-align:top}pre{font-size:12px;overflow:auto;max-height:30em}"
        f".offloaded{{background:#e4f3e4}}.host{{background:#f8e0d8}}</style>\n"
        f"<h1>Offload of {name}</h1>\n{sections}\n</html>\n"
    )
    Path(path).write_text(page, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    """The work of one part of a function in a call.

    Attributes
    ----------
    function : str
        The function that it is part of: the one that was called, or one that this calls.
    line : int
        Line of its first statement.
    text : str
        The first statement, or the call.
    where : str
        What ran it: "kernel", the name of the array library, "host", or "numpy", in the memory of the arrays without a
        copy.
    reason : str
        Why it was no kernel, where it was none.
    moved : int
        Bytes copied between host and device.
    runs : int
        How often it ran.
    seconds : float
        The time that it took in all.
    """

    function: str
    line: int
    text: str
    where: str
    reason: str
    moved: int
    runs: int
    seconds: float


def explained_parts(function: Any, times: Mapping[int, PartWork]) -> list[ExplainedPart]:
    """The parts of a function that ran, and of the offloaded functions that it called.

    - `function`: what `numba.njit` or `offload` made.
    - `times`: their work, by the identity of the part.
    """
    return [part for each in transitive_calls(_offloaded(function)) for part in parts_of(each, times)]


def parts_of(offloaded: OffloadedParts, times: Mapping[int, PartWork]) -> list[ExplainedPart]:
    """The parts that ran of a function for one list of argument types, in the order of their lines."""
    found: list[ExplainedPart] = []
    for part in offloaded.explained:
        if id(part) not in times:
            continue
        where, reason, _ = outcome_of(part)
        text = part.location.text.split("\n")[0]
        name = offloaded.function.__name__
        runs, seconds, moved = times[id(part)]
        where = where or offloaded.library_name
        found.append(ExplainedPart(name, part.location.line, text, where, reason, moved, runs, seconds))
    return sorted(found, key=lambda each: each.line)


_of_contexts: WeakKeyDictionary[Any, list[OffloadedParts]] = WeakKeyDictionary()


def remember(function: Any, offloaded: OffloadedParts) -> None:
    """Let reports of a function include what its calls in device contexts run."""
    _of_contexts.setdefault(function, []).append(offloaded)


def _offloaded(function: Any) -> Iterator[OffloadedParts]:
    yield from (each for each in constants_of(function) if isinstance(each, OffloadedParts))
    yield from _of_contexts.get(function, ())


def report_of(offloaded: OffloadedParts) -> OffloadReport:
    """Report of a function, and of those that its calls called."""
    first, *others = transitive_calls([offloaded])
    return replace(_own_report(first), called=tuple(map(_own_report, others)))


def _own_report(offloaded: OffloadedParts) -> OffloadReport:
    parts = [_region_report(each) if hasattr(each, "statements") else _loop_report(each) for each in offloaded.reported]
    code = offloaded.function.__code__
    return OffloadReport(
        offloaded.function.__name__,
        f"{code.co_filename}:{code.co_firstlineno}",
        ", ".join(map(str, offloaded.arguments)),
        tuple(sorted(parts, key=lambda each: each.line)),
    )


def _region_report(region: Any) -> PartReport:
    first, *others = [each.location for each in region.statements]
    latest = region.latest
    launch = latest if isinstance(latest, KernelLaunch) else None
    outcome = "offloaded" if launch else "not run yet" if latest is None else "one by one"
    reason = str(latest) if latest is not None and launch is None else ""
    lines = tuple(each.line for each in others)
    return PartReport("expression", first.line, first.text, lines, outcome, reason, launch, 0)


def _loop_report(loop: Any) -> PartReport:
    kind = "function" if isinstance(loop, OffloadedParts) else getattr(loop, "kind", "loop")
    latest = loop.latest
    launch = latest if isinstance(latest, KernelLaunch) else None
    text = loop.location.text.split("\n")[0]
    outcome = "offloaded" if launch else "not run yet" if latest is None else "host"
    reason = latest if isinstance(latest, str) else ""
    moved = launch.moved if launch else getattr(getattr(loop, "host", loop), "moved", 0)
    return PartReport(kind, loop.location.line, text, (), outcome, reason, launch, moved)


def _part_lines(number: int, part: PartReport, level: int) -> list[str]:
    fused = f", fused with line{'s' if len(part.fused_with) > 1 else ''} {', '.join(map(str, part.fused_with))}"
    lines = [
        f"#{number} line {part.line}: {part.kind}, {part.outcome}{fused if part.fused_with else ''}",
        f"    {part.text}",
    ]
    lines += [f"    {name}: {value}" for name, value in _facts(part, level)]
    if part.launch is not None and level >= 3:
        lines += _code("typed IR", part.launch.typed_ir())
    if part.launch is not None and level >= 4:
        lines += [*_code("LLVM IR", part.launch.llvm()), *_code(*part.launch.device_code())]
    return lines


def _facts(part: PartReport, level: int) -> list[tuple[str, str]]:
    facts = []
    if part.launch is not None:
        facts += [
            ("kernel", part.launch.kernel_name),
            ("device", part.launch.device_name),
            ("range", part.launch.space),
            ("work-group", part.launch.work_group),
        ]
    facts.append(("data moved", f"{part.moved} bytes" if part.moved else "none"))
    if part.reason:
        facts.append(("reason", part.reason))
    if level >= 2 and part.launch is not None:
        facts.append(("allocations", "; ".join(part.launch.allocations) or "none"))
    return facts


def _code(title: str, text: str) -> list[str]:
    return [f"    {title}:", *(f"      {line}" for line in text.splitlines())]


def _section(report: OffloadReport) -> str:
    rows = []
    for part in report.parts:
        facts = "".join(f"<b>{html.escape(name)}</b>: {html.escape(value)}<br>" for name, value in _facts(part, 2))
        style = "offloaded" if part.outcome == "offloaded" else "host" if part.outcome == "host" else ""
        fused = ", ".join(map(str, part.fused_with)) or "&ndash;"
        rows.append(
            f"<tr class='{style}'><td>{part.line}<td><code>{html.escape(part.text)}</code><td>{part.kind}"
            f"<td>{html.escape(part.outcome)}<td>{fused}<td>{facts}</tr>"
        )
    codes = [
        f"<details><summary>line {part.line}: {title}</summary><pre>{html.escape(text)}</pre></details>"
        for part in report.parts
        if part.launch is not None
        for title, text in _codes(part.launch)
    ]
    heads = "".join(f"<th>{each}" for each in ("line", "source", "what", "outcome", "fused with", "details"))
    return (
        f"<h2>{html.escape(report.function)}({html.escape(report.signature)})</h2>\n<p>{html.escape(report.filename)}</p>\n"
        f"<table><tr>{heads}</tr>\n{''.join(rows)}\n</table>\n{''.join(codes)}"
    )


def _codes(launch: KernelLaunch) -> Sequence[tuple[str, str]]:
    return [("typed IR", launch.typed_ir()), ("LLVM IR", launch.llvm()), launch.device_code()]
