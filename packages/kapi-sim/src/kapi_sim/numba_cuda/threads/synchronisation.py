"""Synchronization of threads: ``syncthreads`` and its kin, ``syncwarp``; and fences."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

from kapi_sim.errors import KernelLaunchError
from kapi_sim.items.convergence import ALGORITHM, GROUP, Contributions, Converging, DialectIntrinsic, Lanes, Yielded
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.intrinsics.memory import MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.outside import carry_out
from kapi_sim.language.source import line_of
from kapi_sim.numba_cuda.threads.running import running

__all__ = [
    "CudaConverging",
    "mask_of",
    "require_defined",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
]

FULL_MASK = 0xFFFFFFFF


def mask_of(mask: Any, word: str) -> int:
    """Return a mask of lanes as an integer of 32 bits."""
    if isinstance(mask, bool) or not hasattr(mask, "__index__"):
        raise KernelLaunchError(f"mask of cuda.{word} must be an integer, got {mask!r}", code="group-integer")
    return int(mask) & FULL_MASK


def require_defined(value: Any, word: str) -> None:
    """Raise if a value that a thread gives to a word is not defined."""
    if value.__class__ is Undefined:
        raise value.fail(f"as the value that cuda.{word} is given")


class CudaConverging(Converging):
    """A word at which threads converge; called by a name that can be followed, the rewriter has it yield."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Say how it is called."""
        running(self.__name__)
        return carry_out(self, *args, *named.values())

    def outcome(self, given: Contributions) -> list[Any]:
        return [None] * len(given.members)


class SyncThreads(CudaConverging):
    """``cuda.syncthreads``."""

    is_barrier: ClassVar[bool] = True

    def arrive(self, site: tuple[Any, ...], *args: Any, **named: Any) -> Yielded:
        _no_arguments(self, args, named)
        return site, GROUP, int(MemoryScope.WORK_GROUP), self


def _no_arguments(word: DialectIntrinsic, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    if args or named:
        raise KernelLaunchError(
            f"cuda.{word.__name__} must be called without arguments, got {(*args, *named)}", code="call-arguments"
        )


class SyncThreadsWith(CudaConverging):
    """``cuda.syncthreads_count`` and its kin.

    Parameters
    ----------
    name : str
        As programs call it.
    combine : callable
        Takes whether each thread's predicate holds, and returns what all get.
    """

    is_barrier: ClassVar[bool] = True

    def __init__(self, name: str, combine: Callable[[list[bool]], int]) -> None:
        super().__init__(name)
        self._combine = combine

    def arrive(self, site: tuple[Any, ...], predicate: Any, /) -> Yielded:
        require_defined(predicate, self.__name__)
        return site, GROUP, ALGORITHM, self, predicate, None

    def outcome(self, given: Contributions) -> list[Any]:
        return [self._combine(list(map(bool, given.values)))] * len(given.members)


class SyncWarp(CudaConverging):
    """``cuda.syncwarp``."""

    orders_memory: ClassVar[bool] = True

    def arrive(self, site: tuple[Any, ...], mask: Any = FULL_MASK) -> Yielded:
        return site, Lanes("warp", mask_of(mask, "syncwarp")), int(MemoryScope.SUB_GROUP), self


class ThreadFence(DialectIntrinsic):
    """``cuda.threadfence`` and its kin."""

    orders_memory: ClassVar[bool] = True

    def __init__(self, name: str, scope: MemoryScope) -> None:
        super().__init__(name)
        self._scope = scope

    def __call__(self) -> None:
        """Order the thread's accesses before it and after it."""
        bound = running(self.__name__).bound
        if bound is not None and bound.ordering is not None:
            frame = sys._getframe(1)
            bound.ordering.fence(MemoryOrder.SEQ_CST, self._scope, line_of(frame.f_code, frame.f_lasti))


syncthreads = SyncThreads("syncthreads")
syncthreads_count = SyncThreadsWith("syncthreads_count", sum)
syncthreads_and = SyncThreadsWith("syncthreads_and", lambda each: int(all(each)))
syncthreads_or = SyncThreadsWith("syncthreads_or", lambda each: int(any(each)))
syncwarp = SyncWarp("syncwarp")
threadfence = ThreadFence("threadfence", MemoryScope.DEVICE)
threadfence_block = ThreadFence("threadfence_block", MemoryScope.WORK_GROUP)
threadfence_system = ThreadFence("threadfence_system", MemoryScope.SYSTEM)
