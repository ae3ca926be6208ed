"""Types under Numba's names, for programs that import them from ``numba.cuda``: NumPy's and Numba's own do as well."""

from __future__ import annotations

from kapi_sim.numba_cuda.static_types.kinds import NOTHING, Number
from kapi_sim.numba_cuda.static_types.type_spellings import CONSTRUCTORS, NUMBERS

__all__ = ["TYPES", "none", "void", *NUMBERS, *CONSTRUCTORS]

TYPES: dict[str, Number] = NUMBERS
"""Types of numbers, by name."""

void = none = NOTHING

globals().update({**NUMBERS, **CONSTRUCTORS})
