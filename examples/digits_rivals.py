"""The digits demo's distances computed by others: NumPy and Numba, and how all are timed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from tqdm import tqdm

__all__ = ["Timing", "interleaved", "rivals"]


@dataclass(frozen=True)
class Timing:
    """Measurements of one method to compute the distances.

    Attributes
    ----------
    first, median : float
        Time of its first call, compilation included, and the median of the calls after it, in seconds.
    result : numpy.ndarray, shape (n, n), float32
        What it computed last.
    """

    first: float
    median: float
    result: np.ndarray[Any, Any]


def by_matrix_product(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """|a|^2 + |b|^2 - 2ab: all the work in one matrix product, and in place after it.

    It cancels where points are close, so libraries do not do it.  Pixels are small whole numbers, so
    here it is exact.
    """
    squares = (x * x).sum(axis=1)
    distance = x @ x.T
    distance *= -2
    distance += squares[:, None]
    distance += squares
    distance = np.clip(distance, 0, None, out=distance)
    return np.sqrt(distance, out=distance)


def same_loops(x, distance):
    for i in numba.prange(x.shape[0]):
        for j in range(x.shape[0]):
            total = np.float32(0.0)
            for k in range(x.shape[1]):
                t = x[i, k] - x[j, k]
                total += t * t
            distance[i, j] = np.sqrt(total)


def rivals(digits: np.ndarray[Any, Any]) -> dict[str, Callable[[], np.ndarray[Any, Any]]]:
    """Return each rival by name: a call that computes all distances, and waits until they are there.

    Parameters
    ----------
    digits : numpy.ndarray, shape (n, 64), float32
        One digit a row; a layout that suits sums along rows.
    """
    out = np.empty((len(digits), len(digits)), np.float32)
    plain = numba.njit(parallel=True)(same_loops)
    reordering = numba.njit(parallel=True, fastmath=True)(same_loops)

    def compiled(function: Any) -> Callable[[], np.ndarray[Any, Any]]:
        def call() -> np.ndarray[Any, Any]:
            function(digits, out)
            return out

        return call

    return {
        "Numba parallel=True, the same loops": compiled(plain),
        "Numba parallel=True and fastmath": compiled(reordering),
        "NumPy, one matrix product (BLAS)": lambda: by_matrix_product(digits),
    }


def interleaved(candidates: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Timing]:
    """Time each candidate `rounds` times in turn, so that drift meets all alike, after two calls of warming up.

    Parameters
    ----------
    candidates : mapping of str to function
        What to time.
    rounds : int
        How many of the calls count.
    """
    first: dict[str, float] = {}
    results: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    with tqdm(total=len(candidates) * (rounds + 2), desc="   timing", leave=False, disable=None) as bar:
        for turn in range(-2, rounds):
            for name, call in candidates.items():
                start = time.perf_counter()
                result = call()
                elapsed = time.perf_counter() - start
                if turn == -2:
                    first[name] = elapsed
                    results[name] = result.copy()
                elif turn >= 0:
                    times[name].append(elapsed)
                bar.update()
    return {name: Timing(first[name], statistics.median(each), results[name]) for name, each in times.items()}
