"""Candidates of a launch's work-group size and arguments, and the one that `tune` has chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language import NdRange, Range, as_range
from kapi_sim.short_repr import short_repr

__all__ = ["Candidate", "Tuning", "candidates_of", "require_candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to launch a kernel.

    Attributes
    ----------
    space : Range or NdRange
        The index space that was given to `tune`.
    local_size : tuple of int or None
        The work-group to try; None for the index space as it was given.
    constants : dict of str to object
        Arguments by the names of the kernel's parameters.
    """

    space: Range | NdRange
    local_size: tuple[int, ...] | None
    constants: dict[str, Any]

    @property
    def index_space(self) -> Range | NdRange:
        """The work-items.

        Raises
        ------
        KernelLaunchError
            If the work-group does not divide them.
        """
        full = self.space if isinstance(self.space, Range) else self.space.global_range
        return self.space if self.local_size is None else NdRange(full, self.local_size)

    def __str__(self) -> str:
        local = self.local_size
        words = [] if local is None else [f"local size {local[0] if len(local) == 1 else local}"]
        words += [f"{name}={_named(value)}" for name, value in self.constants.items()]
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The choice of `Kernel.tune`, and what it tried; ``print(tuning)`` shows a line for each candidate.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    device : str
        Where it was timed; "simulator" for the simulator, which takes no times.
    candidates : tuple of Candidate
        What was tried.
    times : tuple of float or None
        Nanoseconds of each candidate; None where none was taken.
    refusals : tuple of str
        Why a candidate cannot be launched; an empty text for those that can.
    chosen : int
        Index of the choice among the candidates.
    is_measured : bool
        Whether this call took the times, and did not find them in the cache.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.NdItem, a):
    ...     a[item.get_global_id(0)] *= 2
    >>> a = np.ones(8)
    >>> tuning = double.tune(kapi.Range(8), a, local_sizes=[2, 4])
    >>> kapi.call_kernel(double, tuning.index_space, a, **tuning.constants)
    >>> a
    array([2., 2., 2., 2., 2., 2., 2., 2.])
    >>> print(tuning)
    double on simulator
      chosen  local size 2  not timed
              local size 4  not timed
    """

    kernel: str
    device: str
    candidates: tuple[Candidate, ...]
    times: tuple[float | None, ...]
    refusals: tuple[str, ...]
    chosen: int
    is_measured: bool

    @property
    def index_space(self) -> Range | NdRange:
        """The index space to launch over."""
        return self.candidates[self.chosen].index_space

    @property
    def constants(self) -> dict[str, Any]:
        """The chosen arguments, to be passed by name: ``call_kernel(kernel, tuning.index_space, ..., **constants)``."""
        return dict(self.candidates[self.chosen].constants)

    def __str__(self) -> str:
        width = max(len(str(candidate)) for candidate in self.candidates)
        lines = [f"{self.kernel} on {self.device}"]
        rows = zip(self.candidates, self.times, self.refusals, strict=True)
        for index, (candidate, time, refusal) in enumerate(rows):
            mark = "chosen" if index == self.chosen else ""
            said = f"refused: {refusal}" if refusal else "not timed" if time is None else f"{time / 1e3:.1f} us"
            lines.append(f"  {mark:6}  {candidate!s:{width}}  {said}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tuning of {self.kernel} on {self.device}: {self.candidates[self.chosen]}>"


def candidates_of(
    parameters: Sequence[str],
    index_space: Range | NdRange,
    local_sizes: Iterable[Any] | None,
    constants: Mapping[str, Iterable[Any]] | None,
) -> tuple[Candidate, ...]:
    """Return the candidates of `tune`: each local size with each combination of constants.

    Parameters
    ----------
    parameters : sequence of str
        The kernel's, after the work-item.
    index_space : Range or NdRange
        The work-items.
    local_sizes : iterable or mapping
        Local ranges, as integers or tuples; a mapping has for each the arguments that depend on it, by name.
    constants : mapping
        Values to try of other arguments, by name.

    Raises
    ------
    KernelLaunchError
        If there is nothing to choose from, or the kernel has no parameter of a name.
    """
    given = {name: list(values) for name, values in (constants or {}).items()}
    sized: dict[Any, Mapping[str, Any]]
    if isinstance(local_sizes, Mapping):
        sized = dict(local_sizes)
    else:
        sized = {size: {} for size in local_sizes or (None,)}
    for name in (*given, *(name for each in sized.values() for name in each)):
        if name not in parameters:
            raise KernelLaunchError(
                f"constants to tune must be parameters of the kernel ({', '.join(parameters)}), got {name}",
                code="argument-unknown",
            )
    found = tuple(
        Candidate(
            index_space,
            None if size is None else tuple(as_range(size, "local size")),
            {**its, **dict(zip(given, values, strict=True))},
        )
        for size, its in sized.items()
        for values in itertools.product(*given.values())
    )
    if len(found) < 2:
        raise KernelLaunchError(
            "tune must be given at least two candidates, by local_sizes=[64, 128] or constants={'name': [1, 2]}, got "
            f"{len(found)}",
            code="tune-candidates",
        )
    return found


def require_candidate(kernel: str, refusals: Sequence[str]) -> None:
    """Raise KernelLaunchError if no candidate of a kernel can be launched."""
    if all(refusals):
        raise KernelLaunchError(
            f"one candidate for kernel `{kernel}` at least must be launchable, got {len(refusals)} that are not; the "
            f"first: {refusals[0]}",
            code="tune-candidates",
        )


def _named(value: Any) -> str:
    return getattr(value, "__name__", None) or short_repr(value)
