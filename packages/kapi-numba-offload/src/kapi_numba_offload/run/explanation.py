"""Explanation of a call: its kernels, dpnp's functions, and what ran on the host and why."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kapi_numba_offload.run.offload_report import ExplainedPart, explained_parts
from kapi_numba_offload.run.timing import timing

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of a call, with their work and times.

    Attributes
    ----------
    function : str
        The function's name.
    result : object
        What it returned.
    seconds : float
        The time of the call.
    parts : tuple of ExplainedPart
        Its parts that ran, in order of their lines; then those of the offloaded functions that it called.
    has_compiled : bool
        Whether the function was compiled for these types in the call, which the times have in them.
    """

    function: str
    result: Any
    seconds: float
    parts: tuple[ExplainedPart, ...]
    has_compiled: bool = False

    @property
    def moved(self) -> int:
        """Bytes that were copied between host and device."""
        return sum(each.moved for each in self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return f"{self.function}: {self.seconds:.6f} s, nothing of it was offloaded: Numba or Python ran it"
        compiled = ", compilation included: call it again for the time of later calls" if self.has_compiled else ""
        lines = [f"{self.function}: {self.seconds:.6f} s, {self.moved} bytes moved{compiled}"]
        for each in self.parts:
            runs = "" if each.runs == 1 else f", {each.runs} times"
            of = "" if each.function == self.function else f" of {each.function}"
            lines.append(f"  line {each.line}{of}: {each.where}, {each.seconds:.6f} s{runs}, {each.moved} bytes moved")
            lines.append(f"    {each.text}")
            if each.reason:
                lines += [f"    {line}" for line in each.reason.splitlines()]
        rest = self.seconds - sum(each.seconds for each in self.parts)
        compiler = ", and compilation" if self.has_compiled else ""
        lines.append(f"  the rest, Python and methods of arrays{compiler}: {max(0.0, rest):.6f} s")
        return "\n".join(lines)


def explain(function: Any, /, *args: Any, **keywords: Any) -> Explanation:
    """Call a function, and explain each part: its outcome, the reason, bytes moved and time.

    Each part waits for its own work, so that the times are those of the parts. A first call compiles; call twice to see
    what later calls take.

    Parameters
    ----------
    function : Dispatcher
        What `numba.njit` or `offload` made.
    *args, **keywords
        Its arguments.

    Returns
    -------
    Explanation
        To be printed, or read part by part.

    Examples
    --------
    >>> import dpnp, numba
    >>> from kapi_numba_offload import explain
    >>> @numba.njit
    ... def scaled(a):
    ...     return a * 2 + 1
    >>> [(part.where, part.runs) for part in explain(scaled, dpnp.ones(3)).parts]
    [('kernel', 1)]
    """
    known = len(getattr(function, "overloads", ()))
    with timing() as times:
        start = time.perf_counter()
        result = function(*args, **keywords)
        seconds = time.perf_counter() - start
    name = getattr(function, "__name__", repr(function))
    has_compiled = len(getattr(function, "overloads", ())) > known
    return Explanation(name, result, seconds, tuple(explained_parts(function, times)), has_compiled)
