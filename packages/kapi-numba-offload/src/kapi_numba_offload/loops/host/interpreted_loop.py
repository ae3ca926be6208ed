"""A loop that Python interprets, since outlining would change its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.loops.host.iteration_work import StepSizes
from kapi_numba_offload.loops.host.worked_axes import most_elements
from kapi_numba_offload.run.fallback import Refusal, fall_back

__all__ = ["InterpretedLoop"]


@dataclass(eq=False)
class InterpretedLoop:
    """A loop that stays in the function, and is called to warn of that before it runs.

    - `refusal`: why it is no kernel, and in its detail why it stays.
    - `may_fall_back`: whether it may run at all: else the warning is an error.
    - `sizes`: the work of its iterations, for a loop over full arrays, whose statements are launches; None for one over
      elements.
    - `latest`: what the latest run warned.
    """

    location: StatementLocation
    refusal: Refusal
    may_fall_back: bool
    sizes: StepSizes | None = None
    latest: str | None = None

    @property
    def needs_function(self) -> bool:
        """Whether Numba is to compile the function around it: it does not compile a loop over elements alone."""
        return self.sizes is None

    def __call__(self, *captured: Any) -> None:
        """Warn that the loop is going to run; one over full arrays does so if launches take longer than its work."""
        if self.sizes is None:
            how = "Python runs it, and copies each element on its own."
        elif most_elements() and self.sizes.are_short(captured):
            how = "Python runs it, a launch at a time."
        else:
            self.latest = None
            return
        self.latest = fall_back(self.location, self.refusal, self.may_fall_back, how)
