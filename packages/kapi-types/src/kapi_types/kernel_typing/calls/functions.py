"""The types of functions whose rows say all: barriers, group algorithms, bits, and a work-item's own arrays."""

from __future__ import annotations

import kapi_sim
from kapi_sim.language.table.intrinsics import rows
from kapi_types._numba_compat import templates
from kapi_types.kernel_typing.calls.callables import LanguageFunctionType

__all__ = ["registry"]

registry = templates.Registry()

for _family in ("convergence", "group", "bits", "memory"):
    for _row in rows(family=_family):
        registry.register_global(getattr(kapi_sim, _row.name), LanguageFunctionType(_row))
