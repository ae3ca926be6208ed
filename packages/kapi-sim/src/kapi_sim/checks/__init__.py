"""The simulator's checks: bounds, races, initialisation, convergence, limits."""

from __future__ import annotations

from kapi_sim.checks.selection import ALL_CHECKS, parse_checks

__all__ = ["ALL_CHECKS", "parse_checks"]
