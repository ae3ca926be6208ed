"""Which of two ways to run a loop takes less time: on the device, or as Numba compiles it; both are tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from kapi_sim.finishing import finish

__all__ = ["Trials"]

_PATIENCE = 0.01  # seconds that calls may take on the device before Numba compiles the loop
_ROUNDS = 3  # calls of each way at least: some hold a compilation, and other programs disturb some
_REMEMBERED = 64  # kinds of calls; beyond, all are forgotten


@dataclass(slots=True)
class _Trial:
    """What calls of one kind took, in seconds: all of them on the device, and the shortest of each way."""

    spent: float = 0.0
    on_device: float = float("inf")
    on_host: float = float("inf")
    device_calls: int = 0
    host_calls: int = 0
    compiles: bool | None = None


class Trials:
    """The calls of a loop, by what their time depends on."""

    def __init__(self) -> None:
        self._trials: dict[Hashable, _Trial] = {}

    def is_host_next(self, key: Hashable, compiles: Callable[[], bool]) -> bool:
        """Whether the next call of a kind is to be Numba's.

        Parameters
        ----------
        key : hashable
            The kind.
        compiles : callable
            Compiles the loop, and says whether that can be done. It is asked once.
        """
        trial = self._trials.get(key)
        if trial is None or trial.device_calls < _ROUNDS or trial.spent < _PATIENCE:
            return False
        if trial.compiles is None:
            trial.compiles = compiles()
        return trial.compiles and (trial.host_calls < _ROUNDS or trial.on_host < trial.on_device)

    def begun(self, key: Hashable, queue: Any) -> tuple[_Trial, Any, float] | None:
        """Begin a call on the device: what `ended` is given; None where nothing is left to find out."""
        if len(self._trials) >= _REMEMBERED and key not in self._trials:
            self._trials.clear()
        trial = self._trials.setdefault(key, _Trial())
        if trial.compiles is not None:
            return None
        finish(queue)
        return trial, queue, time.perf_counter()

    @staticmethod
    def ended(begun: tuple[_Trial, Any, float]) -> None:
        """End a call on the device."""
        trial, queue, start = begun
        finish(queue)
        taken = time.perf_counter() - start
        trial.device_calls += 1
        trial.spent += taken
        trial.on_device = min(trial.on_device, taken)

    def on_host(self, key: Hashable, queue: Any, run: Callable[[], Any]) -> Any:
        """Run a call on the host, and note how long it takes."""
        trial = self._trials.get(key)
        if trial is None or trial.host_calls >= _ROUNDS:
            return run()
        finish(queue)
        start = time.perf_counter()
        result = run()
        trial.host_calls += 1
        trial.on_host = min(trial.on_host, time.perf_counter() - start)
        return result
