"""The time of each part of a function, taken while `explain` runs it: then each part waits for its own work."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from kapi_numba_offload.libraries.arrays import is_device_array, queue_of
from kapi_numba_offload.libraries.installed import library_names
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_sim.forks import reinit_after_fork
from kapi_types.usm.queue_waits import finish

__all__ = ["PartWork", "is_timed", "outcome_of", "timed", "timing"]

_Method = TypeVar("_Method", bound=Callable[..., Any])

_lock = reinit_after_fork(threading.Lock())


class PartWork(NamedTuple):
    """The work of a part in all of its runs.

    - `moved`: bytes that they copied between host and device.
    """

    runs: int = 0
    seconds: float = 0.0
    moved: int = 0


class _State(threading.local):
    """The work of parts by their identities, None where no times are taken."""

    times: dict[int, PartWork] | None = None


_state = _State()


def outcome_of(part: Any) -> tuple[str, str, int]:
    """Outcome of the latest run of a part: where it was, the reason where that was no kernel, and the bytes moved.

    The former is "kernel", "host", "numpy", or the name of an array library; empty for an expression that the array
    library of its function computed.
    """
    latest = part.latest
    if isinstance(latest, KernelLaunch):
        return "kernel", "", latest.moved
    if hasattr(part, "statements"):
        parts = getattr(part, "ran_parts", ())
        if parts and all(outcome_of(each)[0] == "kernel" for each in parts):
            return "kernel", "", 0
        return "", str(latest or ""), 0
    if latest in ("kernel", "numpy", *library_names()):
        return latest, "", 0
    return "host", str(latest or ""), getattr(getattr(part, "host", part), "moved", 0)


class _Timed:
    """A method of parts: its class has the method itself, and the one that takes its time while times are taken."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __set_name__(self, owner: type, name: str) -> None:
        own = _Methods(owner, name, self._method, _measured(self._method))
        with _lock:
            _methods.append(own)
            own.put(is_measured=bool(_timing))


class _Methods(NamedTuple):
    owner: type
    name: str
    plain: Callable[..., Any]
    measured: Callable[..., Any]

    def put(self, *, is_measured: bool) -> None:
        setattr(self.owner, self.name, self.measured if is_measured else self.plain)


_methods: list[_Methods] = []
_timing: list[dict[int, PartWork]] = []
"""The times that all threads take at present."""


@contextmanager
def timing() -> Iterator[dict[int, PartWork]]:
    """Take the times of what this thread runs: the work of each part, by its identity."""
    times: dict[int, PartWork] = {}
    _state.times = times
    with _lock:
        _timing.append(times)
        for each in _methods:
            each.put(is_measured=True)
    try:
        yield times
    finally:
        _state.times = None
        with _lock:
            _timing.pop()
            for each in _methods:
                each.put(is_measured=bool(_timing))


def is_timed() -> bool:
    """Whether the times of what this thread runs are taken."""
    return _state.times is not None


def timed(method: _Method) -> _Method:
    """Let calls of a part's method be timed; where no times are taken, they cost nothing more."""
    return cast(_Method, _Timed(method))


def _measured(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(part: Any, *args: Any, **keywords: Any) -> Any:
        times = _state.times
        if times is None:
            return method(part, *args, **keywords)  # another thread's are taken
        _wait(args)  # for what came before
        start = time.perf_counter()
        result = method(part, *args, **keywords)
        _wait((*args, result))
        seconds = time.perf_counter() - start
        before = times.get(id(part), PartWork())
        times[id(part)] = PartWork(before.runs + 1, before.seconds + seconds, before.moved + outcome_of(part)[2])
        return result

    return call


def _wait(values: Sequence[Any]) -> None:
    for each in values:
        if is_device_array(each):
            finish(queue_of(each))
        elif isinstance(each, (tuple, list)):
            _wait(each)
