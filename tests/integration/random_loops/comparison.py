"""Run a program over dpnp's arrays and, undecorated, over NumPy's; and count what Python accesses."""

from __future__ import annotations

import linecache
import math
import traceback
import warnings
from typing import Any

import dpnp
import numba
import numpy as np

from kapi_numba_offload import OffloadFallbackWarning
from random_loops.counting import counting
from random_loops.writer import written

__all__ = ["problems", "run_many"]

LENGTHS = 700, 40_000
MOST = 500  # accesses of small parts of arrays by Python in a call
CALLS = 3


def _namespace(seed: int, source: str, *, is_compiled: bool) -> dict[str, Any]:
    name = f"<random loop {seed} {is_compiled}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    njit = numba.njit if is_compiled else lambda function: function
    names = {"np": np, "math": math, "njit": njit, "prange": numba.prange, "__name__": __name__}
    exec(compile(source, name, "exec"), names)
    return names


def _arguments(seed: int, function: Any) -> list[Any]:
    rng = np.random.default_rng(seed)
    n = LENGTHS[seed % 7 == 0]
    x, y, m = rng.random(n), rng.random(n), rng.random((n, 3))
    pair = (x, y) if seed % 4 == 0 else (rng.random(n), rng.random(n))
    return [x, y, m, rng.permutation(n), rng.integers(0, 10, n), pair, function, n, 4, 0.375]


def _on_device(values: list[Any]) -> list[Any]:
    made = {id(each): dpnp.asarray(each) for each in (*values[:5], *values[5])}
    return [*(made[id(each)] for each in values[:5]), tuple(made[id(each)] for each in values[5]), *values[6:]]


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_as_numpy(each) for each in value]
    return value.asnumpy() if isinstance(value, dpnp.ndarray) else value


def _outcome(function: Any, values: list[Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            result = function(*values)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:600]} ({where.filename}:{where.lineno})"
    return _as_numpy([result, values[:6]])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, str) or isinstance(other, str):
        return False
    return bool(np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-8, atol=1e-12, equal_nan=True))


def _compiles(names: dict[str, Any], seed: int) -> bool:
    """Whether Numba compiles the program for NumPy arrays."""
    try:
        numba.njit(names["program"])(*_arguments(seed, names["bent"]))
    except Exception:
        return False
    return True


def problems(seed: int) -> list[str]:
    """Problems of the program of a seed; none for one that is right and compiled by its first call."""
    source = written(seed)
    plain, compiled = _namespace(seed, source, is_compiled=False), _namespace(seed, source, is_compiled=True)
    function, found = numba.njit(compiled["program"]), []
    for number in range(CALLS):
        expected = _outcome(plain["program"], _arguments(28 * number + seed, plain["bent"]))
        if isinstance(expected, str):
            return [f"the judge fails: {expected}"]
        values = _on_device(_arguments(28 * number + seed, compiled["bent"]))
        with warnings.catch_warnings(record=True) as caught, counting() as counts:
            warnings.simplefilter("always")
            outcome = _outcome(function, values)
        warned = [str(each.message) for each in caught if issubclass(each.category, OffloadFallbackWarning)]
        if isinstance(outcome, str) and not _compiles(compiled, seed):
            return []  # no program of Numba's
        if not _same(outcome, expected):
            found.append(f"call {number}: {outcome if isinstance(outcome, str) else 'WRONG'}")
            if not isinstance(outcome, str):
                found.append(f"  found    {outcome}\n  expected {expected}")
        if counts.accesses > MOST and not warned:
            found.append(f"call {number}: {counts.accesses} accesses from Python in SILENCE")
        elif counts.accesses > MOST and _compiles(compiled, seed):
            reasons = "\n".join(dict.fromkeys(warned))
            found.append(f"call {number}: {counts.accesses} accesses from Python, a CRAWL\n{reasons}")
        if number and counts.compilations:
            found.append(f"call {number}: {counts.compilations} COMPILATIONS")
        if found:
            break
    return found


def run_many(first: int, count: int) -> int:
    """Run the programs of `count` seeds, and print those that fail; how many do."""
    failed = 0
    for seed in range(first, first + count):
        found = problems(seed)
        if found:
            failed += 1
            print(f"FAILS {seed}\n{written(seed)}\n" + "\n".join(found), flush=True)
    print(f"{failed} of {count} loops fail, seeds {first} to {first + count - 1}")
    return min(failed, 100)
