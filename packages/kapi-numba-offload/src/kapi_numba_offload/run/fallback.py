"""Fallback to the host: its reasons, in one table that the documentation prints, and the warning or error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kapi_numba_offload.run.source_warnings import in_authors_file, warn_at
from kapi_sim.errors import KapiWarning, KernelCompilationError

__all__ = ["IN_PLACE", "ON_COPIES", "REASONS", "Fallback", "OffloadFallbackWarning", "Reason", "Refusal", "fall_back"]


class OffloadFallbackWarning(KapiWarning):
    """A loop or call in a function with USM arrays ran on the host, on copies that were copied back.

    ``KAPI_OFFLOAD_FALLBACK=0`` in the environment makes it a `KernelCompilationError`; numba-dppy's
    ``NUMBA_DPPY_FALLBACK_OPTION=0`` does, too.
    """


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a part of a function runs on the host.

    Attributes
    ----------
    text : str
        What prevents it.
    cure : str
        What to change.
    once_for : {"line", "cause", "variable", "function"}
        What has one warning at most.
    """

    text: str
    cure: str
    once_for: str = "line"


ON_COPIES = "It runs on the host; arrays are copied there and back."
IN_PLACE = "It runs on the host, in the memory of its arrays."

REASONS: dict[str, Reason] = {
    "sequential-loop": Reason(
        "a plain `for` or `while` loop over elements of a device array does one iteration after the other",
        "write `numba.prange` if its iterations are independent, or an expression of whole arrays",
        once_for="function",
    ),
    "short-steps": Reason(
        "each of the many iterations of a plain loop works on a few elements, which takes less time than a launch",
        "write `numba.prange` if the iterations are independent, or an expression of whole arrays",
        once_for="function",
    ),
    "carried-value": Reason(
        "an iteration of the `prange` loop reads a variable of an earlier iteration, and this is no reduction",
        "assign the variable before it is read in the iteration, or reduce with one of + - * min max & | ^",
    ),
    "value-after-loop": Reason(
        "a variable that iterations of the `prange` loop assign is read after the loop, with any of their values",
        "store the value in an element of an array, or reduce it",
    ),
    "array-reduction": Reason(
        "iterations of the `prange` loop reduce into a whole array",
        "loop over the elements of the result in `prange`, or use `np.sum` with an axis",
    ),
    "early-exit": Reason(
        "an iteration of the `prange` loop may end the loop by `break` or `return`",
        "store or reduce the findings of iterations, and read them after the loop",
    ),
    "loop-variable": Reason(
        "the body of the `prange` loop assigns the loop's own variable",
        "use a variable of another name",
    ),
    "not-in-kernel": Reason(
        "the body of the `prange` loop has code that kernels do not support",
        "move the named line out of the loop, or write it with elements and numbers",
        once_for="cause",
    ),
    "shared-memory": Reason(
        "the `prange` loop stores to an array that shares memory with the source of a temporary row",
        "give the loop arrays that share no memory: `a.copy()`",
    ),
    "host-function": Reason(
        "the array library lacks this NumPy function or these arguments, or the function is a `numba.stencil`",
        "use functions that it has, write a stencil with slices or `prange`, or work on a copy on the host",
        once_for="variable",
    ),
    "recursion": Reason(
        "the function calls itself with arrays, and each of the calls would be launches of its own",
        "write a loop over the levels of the recursion, or accept the reason",
        once_for="function",
    ),
    "typed-locals": Reason(
        "the function has the option `locals`, whose types are Numba's: numbers on the device have those of NumPy",
        "convert where a type counts, as in `x = np.float32(x)`, and leave the option out",
        once_for="function",
    ),
    "no-source": Reason(
        "a function with branches or loops has no source to be read, as after `exec` or at Python's prompt",
        "define it in a module or notebook",
    ),
    "host-call": Reason(
        "a function that is called with NumPy arrays in a device context cannot be offloaded",
        "write expressions of whole arrays or `prange` loops; a call with dpnp arrays says more",
    ),
}
"""The reasons by their ids."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something cannot be a kernel.

    - `reason`: a key of `REASONS`.
    - `line`: line of the source.
    - `variable`: the variable that it is about.
    - `detail`: more words, as the compiler's own.
    - `cause`: those that other lines with the same cause have, too.
    """

    reason: str
    line: int
    variable: str
    detail: str = ""
    cause: str = ""


def fall_back(location: Any, refusal: Refusal, allowed: bool, how: str = ON_COPIES) -> str:
    """Warn that something runs on the host, or raise if that is not wanted.

    Of the parts of a function that have the same cause, the first one is warned of.

    - `refusal`: why it is no kernel.
    - `allowed`: whether it may run on the host.
    - `how`: how it runs there.

    Returns what was said.

    Raises `KernelCompilationError` if it may not.
    """
    return Fallback(location, refusal, how)(allowed)


class Fallback:
    """The warning of something that runs on the host, or the error where that is not wanted.

    Parameters
    ----------
    location : object
        The statement.
    refusal : Refusal
        Why it is no kernel.
    how : str
        How it runs on the host.
    """

    def __init__(self, location: Any, refusal: Refusal, how: str) -> None:
        reason = REASONS[refusal.reason]
        detail = f"\n  {refusal.detail}" if refusal.detail else ""
        self._function = location.function
        self._filename, self._line = filename, line = in_authors_file(location.filename, refusal.line)
        self.text = (
            f"{filename}:{line}: variable `{refusal.variable}`: {reason.text} [{refusal.reason}]; {reason.cure}{detail}"
        )
        self._warning = f"{self.text}\n  {how}"
        parts = {
            "line": (refusal.line,), "cause": (refusal.cause,), "variable": (refusal.variable,), "function": (),
        }  # fmt: skip
        cause = refusal.reason, *parts[reason.once_for]
        self._refused = refusal.line
        self._cause = location.filename, location.function, location.first_line, *cause

    def __call__(self, allowed: bool) -> str:
        """Warn, or raise `KernelCompilationError` if that is not `allowed`; what was said."""
        if not allowed:
            raise KernelCompilationError(
                f"function {self._function} must be offloaded as a whole, since fallback is off, got\n  {self.text}",
                code="offload-falls-back",
            )
        if _warned.setdefault(self._cause, self._refused) == self._refused:
            warn_at(OffloadFallbackWarning(self._warning), self._filename, self._line)
        return self.text


_warned: dict[tuple[Any, ...], int] = {}
"""For each function and cause the line that is warned of."""
