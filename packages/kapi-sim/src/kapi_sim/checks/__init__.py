"""The simulator's checks: bounds, races, initialisation, convergence, limits."""

from __future__ import annotations

from kapi_sim.checks.check_names import ALL_CHECKS, parse_checks

__all__ = ["ALL_CHECKS", "parse_checks"]
