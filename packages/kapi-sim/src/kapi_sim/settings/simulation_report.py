"""The report of a simulation: the launches that ran, the checks, and the notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from kapi_sim.checks.check_names import ALL_CHECKS

__all__ = ["Fault", "LaunchRecord", "Report"]

NEVER_CHECKED = (
    "what only the compiler refuses",
    "the device's own rounding",
    "orders that were not run",
)
"""The faults that no run covers."""
UNMARKED = "global memory that the host left uninitialised"
"""The faults that a run finds only in arrays that ``simulation(uninitialised=...)`` names."""
UNPROFILED = "what one device lacks, such as float64"
"""The faults that a run finds only where ``simulation(profile=...)`` names a device."""


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One launch.

    - `index_space`: as it is written.
    - `work_items`: how many ran, in each order.
    - `checks`: the checks made.
    - `seeds`: one for each order that was run; `None` is program order.
    - `elements_tracked`: distinct elements of global memory that the kernel touched; 0 where accesses were not
      recorded.
    - `sub_group_size`: most work-items of a sub-group.
    - `has_marked`: whether arrays were named as uninitialised.
    - `has_profile`: whether the launch was checked against a device's limits and abilities.
    - `noun`: what the dialect calls work-items.
    - `left_out`: how many work-groups did not run, where `simulation` was asked for some of them.
    """

    kernel: str
    index_space: str
    work_items: int
    checks: frozenset[str]
    seeds: tuple[int | None, ...]
    elements_tracked: int
    sub_group_size: int
    has_marked: bool = False
    has_profile: bool = False
    noun: str = "work-items"
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A launch that an error ended.

    - `kernel`: the kernel's name; empty if there was no launch yet.
    - `error`: as the program got it.
    """

    kernel: str
    error: Exception


@dataclass(slots=True, repr=False)
class Report:
    """The launches inside a ``with simulation()`` block, filled as they run.

    - `launches`: in the order in which they ended.
    - `notes`: what was found and is no error: benign races, outputs that depend on the order.
    - `faults`: launches that an error ended, also where the program caught it.
    """

    launches: list[LaunchRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def note_fault(self, kernel: str, error: Exception) -> None:
        """Add the error that ended a launch, once; a debugger that its user has left is none, nor a reader who has."""
        # By its name: few programs import the debugger.
        has_left = type(error).__name__ == "BdbQuit" or isinstance(error, BrokenPipeError)
        if not has_left and not any(error is known.error for known in self.faults):
            self.faults.append(Fault(kernel, error))

    def note_unchecked(self, name: str, elements: int) -> None:
        """Add the call of a function of elements, such as a `cuda.vectorize`: its threads share no memory."""
        self.launches.append(
            LaunchRecord(name, f"{elements} elements", elements, frozenset(), (None,), 0, 32, noun="threads")
        )

    def text(self) -> str:
        """Return the report as lines of text."""
        lines = []
        for launch in self.launches:
            orders = ", ".join("program order" if seed is None else f"seed {seed}" for seed in launch.seeds)
            total = f"{launch.work_items} {launch.noun} in total"
            left_out = [] if launch.left_out is None else [f"{launch.left_out}, which did not run"]
            lines.append(f"{launch.kernel} over {launch.index_space}: {total}, {orders}")
            checked = [name for name in ALL_CHECKS if name in launch.checks]
            missing = [name for name in ALL_CHECKS if name not in launch.checks]
            lines.append(f"  checked: {', '.join(checked) or 'nothing'}")
            unasked = [*([] if launch.has_profile else [UNPROFILED]), *([] if launch.has_marked else [UNMARKED])]
            lines.append(f"  not checked: {', '.join((*left_out, *missing, *NEVER_CHECKED, *unasked))}")
            if "races" in launch.checks:
                lines.append(f"  tracked: {launch.elements_tracked} elements of global memory")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines) or "nothing was launched"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows."""
        return f"<pre>{escape(self.text(), quote=False)}</pre>"
