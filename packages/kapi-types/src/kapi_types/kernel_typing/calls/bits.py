"""The types of functions of the bits of integers."""

from __future__ import annotations

import kapi_sim
from kapi_sim.language.table.intrinsics import rows
from kapi_types._numba_compat import templates
from kapi_types.kernel_typing.calls.callables import LanguageFunctionType

__all__ = ["registry"]

registry = templates.Registry()

for _row in rows(family="bits"):
    registry.register_global(getattr(kapi_sim, _row.name), LanguageFunctionType(_row))
