"""Seeing what kernels do: every access, barrier and line, by work-item.

What draws and counts is imported when a trace is looked at, so that a program that traces nothing does not
pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr
from kapi_sim.tracing.switch import active_trace

if TYPE_CHECKING:
    from kapi_sim.tracing.traces import Trace

__all__ = ["require_limit", "trace"]


@contextmanager
def trace(limit: int = 100_000) -> Iterator[Trace]:
    """Record the accesses of kernels that are launched inside a ``with`` block, in their first order.

    A trace inside another one hands its launches on when it ends.

    Parameters
    ----------
    limit : int
        Most events that are kept, about 200 bytes each.  What comes later is counted, and reported as left out.

    Yields
    ------
    Trace
        Filled as kernels run: print it for a table of lines, ``t.save("page.html")`` for a page to step
        through, ``t.save("figure.svg")`` for a figure.  A notebook shows it as the page.

    Raises
    ------
    KernelLaunchError
        If `limit` is no positive integer.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def shift(item: kapi.Item, a, b):
    ...     i = item.get_id(0)
    ...     b[i] = a[i + 1]
    >>> with kapi.trace() as t:
    ...     kapi.call_kernel(shift, kapi.Range(4), np.arange(5), np.zeros(4))
    >>> [(event.item, t.launches[0].arrays[event.array].name, event.element)
    ...  for event in t.launches[0].events if event.kind == "read"]
    [(0, 'a', 1), (1, 'a', 2), (2, 'a', 3), (3, 'a', 4)]
    """
    require_limit(limit)
    from kapi_sim.tracing.traces import Trace

    made, outer = Trace(limit), active_trace.get()
    token = active_trace.set(made)
    try:
        yield made
    finally:
        active_trace.reset(token)
        if outer is not None:
            outer.launches += made.launches


def require_limit(limit: object) -> None:
    """Raise KernelLaunchError unless `limit` can be the most events that a trace keeps."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise KernelLaunchError(f"limit must be a positive integer, got {short_repr(limit)}", code="trace-limit")
