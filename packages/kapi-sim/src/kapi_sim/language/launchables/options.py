"""The options of `@kernel`: one value, validated here for the simulator and for every compiler."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from kapi_sim.errors import KernelCompilationError, LimitError
from kapi_sim.language.intrinsics.index_space import MAX_DIMENSIONS, NdRange, Range
from kapi_sim.short_repr import short_repr

__all__ = ["FAST_MATH_FLAGS", "KernelOptions"]

FAST_MATH_FLAGS: dict[str, str] = {
    "nnan": "no operand or result is nan",
    "ninf": "no operand or result is infinite",
    "nsz": "the sign of a zero does not matter",
    "arcp": "a division may become a multiplication with the reciprocal",
    "contract": "a multiplication and an addition may become one, rounded once",
    "afn": "functions may be approximated",
    "reassoc": "operations may be done in another order",
}
"""The freedom that each flag of `fastmath` gives a compiler, by LLVM's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """Options of a kernel's compilation and launches; equal and hashable by value, a part of cache keys.

    Parameters
    ----------
    debug : bool
        Compile `assert`, `raise`, index checks and checks of integer division in; the launch raises what a work-item
        met.
    boundscheck : bool
        Compile index checks in; `debug` includes them.
    lineinfo : bool
        Write the lines of the source into the code, for profilers. Only NVIDIA's code has room for them: the simulator
        and SPIR-V make no use of it.
    fastmath : bool or iterable of str
        What arithmetic on floats may assume, from `FAST_MATH_FLAGS`: False is IEEE 754 and nothing else, True is all
        of them. It is a permission: the simulator makes no use of it. Kept as a sorted tuple of flags.
    inline : {"always", "never"}
        Whether the functions that the kernel calls become part of it. The simulator always calls them.
    work_group_size : int or tuple of int, optional
        The one local range that the kernel is launched with, which compilers make use of. Kept as a tuple.
    max_work_group_size : int, optional
        The most work-items of a group that the kernel is launched with.
    sub_group_size : int, optional
        The number of work-items of each sub-group, which the device must have.

    Raises
    ------
    KernelCompilationError
        If an option has a value that it cannot have.

    Examples
    --------
    >>> KernelOptions(fastmath={"contract", "arcp"}).fastmath
    ('arcp', 'contract')
    >>> KernelOptions(work_group_size=64) == KernelOptions(work_group_size=(64,))
    True
    >>> KernelOptions(work_group_size=(16, 0))
    Traceback (most recent call last):
      ...
    kapi_sim.errors.KernelCompilationError: option work_group_size must be one to three integers of at least 1, \
got (16, 0) [option-work-group-size]
    """

    debug: bool = False
    boundscheck: bool = False
    lineinfo: bool = False
    fastmath: bool | Iterable[str] = ()
    inline: Literal["always", "never"] = "always"
    work_group_size: int | tuple[int, ...] | None = None
    max_work_group_size: int | None = None
    sub_group_size: int | None = None

    def __post_init__(self) -> None:
        for name in ("debug", "boundscheck", "lineinfo"):
            if not isinstance(getattr(self, name), bool):
                raise KernelCompilationError(
                    f"option {name} must be True or False, got {short_repr(getattr(self, name))}", code="option-bool"
                )
        if self.inline not in ("always", "never"):
            raise KernelCompilationError(
                f"option inline must be 'always' or 'never', got {short_repr(self.inline)}", code="option-inline"
            )
        object.__setattr__(self, "fastmath", _flags(self.fastmath))
        if self.work_group_size is not None:
            object.__setattr__(self, "work_group_size", _extents(self.work_group_size))
        for name in ("max_work_group_size", "sub_group_size"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _positive(name, getattr(self, name)))
        most, size = self.max_work_group_size, self.group_work_items
        if most is not None and size is not None and size > most:
            raise KernelCompilationError(
                f"option work_group_size must have at most max_work_group_size work-items, got {size} and {most}",
                code="option-work-group-sizes",
            )

    @classmethod
    def of(cls, **given: Any) -> KernelOptions:
        """The options that are given by name.

        Raises
        ------
        KernelCompilationError
            If a name is none of an option's, or a value none that it can have.

        Examples
        --------
        >>> KernelOptions.of(debug=True).checks_bounds
        True
        >>> KernelOptions.of(fast_math=True)
        Traceback (most recent call last):
          ...
        kapi_sim.errors.KernelCompilationError: options of a kernel must be some of boundscheck, debug, fastmath, \
inline, lineinfo, max_work_group_size, sub_group_size, work_group_size, got fast_math [option-unknown]
        """
        known = {field.name for field in fields(cls)}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise KernelCompilationError(
                f"options of a kernel must be some of {', '.join(sorted(known))}, got {', '.join(unknown)}",
                code="option-unknown",
            )
        return cls(**given)

    @property
    def checks_bounds(self) -> bool:
        """Whether each index is checked against its axis."""
        return self.boundscheck or self.debug

    @property
    def fast_math_flags(self) -> tuple[str, ...]:
        """The flags of `fastmath`, sorted."""
        return tuple(self.fastmath)  # type: ignore[arg-type]  # a bool has become a tuple

    @property
    def local_range(self) -> tuple[int, ...] | None:
        """The local range of every launch, where `work_group_size` names one."""
        return self.work_group_size  # type: ignore[return-value]  # an integer has become a tuple

    @property
    def group_work_items(self) -> int | None:
        """Work-items of the one local range, where `work_group_size` names one."""
        if self.local_range is None:
            return None
        product = 1
        for extent in self.local_range:
            product *= extent
        return product

    def require_launchable(self, name: str, space: Range | NdRange) -> None:
        """Raise unless a kernel of this name and with these options may be launched over `space`.

        Raises
        ------
        LimitError
            If the work-groups are not those that the options promise.
        """
        if self.local_range is not None:
            written = f"work_group_size {self.local_range} of kernel `{name}`"
            if isinstance(space, Range):
                raise LimitError(
                    f"{written} must be met by an NdRange, got {short_repr(space)}, which has no work-groups of "
                    "its own: "
                    "leave the option out, or launch over an NdRange",
                    code="work-group-size-in-range",
                )
            if tuple(space.local_range) != self.local_range:
                raise LimitError(
                    f"{written} must be the local_range of every launch, got {tuple(space.local_range)}: "
                    "launch with it, or leave the option out",
                    code="work-group-size-other",
                )
        most = self.max_work_group_size
        if most is not None and isinstance(space, NdRange) and space.local_range.size > most:
            raise LimitError(
                f"local_range of kernel `{name}` must have at most its max_work_group_size of {most} work-items, "
                f"got {space.local_range.size} in {tuple(space.local_range)}",
                code="work-group-above-option",
            )


def _flags(given: Any) -> tuple[str, ...]:
    if isinstance(given, bool):
        return tuple(sorted(FAST_MATH_FLAGS)) if given else ()
    requirement = f"option fastmath must be True, False or some of {', '.join(FAST_MATH_FLAGS)}"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise KernelCompilationError(
            f"{requirement}, got {short_repr(given)}: write a set of flags", code="option-fastmath"
        )
    flags = list(given)
    unknown = [str(flag) for flag in flags if flag not in tuple(FAST_MATH_FLAGS)]
    if unknown:
        raise KernelCompilationError(f"{requirement}, got {', '.join(unknown)}", code="option-fastmath")
    return tuple(sorted(set(flags)))


def _extents(given: Any) -> tuple[int, ...]:
    extents = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    requirement = f"option work_group_size must be one to three integers of at least 1, got {short_repr(given)}"
    try:
        sizes = tuple(operator.index(extent) for extent in extents)
    except TypeError:
        raise KernelCompilationError(requirement, code="option-work-group-size") from None
    if not 1 <= len(sizes) <= MAX_DIMENSIONS or min(sizes) < 1:
        raise KernelCompilationError(requirement, code="option-work-group-size")
    return sizes


def _positive(name: str, given: Any) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__") or operator.index(given) < 1:
        raise KernelCompilationError(
            f"option {name} must be an integer of at least 1, got {short_repr(given)}", code="option-number"
        )
    return operator.index(given)
