"""A function that Numba runs on the host for USM arrays: it has no source, or a loop of it cannot be outlined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba

from kapi_numba_offload._numba_compat import numba_call, types, with_numpy_arrays
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction
from kapi_numba_offload.libraries.arrays import any_share_memory, arrays_among
from kapi_numba_offload.loops.host.host_copies import HostCopies, is_reachable
from kapi_numba_offload.run.call_graph import OffloadedParts, run_recorded
from kapi_numba_offload.run.fallback import IN_PLACE, ON_COPIES, Refusal, fall_back
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.timing import timed

__all__ = ["HostFunction", "host_function"]


class HostFunction(OffloadedParts):
    """A function whose USM arrays are NumPy's for it: in their own memory where the host reaches that.

    - `parallel`: whether it was given `parallel=True`.
    - `refusal`: why it is no kernel; by default, that it has no source.
    - `otherwise`: what is called for arrays that share memory, if Numba's results would be others then.
    - `local_types`: the types of variables that it was given as the option `locals`.
    - `latest`: what the latest run warned of.
    - `moved`: bytes copied between host and device by it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: OffloadOptions,
        arguments: Sequence[types.Type],
        *,
        parallel: bool,
        refusal: Refusal | None = None,
        otherwise: Any = None,
        local_types: Mapping[str, types.Type] | None = None,
    ) -> None:
        super().__init__()
        self.function, self.arguments = function, tuple(arguments)
        self.latest: str | None = None
        self.moved = 0
        self._options, self._parallel, self._otherwise = options, parallel, otherwise
        self.location = StatementLocation.of_function(function)
        self.refusal = refusal or Refusal("no-source", self.location.line, function.__name__)
        self._local_types = dict(local_types or {})
        self._compiled = numba.njit(**{**options.for_numba, "parallel": parallel, "locals": dict(self._local_types)})(
            function
        )

    @property
    def reported(self) -> tuple[Any, ...]:
        """The entire function."""
        return (self,)

    def compiles(self) -> bool:
        """Compile the function for NumPy arrays instead of USM arrays; whether Numba can."""
        try:
            self._compiled.compile(tuple(map(with_numpy_arrays, self.arguments)))
        except Exception:  # some of what Numba cannot compile ends in an exception of its compiler
            return False
        return True

    def __call__(self, *args: Any) -> Any:
        """Run the function, with a warning."""
        if self._otherwise is not None and any_share_memory(args):
            return self._otherwise(*args)
        return run_recorded(self, self._run, args)

    @timed
    def _run(self, *args: Any) -> Any:
        how = IN_PLACE if all(map(is_reachable, arrays_among(args))) else ON_COPIES
        self.latest = fall_back(self.location, self.refusal, self._options.may_fall_back, how)
        copies = HostCopies(arrays_among(args))
        self.moved = copies.size
        try:
            result = numba_call(self._compiled, *(copies.on_host(each) for each in args))
        finally:  # what was stored before an exception stays stored
            for each in args:
                self.moved += copies.copy_back(each)
        return copies.on_device(result)

    def __reduce__(self) -> Any:
        return _rebuilt, (
            self.function, self._options, self.arguments, self._parallel, self.refusal, self._otherwise,
            self._local_types,
        )  # fmt: skip


def host_function(offloaded: OffloadedFunction, options: OffloadOptions) -> HostFunction | None:
    """The function as Numba compiles all of it, where a loop over elements runs in Python otherwise."""
    refusal = offloaded.partition.needs_host
    if refusal is None or not options.may_fall_back:
        return None
    arguments = offloaded.arguments
    if offloaded.partition.regions and not offloaded.is_alike_for_numba:
        return None  # an expression of arrays may have another dtype for Numba
    # NumPy reads all of an update in place before it stores, and Numba an element at a time.
    is_parallel = options.parallel and not offloaded.partition.races_by_fusion
    differs = is_parallel or offloaded.partition.updates_arrays
    otherwise = offloaded if differs and offloaded.partition.regions and offloaded.may_store else None
    host = HostFunction(
        offloaded.function, options, arguments, parallel=is_parallel, refusal=refusal, otherwise=otherwise
    )
    return host if host.compiles() else None


def _rebuilt(
    function: Callable[..., Any],
    options: OffloadOptions,
    arguments: Sequence[types.Type],
    parallel: bool,
    refusal: Refusal,
    otherwise: Any,
    local_types: Mapping[str, types.Type],
) -> HostFunction:
    return HostFunction(
        function, options, arguments, parallel=parallel, refusal=refusal, otherwise=otherwise, local_types=local_types
    )
