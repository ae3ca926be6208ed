"""The simulator's controls on a device: accepted, for programs that run in both worlds, without effect.

Each says so, once in a process, and the report repeats it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import kapi_sim
from kapi_sim import KernelLaunchError, NdRange, Range, SimulatorOnlyWarning
from kapi_sim.log import launches, log_launch
from kapi_sim.settings.breakpoints import global_id
from kapi_sim.short_repr import short_repr
from kapi_sim.tracing import require_limit

__all__ = ["DeviceReport", "DeviceTrace", "Profile", "debug", "note_launch", "open_reports", "simulation", "trace"]

_NOTHING_CHECKED = "ran on device, nothing checked"

_warned: set[str] = set()
_reports: ContextVar[tuple[DeviceReport, ...]] = ContextVar("kapi_runtime_reports", default=())
open_reports = _reports.get
"""The reports of the blocks that are open here."""

_R = TypeVar("_R", bound="DeviceReport")


@dataclass(slots=True)
class DeviceReport:
    """Report of a ``with simulation()`` block on a device: what ran, and that nothing was checked.

    - `launches`: kernel and index space of each launch, in order.
    - `notes`: always empty: a note comes from a check.
    """

    launches: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the report as lines of text."""
        lines = [f"{launch}: {_NOTHING_CHECKED}" for launch in self.launches]
        return "\n".join(lines) or _NOTHING_CHECKED

    def __str__(self) -> str:
        return self.text()


class DeviceTrace(DeviceReport):
    """Report of a ``with trace()`` block on a device: what ran, and that nothing was recorded.

    It has the surface of the simulator's trace, so that a program runs in both worlds.
    """

    __slots__ = ()

    def statistics(self, launch: int = -1) -> list[Any]:
        """Return no line: lines are the simulator's to count."""
        return []

    def accesses(self, kind: str, space: str = "global", launch: int = -1) -> list[int]:
        """Return no number: accesses are the simulator's to count."""
        return []

    def html(self) -> str:
        """Return a page that says so."""
        return f"<!doctype html><title>kapi trace</title><pre>{escape(self.text())}</pre>"

    def svg(self, launch: int = -1) -> str:
        """Return a figure that says so."""
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" width="360" height="40"><text x="12" y="25" '
            f'font-family="sans-serif" font-size="14">{_NOTHING_CHECKED}</text></svg>'
        )

    def save(self, path: str | Path) -> None:
        """Write a page (``.html``), a figure (``.svg``) or the text (``.txt``), by the ending of `path`.

        Raises `KernelLaunchError` if the ending is another one.
        """
        made = {".html": self.html(), ".svg": self.svg(), ".txt": self.text() + "\n"}.get(Path(path).suffix.lower())
        if made is None:
            raise KernelLaunchError(
                f"path must end in .html, .svg, .txt, got {short_repr(str(path))}", code="picture-format"
            )
        Path(path).write_text(made, encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


class Profile(kapi_sim.Profile):
    """A pretended device of the simulator; a launch on a real device ignores it."""

    __slots__ = ()

    def __init__(self, **abilities: Any) -> None:
        _warn_once("Profile")
        super().__init__(**abilities)


@contextmanager
def simulation(
    checks: str | Iterable[str] = "all",
    seed: int | None = None,
    schedules: int = 1,
    profile: Any = None,
    spin_limit: int = 1_000_000,
    uninitialised: Iterable[Any] = (),
    wraparound: bool = False,
    groups: float | None = None,
) -> Iterator[DeviceReport]:
    """Run the launches inside a ``with`` block on their device, without the simulator's checks.

    Parameters
    ----------
    checks, seed, schedules, profile, spin_limit, uninitialised, wraparound, groups
        As in `kapi_sim.simulation`; validated but for `uninitialised`, and without effect.

    Yields
    ------
    DeviceReport
        What ran.

    Warns
    -----
    SimulatorOnlyWarning
        Once in a process.

    Raises
    ------
    KernelLaunchError
        If a control has a value that it cannot have.
    """
    controls = checks, seed, schedules, profile, spin_limit
    with kapi_sim.simulation(
        *controls, wraparound=wraparound, groups=groups
    ):  # the arrays of `uninitialised` are a device's
        _warn_once("simulation")
        with _reporting(DeviceReport()) as report:
            yield report


@contextmanager
def trace(limit: int = 100_000) -> Iterator[DeviceTrace]:
    """Run the launches inside a ``with`` block on their device, without a record of accesses.

    Parameters
    ----------
    limit : int
        As in `kapi_sim.trace`; validated, and without effect.

    Yields
    ------
    DeviceTrace
        What ran.

    Warns
    -----
    SimulatorOnlyWarning
        Once in a process.

    Raises
    ------
    KernelLaunchError
        If `limit` is no positive integer.
    """
    require_limit(limit)
    _warn_once("trace")
    with _reporting(DeviceTrace()) as report:
        yield report


@contextmanager
def debug(item: int | tuple[int, ...]) -> Iterator[DeviceReport]:
    """Run the launches inside a ``with`` block on their device, where no work-item can be stopped.

    Parameters
    ----------
    item : int or tuple of int
        As in `kapi_sim.debug`; validated, and without effect.

    Yields
    ------
    DeviceReport
        What ran.

    Warns
    -----
    SimulatorOnlyWarning
        Once in a process.

    Raises
    ------
    KernelLaunchError
        If `item` is no global id.
    """
    global_id(item)
    _warn_once("debug")
    with _reporting(DeviceReport()) as report:
        yield report


@contextmanager
def _reporting(report: _R) -> Iterator[_R]:
    """Note the launches inside a ``with`` block in `report`, and in those of the blocks around it."""
    token = _reports.set((*_reports.get(), report))
    try:
        yield report
    finally:
        _reports.reset(token)


def note_launch(kernel: str, space: Range | NdRange) -> None:
    """Add a launch to the log, if it has launches, and to the reports of the blocks that it is made in."""
    if launches.are_logged:
        log_launch(kernel, space)
    for report in _reports.get():
        report.launches.append(f"{kernel} over {space!r}")


def _warn_once(control: str) -> None:
    if control not in _warned:
        _warned.add(control)
        warnings.warn(
            f"`{control}` must be used with kapi_sim to have an effect, got kapi_runtime: "
            f"{_NOTHING_CHECKED}; silence "
            "this with warnings.filterwarnings('ignore', category=kapi_sim.SimulatorOnlyWarning)",
            SimulatorOnlyWarning,
            stacklevel=4,
        )
