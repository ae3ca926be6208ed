"""Offloaded njit functions over CuPy's arrays against CuPy itself, on an NVIDIA GPU; run alone."""

from __future__ import annotations

import argparse
import statistics
import time
import types
from collections.abc import Callable
from typing import Any

import cupy
import numba
import numpy as np

import _kapi_numba_hooks

__all__ = ["CASES", "main"]


def three_statements(x, y):
    t = np.exp(-x * x) + y
    u = np.sqrt(t * t + 1) / t
    return u * np.sin(t) - y * 0.5


def sum_of_products(x, y):
    return np.sum(x * y)


def column_sums(x, y):
    return (x.reshape(-1, 5000) * 2).sum(axis=0)


def selection(x, y):
    return np.where(x > 0.5, x, y)


def mask(x, y):
    return x[x > 0.5]


def position_of_extremum(x, y):
    return np.argmax(x)


def softmax(x, y):
    rows = x.reshape(-1, 5000)
    weights = np.exp(rows - np.max(rows, axis=1).reshape(-1, 1))
    return weights / np.sum(weights, axis=1).reshape(-1, 1)


CASES = (three_statements, sum_of_products, column_sums, selection, mask, position_of_extremum, softmax)


def as_number(value: Any) -> Any:
    """CuPy's answer as the offloaded function gives it: a number is on the host."""
    return value.item() if isinstance(value, cupy.ndarray) and value.ndim == 0 else value


def milliseconds(functions: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Median time of each, run in turn."""
    taken: list[list[float]] = [[] for _ in functions]
    for number in range(rounds + 2):
        for function, own in zip(functions, taken, strict=True):
            start = time.perf_counter()
            function()
            cupy.cuda.Device().synchronize()
            if number > 1:
                own.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(each) for each in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    _kapi_numba_hooks.install()  # a tree of sources has no entry points
    for size in (options.size, 5000):
        x, y = cupy.random.rand(size), cupy.random.rand(size)
        print(f"{size} float64 elements; ms of a call, CuPy / offloaded")
        for function in CASES:
            offloaded = numba.njit(function)
            own = types.FunctionType(function.__code__, {**globals(), "np": cupy})
            expected, found = cupy.asnumpy(own(x, y)), offloaded(x, y)
            np.testing.assert_allclose(found.get() if isinstance(found, cupy.ndarray) else found, expected, rtol=1e-9)
            calls = [lambda f=own, given=(x, y): as_number(f(*given)), lambda f=offloaded, given=(x, y): f(*given)]
            first, second = milliseconds(calls, options.rounds)
            print(f"  {function.__name__:<22} {first:8.3f} {second:8.3f} {first / second:6.2f}")


if __name__ == "__main__":
    main()
