"""The simulator's controls on a device: accepted, for programs that run in both worlds, without effect.

Each says so, once in a process, and the report repeats it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import kapi_sim
from kapi_sim import NdRange, Range, SimulatorOnlyWarning

__all__ = ["DeviceReport", "Profile", "note_launch", "simulation"]

_NOTHING_CHECKED = "ran on device, nothing checked"

_warned: set[str] = set()
_report: ContextVar[DeviceReport | None] = ContextVar("kapi_runtime_report", default=None)


@dataclass(slots=True)
class DeviceReport:
    """What a ``with simulation()`` block on a device has to tell: what ran, and that nothing was checked.

    Attributes
    ----------
    launches : list of str
        Kernel and index space of each launch, in order.
    notes : list of str
        Always empty: a note comes from a check.
    """

    launches: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the report as lines of text."""
        lines = [f"{launch}: {_NOTHING_CHECKED}" for launch in self.launches]
        return "\n".join(lines) or _NOTHING_CHECKED

    def __str__(self) -> str:
        return self.text()


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
) -> Iterator[DeviceReport]:
    """Run the launches inside a ``with`` block on their device, without the simulator's checks.

    Parameters
    ----------
    checks, seed, schedules, profile, spin_limit
        As in `kapi_sim.simulation`; validated, and without effect.

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
    with kapi_sim.simulation(checks, seed, schedules, profile, spin_limit):
        _warn_once("simulation")
        report = DeviceReport()
        token = _report.set(report)
        try:
            yield report
        finally:
            _report.reset(token)


def note_launch(kernel: str, space: Range | NdRange) -> None:
    """Add a launch to the report of the block that it is made in, if there is one."""
    report = _report.get()
    if report is not None:
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
