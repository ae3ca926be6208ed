"""The simulator's controls: what is checked, the order of work-items, the device that is pretended, device contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from kapi_sim import environment_variables
from kapi_sim.checks.check_names import parse_checks
from kapi_sim.checks.marked_uninitialised import Uninitialised, marked_arrays
from kapi_sim.errors import KernelLaunchError
from kapi_sim.items.profile import PROFILES, Profile
from kapi_sim.settings.simulation_report import Report
from kapi_sim.short_repr import short_repr

__all__ = ["Settings", "current_settings", "device_context", "settings_of", "simulation"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that govern a launch.

    - `checks`: names from `kapi_sim.checks.ALL_CHECKS`.
    - `seed`: permutes groups, and work-items between barriers; `None` is program order.
    - `schedules`: how many orders are run and compared.
    - `profile`: the pretended device; `None` has no limits but the language's.
    - `report`: where launches are noted.
    - `spin_limit`: iterations of a loop after which it is given up.
    - `uninitialised`: arrays in which a read before any write is an error.
    - `wraparound`: whether computed negative indices of numba.cuda's kernels count from the end.
    - `groups`: how many work-groups of each launch run, or the part of them that does; `None` for all.
    """

    checks: frozenset[str]
    seed: int | None = None
    schedules: int = 1
    profile: Profile | None = None
    report: Report | None = None
    spin_limit: int = 1_000_000
    uninitialised: Uninitialised | None = None
    wraparound: bool = False
    groups: float | None = None


_settings: ContextVar[Settings | None] = ContextVar("kapi_sim_settings", default=None)


def current_settings() -> Settings:
    """Return what governs a launch made here: the innermost `simulation`, else the defaults.

    The default is all checks, unless the environment variable ``KAPI_SIM_CHECKS`` names others.
    """
    settings = _settings.get()
    if settings is not None:
        return settings
    return Settings(parse_checks(environment_variables.SIM_CHECKS.value or "all"))


@contextmanager
def settings_of(settings: Settings) -> Iterator[None]:
    """Govern the launches inside a ``with`` block by these settings."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def _is_sample_size(groups: object) -> bool:
    """Whether a number of work-groups, or a part of them, is given."""
    if isinstance(groups, bool) or not isinstance(groups, (int, float)):
        return False
    return 0 < groups < 1 or (groups >= 1 and float(groups).is_integer())


@contextmanager
def simulation(
    checks: str | Iterable[str] = "all",
    seed: int | None = None,
    schedules: int = 1,
    profile: Profile | str | None = None,
    spin_limit: int = 1_000_000,
    uninitialised: Iterable[Any] = (),
    wraparound: bool = False,
    groups: float | None = None,
) -> Iterator[Report]:
    """Control the launches inside a ``with`` block, and report on them.

    Parameters
    ----------
    checks : "all", "none" or names
        Of ``"bounds"``, ``"races"``, ``"initialisation"``, ``"convergence"`` and ``"limits"``.
        ``"none"`` is the fast path.
    seed : int, optional
        Permutes the order of groups, and of work-items between barriers.  Program order if left out.
    schedules : int
        How many orders to run and compare; differing outputs are noted with the seed that replays
        them.  The arrays hold the first order's outputs afterwards.
    profile : Profile or str, optional
        The device to pretend: one of your own, or the name of one in `kapi_sim.PROFILES`.
    spin_limit : int
        Iterations of a ``while`` loop, between two barriers, after which it counts as one that never ends and
        is a `DeadlockError`.  A thousandth of it is what a work-item gets before others of its group run.
    uninitialised : iterable of numpy.ndarray, or of arrays in unified shared memory
        Arrays that hold nothing yet, as ``np.empty`` makes them: a kernel that reads an element which no
        kernel of the block wrote before is an `UninitializedReadError`.
    wraparound : bool
        Whether a computed index that becomes negative counts from the end in kernels of `kapi_sim.numba_cuda`, as it
        does on a GPU.  It is an `OutOfBoundsError` otherwise, and in kapi's own kernels always.
    groups : int or float, optional
        At most how many work-groups of each launch run, or below 1 the part of them that does; of a `Range`,
        work-items.  The first and the last are among them, the others lie evenly between.  The report says what was
        left out, and a `PartialRunWarning` once.

    Yields
    ------
    Report
        What was run, checked and noted, filled as launches end.

    Raises
    ------
    KernelLaunchError
        If a control has a value that it cannot have.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def fill(item: kapi.Item, a):
    ...     a[item.get_id(0)] = 1
    >>> with kapi.simulation(checks={"bounds"}) as report:
    ...     kapi.call_kernel(fill, kapi.Range(3), np.zeros(3))
    >>> report.launches[0].work_items
    3
    """
    names = parse_checks(checks)
    if not isinstance(schedules, int) or schedules < 1:
        raise KernelLaunchError(
            f"schedules must be an integer of at least 1, got {short_repr(schedules)}", code="simulation-schedules"
        )
    if not (seed is None or isinstance(seed, int)):
        raise KernelLaunchError(f"seed must be an integer or None, got {short_repr(seed)}", code="simulation-seed")
    if isinstance(profile, str):
        profile = PROFILES.get(profile, profile)
    if not (profile is None or isinstance(profile, Profile)):
        raise KernelLaunchError(
            f"profile must be a kapi_sim.Profile, None or one of {', '.join(sorted(PROFILES))}, got "
            f"{short_repr(profile)}",
            code="profile-unknown",
        )
    if not isinstance(spin_limit, int) or spin_limit < 1:
        raise KernelLaunchError(
            f"spin_limit must be an integer of at least 1, got {short_repr(spin_limit)}", code="simulation-spin-limit"
        )
    if not isinstance(wraparound, bool):
        raise KernelLaunchError(
            f"wraparound must be True or False, got {short_repr(wraparound)}", code="simulation-wraparound"
        )
    if groups is not None and not _is_sample_size(groups):
        raise KernelLaunchError(
            f"groups must be an integer of at least 1, a fraction between 0 and 1, or None, got {short_repr(groups)}",
            code="simulation-groups",
        )
    report = Report()
    marked = marked_arrays(uninitialised)
    token = _settings.set(Settings(names, seed, schedules, profile, report, spin_limit, marked, wraparound, groups))
    try:
        yield report
    finally:
        _settings.reset(token)


@contextmanager
def device_context(device: Any, *, warn: bool = False) -> Iterator[None]:
    """Do nothing for the launches inside a ``with`` block: the simulator takes NumPy arrays everywhere.

    Parameters
    ----------
    device : object
        What names a device under `kapi_runtime`; not looked at.
    warn : bool
        Whether copies are warned of there; the simulator makes none.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> values = np.arange(4)
    >>> with kapi.device_context("opencl:cpu"):
    ...     double[kapi.Range(4)](values)
    >>> values
    array([0, 2, 4, 6])
    """
    yield
