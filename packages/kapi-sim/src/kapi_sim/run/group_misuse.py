"""Errors of work-items that call barriers and group algorithms with a group, mask or scope that is not theirs."""

from __future__ import annotations

from kapi_sim.errors import CollectiveMismatchError, DeadlockError, KernelCompilationError, KernelLaunchError
from kapi_sim.items.convergence import ALGORITHM, Lanes, Yielded
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.source import SourceLocation
from kapi_sim.short_repr import short_repr

__all__ = ["endless", "missing_sub_group", "not_in_mask", "wrong_group", "wrong_scope"]


def wrong_group(yielded: Yielded) -> KernelLaunchError:
    """Return the error for a group that is not the work-item's own."""
    word = yielded[3].__name__ if yielded[2] == ALGORITHM else "group_barrier"
    return KernelLaunchError(
        f"{word} must be given the work-item's own group, got {short_repr(yielded[1])}: write nd_item.get_group()",
        code="foreign-group",
    )


def wrong_scope(value: object) -> KernelCompilationError:
    """Return the error for a fence scope that is no scope."""
    return KernelCompilationError(
        f"fence_scope of group_barrier() must be a member of MemoryScope itself, got {short_repr(value)}; "
        "write MemoryScope.WORK_GROUP",
        code="no-enum-member",
    )


def missing_sub_group(word: str, group: object) -> KernelLaunchError:
    """Return the error for an algorithm of sub-groups that is given another group."""
    return KernelLaunchError(
        f"{word} must be given a sub-group, got {short_repr(group)}: write nd_item.get_sub_group()", code="no-sub-group"
    )


def not_in_mask(clock: ScheduleState, lane: int, lanes: Lanes, yielded: Yielded) -> CollectiveMismatchError:
    """Return the error for a mask that does not name the work-item that gives it, of this id in its sub-group."""
    return CollectiveMismatchError(
        f"mask of {yielded[3].__name__} must name the work-item that calls it, got {lanes.mask:#x} from id {lane} of "
        f"its sub-group\n  {clock.describe()} at {SourceLocation(*yielded[0][:2])}\n"
        "  call it only where the mask has the work-item's bit",
        code="mask-without-caller",
    )


def endless(rounds: int) -> DeadlockError:
    """Return the error for a loop with a barrier that does not end."""
    return DeadlockError(
        f"a loop with a barrier does not end: the whole group passed it {rounds} times: make its condition "
        "change, or allow it more iterations with simulation(spin_limit=...)",
        code="endless-loop",
    )
