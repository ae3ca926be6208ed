"""What a module's code takes for granted of every launch, beyond the types of its arguments.

Code for ids of 31 bits, and for arrays that are read and share nothing with what is written, is faster where the
target has it.  Nearly all launches keep both; the others get a module that takes nothing for granted.
"""

from __future__ import annotations

from kapi_lowering import KernelModule
from kapi_lowering.target import SMALL_EXTENT
from kapi_runtime.launch.arguments import Arguments
from kapi_sim import KernelLaunchError, LimitError, LocalAccessor, NdRange, Range
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["is_small", "require_assumptions"]


def is_small(space: Range | NdRange, arguments: Arguments) -> bool:
    """Whether the index space, and all arrays, have extents that 31 bits hold."""
    whole = space if isinstance(space, Range) else space.global_range
    if any(extent >= SMALL_EXTENT for extent in whole):
        return False
    shapes = [value.shape for value in arguments.read if isinstance(value, (ArrayFields, LocalAccessor))]
    return all(extent < SMALL_EXTENT for shape in shapes for extent in shape)


def require_assumptions(module: KernelModule, small: bool, are_reads_apart: bool) -> None:
    """Raise if a launch does not keep what a module takes for granted, which its target says.

    Parameters
    ----------
    module : KernelModule
        The compiled kernel.
    small : bool
        What `is_small` says of the launch.
    are_reads_apart : bool
        What `check_no_overlap` says of it.

    Raises
    ------
    LimitError
        If an extent is too large.
    KernelLaunchError
        If an array that is read shares memory with one that is written.
    """
    if module.target.is_small and not small:
        raise LimitError(
            f"index space and arrays of kernel `{module.name}` must have extents below {SMALL_EXTENT}, which its "
            "target was told, got a larger one: compile it for a target without `is_small`",
            code="range-too-large",
        )
    if module.target.reads_apart and not are_reads_apart:
        raise KernelLaunchError(
            f"arrays that kernel `{module.name}` reads must share no memory with those that it writes, which its "
            "target was told, got some that do: compile it for a target without `reads_apart`",
            code="arguments-overlap",
        )
