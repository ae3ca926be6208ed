"""The words at which work-items of a group converge: barriers and group algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from kapi_sim.language.intrinsics import group_algorithms
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.table.intrinsics import rows

__all__ = [
    "ACTIVE",
    "ALGORITHM",
    "GRID",
    "GROUP",
    "Contributions",
    "Converging",
    "Lanes",
    "Participants",
    "DialectIntrinsic",
    "Yielded",
    "defaults_of",
    "is_algorithm",
    "is_convergent",
    "parameters_of",
]

Yielded = tuple[Any, ...]
"""The value that a kernel yields: site (file, line, column, iterations of the loops around it), group and fence scope
at a barrier; at a group algorithm `ALGORITHM` in place of the scope, and then the word, the work-item's
value and the other argument.  In place of the group a dialect's words have a `Participants`; their
barriers name the word.  In a loop: its place, the number of its run, `kapi_sim.memory.infinite_loops.SPIN`, the
iterations since it last yielded, and the variables that its course depends on, if that is known."""

ALGORITHM = -2
"""In place of a fence scope: the work-item is at a group algorithm."""


@dataclass(frozen=True, slots=True)
class Participants:
    """The participants of an intrinsic that takes no group.

    - `name`: what messages call it.
    """

    name: str


GROUP = Participants("group")
"""All of the work-item's group."""
GRID = Participants("grid")
"""All work-items of the launch."""


ACTIVE = Participants("active")
"""Those of the work-item's sub-group that have come to the same place."""


@dataclass(frozen=True, slots=True)
class Lanes(Participants):
    """Some work-items of a sub-group.

    - `mask`: a bit for each, by its id in the sub-group.
    """

    mask: int


class DialectIntrinsic:
    """A word of a dialect: it is called like a function, and the rewriter knows what a call may do.

    - `orders_memory`: whether memory may be ordered by it, besides the barriers of work-groups.
    - `is_atomic`: whether it reads or changes an element that others may change at the same time.
    """

    orders_memory: ClassVar[bool] = False
    is_atomic: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


class Contributions(NamedTuple):
    """The arguments of the work-items that converge at an intrinsic.

    - `members`: ids of the work-items in the group, or in the sub-group.
    - `values`, `arguments`: what each gave.
    - `undefined`: takes a position in `members` and what was asked for, and returns what one gets if there is none
      such.
    """

    members: Sequence[int]
    values: Sequence[Any]
    arguments: Sequence[Any]
    undefined: Callable[[int, str], Any]


class Converging(DialectIntrinsic, ABC):
    """A word of a dialect at which work-items converge.

    - `is_barrier`: whether it orders the memory of a work-group.
    """

    is_barrier: ClassVar[bool] = False

    @abstractmethod
    def arrive(self, site: tuple[Any, ...], *args: Any, **named: Any) -> Yielded:
        """Return what a work-item yields that calls the intrinsic at `site`."""

    @abstractmethod
    def outcome(self, given: Contributions) -> list[Any]:
        """Return each member's result."""


_ALGORITHMS: dict[int, Callable[..., Any]] = {
    id(function): function for function in (getattr(group_algorithms, row.name) for row in rows(family="group"))
}


def is_algorithm(value: object) -> bool:
    """Return whether `value` is a group algorithm."""
    return id(value) in _ALGORITHMS


def is_convergent(value: object) -> bool:
    """Return whether `value` is the barrier, a group algorithm, or a dialect's word at which work-items converge."""
    return value is group_barrier or id(value) in _ALGORITHMS or isinstance(value, Converging)


def parameters_of(word: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a word's parameters."""
    if isinstance(word, Converging):
        return ()
    code = word.__code__
    return code.co_varnames[: code.co_argcount]


def defaults_of(word: Callable[..., Any]) -> dict[str, int]:
    """Return the defaults of a word's parameters, all of which are integers."""
    values = word.__defaults__ or ()
    return {name: int(value) for name, value in zip(parameters_of(word)[-len(values) :], values, strict=False)}
