"""Goals of a check of a kernel: results, and how often memory is accessed; each says itself in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from kapi_sim.tracing.traces import Trace

__all__ = ["expect_at_most", "expect_equal"]

_VERBS = {"read": "reads {} memory", "write": "writes to {} memory", "atomic": "changes {} memory atomically"}


def expect_equal(name: str, got: Any, wanted: Any) -> None:
    """Ask for the right results.

    Parameters
    ----------
    name : str
        What the kernel calls the array.
    got, wanted : array_like
        Results and what they should be, of one shape.  Floats may differ by 1e-6 of their size.

    Raises
    ------
    AssertionError
        If elements differ; it names the first one and how many there are.

    Examples
    --------
    >>> expect_equal("c", [0, 2, 5], [0, 2, 4])
    Traceback (most recent call last):
    AssertionError: `c[2]` is 5, and should be 4; wrong elements: 1 of 3.
    """
    __tracebackhide__ = True  # pytest shows the test, not this
    got, wanted = np.asarray(got), np.asarray(wanted)
    # Where shapes differ, NumPy's own error says so.
    wrong = np.argwhere(~np.isclose(got, wanted, rtol=1e-6, atol=1e-9))
    if len(wrong):
        index = tuple(int(i) for i in wrong[0])
        spelled = f"{name}[{', '.join(map(str, index))}]" if index else name
        raise AssertionError(
            f"`{spelled}` is {got[index]}, and should be {wanted[index]}; wrong elements: {len(wrong)} of {got.size}."
        )


def expect_at_most(trace: Trace, most: int, kind: str, space: str = "global", *, together: bool = False) -> None:
    """Ask for few accesses to memory in the last launch of a trace.

    Parameters
    ----------
    trace : Trace
        Recorded the launch.
    most : int
        How many accesses are allowed.
    kind : str
        ``"read"``, ``"write"`` or ``"atomic"``.
    space : str
        ``"global"``, ``"local"`` or ``"private"``.
    together : bool
        Whether `most` is for all work-items together; if not, for each one.

    Raises
    ------
    AssertionError
        If there are more; it names the work-item and the lines.
    KernelLaunchError
        If `kind` or `space` is another one, nothing was launched, or events were left out.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def square(item: kapi.Item, a, b):
    ...     i = item.get_id(0)
    ...     b[i] = a[i] * a[i]
    >>> with kapi.trace() as t:
    ...     square[4](np.arange(4), np.zeros(4))
    >>> expect_at_most(t, 2, "read")
    >>> expect_at_most(t, 1, "read")
    Traceback (most recent call last):
    AssertionError: work-item global (0,) reads global memory 2 times, and at most 1 is asked for: line 4.
    """
    __tracebackhide__ = True
    counts = trace.accesses(kind, space)
    launch = trace.launches[-1]
    worst = max(range(len(counts)), key=counts.__getitem__, default=0)
    count = sum(counts) if together else max(counts, default=0)
    if count <= most:
        return
    lines = sorted(
        {
            launch.sites[event.site][2]
            for event in launch.events
            if event.kind == kind and launch.arrays[event.array].space == space and (together or event.item == worst)
        }
    )
    who = "the launch" if together else f"work-item {launch.describe(worst).removeprefix('work-item ')}"
    where = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}"
    what = _VERBS[kind].format(space)
    raise AssertionError(f"{who} {what} {count} times, and at most {most} is asked for: {where}.")
