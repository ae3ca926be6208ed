"""Words of other kernel languages, each with kapi's in its place: one table for each, and the hints made of them."""

from __future__ import annotations

from kapi_sim.language.other_systems.hints import SYSTEMS, hint, missing_name
from kapi_sim.language.other_systems.system import System

__all__ = ["SYSTEMS", "System", "hint", "missing_name"]
