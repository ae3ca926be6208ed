"""The one function that launches kernels of this package, and the observers of launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import kapi_runtime
from kapi_numba_offload.libraries.installed import library_of
from kapi_sim.errors import KapiError
from kapi_sim.tracebacks import shorten

__all__ = ["is_observed", "launch", "launches"]

_listeners: list[Callable[[Any, Any, Sequence[Any]], None]] = []


def launch(kernel: kapi_runtime.Kernel, space: Any, args: Sequence[Any], *, checks: bool = False) -> None:
    """Submit a kernel, ordered with all other work on its arrays' queue, and do not wait unless it may fail.

    Over NumPy arrays it is done afterwards: the caller does the work, for nothing of the host's waits for a queue.

    - `checks`: whether it checks what it does: then this waits, and raises a work-item's failure.
    """
    own, host_event = None, None
    for each in args:
        own = library_of(each)
        if own is not None:
            break
    if own is not None and own.is_host:
        kapi_runtime.call_kernel(kernel, space, *args)
    else:
        try:  # as `call_kernel_async` does, after its checks
            host_event, _ = kernel.submit(space, (), tuple(args))
        except KapiError as error:
            shorten(error, is_reported=True)
            raise
    for listener in _listeners:
        listener(kernel, space, args)
    if checks and host_event is not None:
        host_event.wait()


def is_observed() -> bool:
    """Whether somebody collects launches."""
    return bool(_listeners)


@contextmanager
def launches() -> Iterator[list[tuple[Any, Any, Sequence[Any]]]]:
    """Collect the launches of this package, of any thread: kernel, index space and arguments of each."""
    seen: list[tuple[Any, Any, Sequence[Any]]] = []

    def listener(kernel: Any, space: Any, args: Sequence[Any]) -> None:
        seen.append((kernel, space, args))

    _listeners.append(listener)
    try:
        yield seen
    finally:
        _listeners.remove(listener)
