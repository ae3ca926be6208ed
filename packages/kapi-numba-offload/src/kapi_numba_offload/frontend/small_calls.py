"""Calls of njit functions in the context of the CPU that are too small for kernels: Numba computes them."""

from __future__ import annotations

from itertools import combinations, starmap
from typing import Any

from numpy import may_share_memory

from kapi_numba_offload._numba_compat import numba_call
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.frontend.context_arguments import host_arrays
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction, is_inside
from kapi_numba_offload.libraries.host_array import as_host_arrays
from kapi_numba_offload.run.call_graph import OffloadedParts, run_recorded
from kapi_numba_offload.run.timing import is_timed, timed

__all__ = ["SmallCalls", "by_dispatcher", "share_memory"]


class SmallCalls(OffloadedParts):
    """The calls of a function that are too small for kernels: Numba has all of it.

    - `function`: the function as it is offloaded, whose dtypes are Numba's.
    - `requires_disjoint`: whether it updates arrays in statements that Numba runs otherwise where they share memory.
    """

    def __init__(self, dispatcher: Any, function: OffloadedFunction) -> None:
        super().__init__()
        assert function.work is not None
        assert function.numba_version is not None
        self._work, self._version, self._own = function.work, function.numba_version, dispatcher
        self._compiled: dict[bool, Any] = {}
        self.function, self.arguments, self.library_name = function.function, function.arguments, function.library_name
        self.location = StatementLocation.of_function(dispatcher.py_func)
        self.latest: str | None = None
        self.moved = 0
        self.requires_disjoint = function.numba_version.requires_disjoint

    @property
    def reported(self) -> tuple[Any, ...]:
        """The entire function."""
        return (self,)

    def suits(self, values: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments is one of them."""
        return self.is_little(values) and not (self.requires_disjoint and share_memory(values))

    def is_little(self, values: tuple[Any, ...]) -> bool:
        """Whether arguments of these shapes are too little work for kernels."""
        return self._work.is_small(values)

    def dispatcher_for(self, values: tuple[Any, ...]) -> Any:
        """Dispatcher that has compiled the function for such arguments; None where Numba cannot, as kernels can."""
        is_short = self._work.is_short(values)
        if is_short not in self._compiled:
            made = self._version.dispatcher(self._own, is_short=is_short)
            try:
                made.compile(tuple(map(made.typeof_pyval, values)))
            except Exception:  # some of what Numba cannot compile ends in an exception of its compiler
                made = None
            self._compiled[is_short] = made
        return self._compiled[is_short]

    def __call__(self, dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Make a call by the dispatcher for it; reports tell of it."""
        if is_timed():
            return run_recorded(self, self._run, (dispatcher, args, keywords))
        return by_dispatcher(dispatcher, args, keywords)

    @timed
    def _run(self, dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.latest = "its arrays are small, and Numba computes where they are"
        return by_dispatcher(dispatcher, args, keywords)


def by_dispatcher(dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function as Numba has it; within an offloaded function, the result has its arrays."""
    result = numba_call(dispatcher, *args, **keywords)
    return as_host_arrays(result) if is_inside() else result


def share_memory(values: tuple[Any, ...]) -> bool:
    """Whether two of the arrays among arguments may share memory."""
    arrays = list(host_arrays(values))
    return any(starmap(may_share_memory, combinations(arrays, 2)))
