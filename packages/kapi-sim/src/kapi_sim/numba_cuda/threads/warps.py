"""Exchange among the threads of a warp: shuffles, votes, matches and masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.items.convergence import ACTIVE, ALGORITHM, Contributions, DialectIntrinsic, Lanes, Yielded
from kapi_sim.numba_cuda.threads.running import running
from kapi_sim.numba_cuda.threads.synchronisation import CudaConverging, mask_of, require_defined

__all__ = [
    "LaneId",
    "activemask",
    "all_sync",
    "any_sync",
    "ballot_sync",
    "eq_sync",
    "lanemask_lt",
    "match_all_sync",
    "match_any_sync",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
]

WARP = 32


class Shuffle(CudaConverging):
    """``cuda.shfl_sync`` and its kin.

    Parameters
    ----------
    name : str
        As programs call it.
    source : callable
        Takes a lane and the argument, and returns the lane that it reads.
    keeps : bool
        Whether a thread whose source lies outside of the warp gets its own value back.
    """

    def __init__(self, name: str, source: Callable[[int, int], int], keeps: bool) -> None:
        super().__init__(name)
        self._source = source
        self._keeps = keeps

    def arrive(self, site: tuple[Any, ...], mask: Any, value: Any, lane: Any, /) -> Yielded:
        if isinstance(lane, bool) or not hasattr(lane, "__index__"):
            raise KernelLaunchError(
                f"third argument of cuda.{self.__name__} must be an integer, got {lane!r}", code="group-integer"
            )
        return site, Lanes("warp", mask_of(mask, self.__name__)), ALGORITHM, self, value, int(lane)

    def outcome(self, given: Contributions) -> list[Any]:
        values = dict(zip(given.members, given.values, strict=True))
        results = []
        for i, ((lane, own), argument) in enumerate(zip(values.items(), given.arguments, strict=True)):
            source = self._source(lane, argument)
            if self._keeps and not 0 <= source < WARP:
                results.append(own)
            elif source in values:
                results.append(values[source])
            else:
                results.append(given.undefined(i, f"lane {source} that takes part"))
        return results


class Vote(CudaConverging):
    """``cuda.all_sync`` and its kin, and ``cuda.match_any_sync``: of lanes and values to what each gets.

    Parameters
    ----------
    name : str
        As programs call it.
    combine : callable
        Takes the lanes and their values, and returns each one's result.
    """

    def __init__(self, name: str, combine: Callable[[Sequence[int], Sequence[Any]], list[Any]]) -> None:
        super().__init__(name)
        self._combine = combine

    def arrive(self, site: tuple[Any, ...], mask: Any, value: Any, /) -> Yielded:
        require_defined(value, self.__name__)
        return site, Lanes("warp", mask_of(mask, self.__name__)), ALGORITHM, self, value, None

    def outcome(self, given: Contributions) -> list[Any]:
        return self._combine(given.members, given.values)


class ActiveMask(CudaConverging):
    """``cuda.activemask``."""

    def arrive(self, site: tuple[Any, ...]) -> Yielded:
        return site, ACTIVE, ALGORITHM, self, None, None

    def outcome(self, given: Contributions) -> list[Any]:
        return [_bits(given.members)] * len(given.members)


class LaneMask(DialectIntrinsic):
    """``cuda.lanemask_lt``."""

    def __call__(self) -> int:
        """Return a bit for each lane below the thread's own."""
        return (1 << running(self.__name__).lane) - 1


def _bits(lanes: Sequence[int]) -> int:
    return sum(1 << lane for lane in lanes)


def _for_all(function: Callable[[list[bool]], Any]) -> Callable[[Sequence[int], Sequence[Any]], list[Any]]:
    def combine(members: Sequence[int], values: Sequence[Any]) -> list[Any]:
        return [function([bool(value) for value in values])] * len(members)

    return combine


def _ballot(members: Sequence[int], values: Sequence[Any]) -> list[Any]:
    return [_bits([lane for lane, value in zip(members, values, strict=True) if value])] * len(members)


def _match_any(members: Sequence[int], values: Sequence[Any]) -> list[Any]:
    return [_bits([lane for lane, other in zip(members, values, strict=True) if other == value]) for value in values]


def _match_all(members: Sequence[int], values: Sequence[Any]) -> list[Any]:
    is_one = all(value == values[0] for value in values)
    return [(_bits(members) if is_one else 0, is_one)] * len(members)


shfl_sync = Shuffle("shfl_sync", lambda lane, source: source % WARP, False)
shfl_up_sync = Shuffle("shfl_up_sync", lambda lane, delta: lane - delta, True)
shfl_down_sync = Shuffle("shfl_down_sync", lambda lane, delta: lane + delta, True)
shfl_xor_sync = Shuffle("shfl_xor_sync", lambda lane, mask: lane ^ mask, True)
all_sync = Vote("all_sync", _for_all(all))
any_sync = Vote("any_sync", _for_all(any))
eq_sync = Vote("eq_sync", _for_all(lambda each: len(set(each)) == 1))
ballot_sync = Vote("ballot_sync", _ballot)
match_any_sync = Vote("match_any_sync", _match_any)
match_all_sync = Vote("match_all_sync", _match_all)
activemask = ActiveMask("activemask")
lanemask_lt = LaneMask("lanemask_lt")


class LaneId:
    """``cuda.laneid`` where no kernel runs: it has no value there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<laneid>"

    def __index__(self) -> int:
        return running("laneid").lane

    def __int__(self) -> int:
        return running("laneid").lane

    def __eq__(self, other: object) -> bool:
        return running("laneid").lane == other

    __hash__ = None  # type: ignore[assignment]
