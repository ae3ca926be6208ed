"""Repetition of the launches of a loop's iteration: one after the other, or by a graph that the driver replays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import kapi_runtime
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_runtime.kernels.bound import BoundLaunch
from kapi_runtime.platform import recorder
from kapi_sim.errors import KapiError

__all__ = ["repeat"]

_ITERATIONS = 4
"""Iterations in a graph: more of them are recorded for longer, and run as fast."""

_RECORDED_FROM = 512
"""Iterations that save what the recording takes, some milliseconds."""


def repeat(launches: Sequence[BoundLaunch], queue: Any, count: int) -> None:
    """Submit the launches of an iteration so many times, in their order.

    Parameters
    ----------
    launches : sequence of BoundLaunch
        Those of one iteration.
    queue : Queue
        That of their arrays.
    count : int
        Iterations.
    """
    if count >= _RECORDED_FROM and library_of_queue(queue).replays_graphs and not recorder.is_watching:
        graph = _recorded(launches, queue)
        if graph is not None:
            for _ in range(count // _ITERATIONS):
                graph()
            count %= _ITERATIONS
    for _ in range(count):
        for launch in launches:
            launch()


def _recorded(launches: Sequence[BoundLaunch], queue: Any) -> kapi_runtime.Graph | None:
    try:
        with kapi_runtime.graph(queue) as graph:
            for _ in range(_ITERATIONS):
                for launch in launches:
                    launch()
    except KapiError:  # such as on a stream that cannot be captured; the launches themselves can be made
        return None
    return graph
