"""A kernel of two versions, ``wrong`` and ``right``, and how both are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Pair", "pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One version of a kernel, and what is expected of the wrong one.

    Attributes
    ----------
    error, code
        Class and code of the error; errors of Python's own, and warnings, have no code.
    space : Range or NdRange
        The work-items.
    arguments : function
        Returns fresh arguments.
    calls : sequence of functions
        Those that the kernel calls, whose lines the report must name as well.
    controls : dict
        Of `simulation`.
    kernel : function
        As it is written.
    """

    error: type[Exception]
    code: str | None
    space: Any
    arguments: Callable[[], tuple[Any, ...]]
    calls: Sequence[Callable[..., Any]]
    controls: dict[str, Any]
    kernel: Callable[..., None]


def pair(
    error: type[Exception],
    code: str | None,
    space: Any,
    arguments: Callable[[], tuple[Any, ...]],
    *,
    calls: Sequence[Callable[..., Any]] = (),
    **controls: Any,
) -> Callable[[Callable[..., None]], Pair]:
    """Make a pair of a kernel whose lines say in which version they are, as `planted.versions` describes."""
    return lambda kernel: Pair(error, code, space, arguments, calls, controls, kernel)
