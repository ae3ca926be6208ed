"""Random numbers in an offloaded function: drawn on the host, by the generators that the function has under Numba."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba

from kapi_numba_offload._numba_compat import numba_call
from kapi_numba_offload.analysis.kinds import GENERATOR
from kapi_numba_offload.analysis.random_functions import METHODS_OF_GENERATORS, random_name
from kapi_numba_offload.libraries.arrays import arrays_among, is_numpy_array, like
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.loops.host.host_copies import HostCopies, is_reachable
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.run.fallback import IN_PLACE, ON_COPIES, Refusal, fall_back
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.python_numbers import as_number
from kapi_numba_offload.run.timing import timed

__all__ = ["RandomCall", "random_draw"]


class RandomCall:
    """A call that draws random numbers; arrays of them are moved to the queue, as `numpy.zeros` makes an array there.

    - `draw`: draws, for arguments on the host.
    - `options`: those of the function that calls it.
    - `latest`: where the latest call ran, or why on the host.
    - `moved`: bytes that it moved.
    """

    def __init__(self, name: str, draw: Callable[..., Any], location: Any, options: OffloadOptions) -> None:
        self.name, self.location = name, location
        self.latest: str | None = None
        self.moved = 0
        self._draw, self._options = draw, options

    @timed
    def __call__(self, queue: Any, *args: Any, **keywords: Any) -> Any:
        """Draw: the queue first, or None where arrays stay on the host."""
        arrays = list(arrays_among((*args, *keywords.values())))
        own = [each for each in arrays if each.ndim]
        self.latest = "random numbers are drawn on the host"
        if own:
            how = IN_PLACE if all(map(is_reachable, own)) else ON_COPIES
            detail = f"{self.name} at {self.location}: {self.location.text}: random numbers are drawn on the host"
            refusal = Refusal("host-function", self.location.line, self.name.rpartition(".")[2], detail)
            self.latest = fall_back(self.location, refusal, self._options.may_fall_back, how)
        copies = HostCopies(own)
        try:
            result = self._draw(
                *(copies.on_host(_with_numbers(each)) for each in args),
                **{name: copies.on_host(_with_numbers(each)) for name, each in keywords.items()},
            )
        except Exception as error:
            error.add_note(f"{self.location}: {self.location.text}")
            raise
        self.moved = copies.size + sum(map(copies.copy_back, own))
        if own:
            return copies.on_device(result)
        if queue is None or not is_numpy_array(result):
            return result
        self.moved += result.nbytes
        return library_of_queue(queue).from_host(result, queue)


def _with_numbers(value: Any) -> Any:
    """A value with Python's numbers instead of 0-d arrays, also in a tuple."""
    return like(value, map(_with_numbers, value)) if isinstance(value, tuple) else as_number(value)


def random_draw(node: ast.Call, facts: FunctionInfo) -> tuple[str, Callable[..., Any]] | None:
    """The name of what a call draws with, and what draws in its place on the host; None for other calls."""
    function = facts.names.value(node.func)
    name = random_name(function)
    if name is not None:
        return name, partial(_draw_by_numba, function)
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in METHODS_OF_GENERATORS:
        return None
    method = node.func.attr
    return (method, partial(_draw_by_method, method)) if facts.kinds.kind(node.func.value) == GENERATOR else None


def _draw_by_numba(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call a function of `numpy.random` or `random` as an njit function does: it draws from Numba's generator."""
    return numba_call(_compiled(function, len(args), tuple(keywords)), *args, *keywords.values())


def _draw_by_method(method: str, generator: Any, *args: Any, **keywords: Any) -> Any:
    """Draw by a method of a `numpy.random.Generator`."""
    return getattr(generator, method)(*args, **keywords)


@cache
def _compiled(function: Callable[..., Any], count: int, words: tuple[str, ...]) -> Any:
    names = [f"a{number}" for number in range(count)]
    given = ", ".join([*names, *(f"{each}={each}" for each in words)])
    scope: dict[str, Any] = {"function": function}
    exec(f"def draw({', '.join([*names, *words])}):\n    return function({given})\n", scope)
    return numba.njit(scope["draw"])
