"""Repetition of the launches of a loop's iteration: one after the other, or by a graph that the driver replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import kapi_runtime
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_runtime.kernels.bound_launch import BoundLaunch
from kapi_runtime.platform import recorder
from kapi_sim.errors import KapiError

__all__ = ["bound_iteration", "repeat"]

_ITERATIONS = 4
"""Iterations in a graph: more of them are recorded for longer, and run as fast."""

_RECORDED_FROM = 512
"""Iterations that save what the recording takes, some milliseconds."""


def bound_iteration(launches: Sequence[BoundLaunch], queue: Any) -> Sequence[Callable[[], Any]]:
    """The calls that submit the launches of an iteration; of arrays of the host a single one, which does the work."""
    if not launches or not library_of_queue(queue).is_host:
        return launches
    graph = _recorded(launches, queue, 1)
    return [] if graph is None else [graph.run]


def repeat(launches: Sequence[Callable[[], Any]], queue: Any, count: int) -> None:
    """Submit the launches of an iteration so many times, in their order.

    - `launches`: those of one iteration, as `bound_iteration` gives them.
    - `queue`: that of their arrays.
    - `count`: iterations.
    """
    if count >= _RECORDED_FROM and library_of_queue(queue).replays_graphs and not recorder.is_watching:
        graph = _recorded(launches, queue, _ITERATIONS)
        if graph is not None:
            for _ in range(count // _ITERATIONS):
                graph()
            count %= _ITERATIONS
    for _ in range(count):
        for launch in launches:
            launch()


def _recorded(launches: Sequence[Callable[[], Any]], queue: Any, iterations: int) -> kapi_runtime.Graph | None:
    try:
        with kapi_runtime.graph(queue) as graph:
            for _ in range(iterations):
                for launch in launches:
                    launch()
    except KapiError:  # such as on a stream that cannot be captured; the launches themselves can be made
        return None
    return graph
