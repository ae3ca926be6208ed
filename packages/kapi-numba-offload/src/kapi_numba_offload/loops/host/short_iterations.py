"""Loops of many iterations that work on a few elements each: a launch takes longer than Numba's entire iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.libraries.arrays import arrays_among, is_device_array
from kapi_numba_offload.loops.host.host_copies import is_reachable
from kapi_numba_offload.loops.host.host_loop import HostLoop
from kapi_numba_offload.run.fallback import IN_PLACE, ON_COPIES, Refusal, fall_back

__all__ = ["SAME_TYPES", "ShortSteps", "has_same_types"]

SAME_TYPES = frozenset(map(np.dtype, ("float64", "complex128", "int64")))
"""Dtypes whose operations have the same dtypes for dpnp and for Numba, with each other and with Python's numbers."""


@dataclass(eq=False)
class ShortSteps:
    """A loop with iterations of a few elements each, as Numba compiles it with types of its own.

    - `refusal`: why it is no kernel.
    - `arrays_left`: variables that hold arrays after it, other ones than before, and arrays that it returns.
    - `has_same_integers`: whether Numba's integers are NumPy's, for the values that it is given.
    - `latest`: what the latest run warned.
    """

    location: StatementLocation
    refusal: Refusal
    host: HostLoop
    arrays_left: Sequence[str]
    has_same_integers: Callable[[Sequence[Any]], bool]
    latest: str | None = None

    def suits(self, captured: Sequence[Any], otherwise: str) -> bool:
        """Whether Numba is to run the loop for these values; warns where it is, and where Numba cannot.

        - `captured`: the values that it is given.
        - `otherwise`: what runs it if Numba does not.
        """
        is_in_place = all(map(is_reachable, arrays_among(captured)))
        why = self.why_not_compiled(captured)
        how = IN_PLACE if is_in_place else ON_COPIES
        if why is not None:
            how = f"{otherwise}: {why}"
        self.warn(how)
        return why is None

    def warn(self, how: str) -> None:
        """Warn that it is no kernel, and of how it runs."""
        self.latest = fall_back(self.location, self.refusal, True, how)

    def why_not_compiled(self, captured: Sequence[Any]) -> str | None:
        """The reason why Numba does not run the loop for these values; None if it does."""
        if self.arrays_left and not all(map(has_same_types, captured)):
            return f"`{self.arrays_left[0]}` would have another dtype than NumPy's"
        if not self.has_same_integers(captured):
            return "its integers would have more bits than NumPy's"
        return self.host.why_not_compiled((), captured)


def has_same_types(value: Any) -> bool:
    """Whether operations with a value have the same dtypes for dpnp and for Numba."""
    if isinstance(value, np.generic) or is_device_array(value):
        return value.dtype in SAME_TYPES
    return type(value) in (bool, int, float, complex)
