"""One call with the simulator's eye on its parallel loops."""

from __future__ import annotations

from typing import Any

from kapi_numba_offload.run.simulating import simulating

__all__ = ["check_races"]


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
        If two iterations meet in an element, and one of them stores to it.
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
