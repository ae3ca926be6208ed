"""Naming the checks that a launch makes."""

from __future__ import annotations

from collections.abc import Iterable

from kapi_sim.errors import KernelLaunchError

__all__ = ["ALL_CHECKS", "parse_checks"]

ALL_CHECKS: dict[str, str] = {
    "bounds": "each index against its axis",
    "races": "unordered accesses of work-items to one element, atomics too narrow or mixed with others",
    "initialisation": "reads of local and private memory before it is written",
    "convergence": "barriers and group algorithms that a part of a group reaches",
    "limits": "weak integers against 64 bits, and the launch against the profile",
}
"""Name and subject of each check."""


def parse_checks(checks: str | Iterable[str]) -> frozenset[str]:
    """Return the checks that ``"all"``, ``"none"``, one name or several names stand for.

    Raises `KernelLaunchError` if a name is not one of `ALL_CHECKS`.

    Examples
    --------
    >>> sorted(parse_checks({"races", "bounds"}))
    ['bounds', 'races']
    """
    if checks == "all":
        return frozenset(ALL_CHECKS)
    if checks == "none":
        return frozenset()
    if isinstance(checks, str):
        names = frozenset(name.strip() for name in checks.split(","))
    else:
        names = frozenset(checks)
    unknown = names - set(ALL_CHECKS)
    if unknown:
        raise KernelLaunchError(
            f"checks must be 'all', 'none' or some of {sorted(ALL_CHECKS)}, got {sorted(map(str, unknown))}",
            code="checks-unknown",
        )
    return names
