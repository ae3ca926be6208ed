"""Simulation of parallel loops before they run on the device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["check_races", "is_simulating", "simulating"]

_state = threading.local()


@contextmanager
def simulating() -> Iterator[None]:
    """Let the parallel loops that this thread runs be simulated."""
    _state.depth = getattr(_state, "depth", 0) + 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_simulating() -> bool:
    """Whether this thread's parallel loops are simulated."""
    return getattr(_state, "depth", 0) > 0


def check_races(function: Any, /, *args: Any, **keywords: Any) -> Any:
    """Call a function, and let the simulator run each of its `prange` loops first, over copies of its arrays.

    The simulator runs iterations in several orders and compares what each reads and writes. It takes some microseconds
    for each element, so give it small arrays. Loops that run on the host, which a warning tells, are not looked at.

    Parameters
    ----------
    function : Dispatcher
        What `numba.njit` or `offload` made.
    *args, **keywords
        Its arguments.

    Returns
    -------
    object
        What the function returns.

    Raises
    ------
    kapi_sim.DataRaceError
        If two iterations access one element, and one of them stores to it.
    kapi_sim.KapiError
        What else the simulator finds in a loop, such as an index out of bounds.

    Examples
    --------
    >>> import dpnp, numba
    >>> from kapi_numba_offload import check_races
    >>> @numba.njit(parallel=True)
    ... def shifted(a):
    ...     for i in numba.prange(1, a.size):
    ...         a[i] = a[i - 1]
    >>> check_races(shifted, dpnp.arange(4))
    Traceback (most recent call last):
    kapi_sim.errors.DataRaceError: ...
    """
    with simulating():
        return function(*args, **keywords)
