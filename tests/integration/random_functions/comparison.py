"""Compare an offloaded program over arrays with the same Python over NumPy arrays.

``KAPI_ARRAYS`` names the arrays: NumPy's in the context of the CPU, which are the default, dpnp's or CuPy's.
"""

from __future__ import annotations

import copy
import faulthandler
import importlib
import math
import os
import traceback
import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

import kapi_numba_offload
import kapi_runtime
from random_functions.program import Program
from random_functions.writer import written

__all__ = ["differences", "run_many"]

LIBRARY = importlib.import_module(os.environ.get("KAPI_ARRAYS", "numpy"))
CALLS = 3  # of each program: the first makes its kernels, the others have other arrays that share memory in other ways


def _poison(program: Program) -> None:
    """Leave numbers that nobody computes in memory that the next results are likely to get."""
    for each in program.arguments.values():
        kept = [LIBRARY.full(max(1, math.prod(each.shape)), -77, dtype=each.dtype) for _ in range(4)]
        _numpy(kept[-1])  # they are there before they are gone
        del kept


def _numpy(array: Any) -> Any:
    return array if LIBRARY is np else LIBRARY.asnumpy(array)


def _plain(value: Any) -> Any:
    """A result as numbers and NumPy arrays."""
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, LIBRARY.ndarray):
        value = _numpy(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return value.copy()
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [array for each in value for array in _arrays(each)]
    return [value] if getattr(value, "ndim", 0) else []


def _outcome(function: Any, memory: list[Any], parts: Any, numbers: list[Any]) -> Any:
    """Outcome of a call: its results, their memory, and the arrays afterwards."""
    given: dict[Any, Any] = {}
    for block, part in parts:
        key = (block, tuple((each.start, each.stop, each.step) for each in part))
        if key not in given:
            given[key] = memory[block][part]
    arrays = [given[block, tuple((each.start, each.stop, each.step) for each in part)] for block, part in parts]
    try:
        with np.errstate(all="ignore"):
            result = function(*arrays, *copy.copy(numbers))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)
        return f"{type(error).__name__}: {str(error)[:300]} ({where[-1].filename}:{where[-1].lineno})", None, None
    values, left = _plain(result), _plain(memory)
    for number, array in enumerate(_arrays(result)):
        if getattr(getattr(array, "flags", None), "writeable", getattr(array.flags, "writable", True)):
            array += number + 1
    return values, left, _plain(memory)


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, np.ndarray):
        if not isinstance(found, np.ndarray) or (found.dtype, found.shape) != (expected.dtype, expected.shape):
            return False
        return bool(np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"))
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return found == expected or (found != found and expected != expected)
    return type(found) is type(expected) and found == expected


def differences(program: Program) -> list[str]:
    """Differences in the calls of a program; none for one that is right."""
    told = []
    plain, offloaded = program.function(is_compiled=False), program.function(is_compiled=True)
    for number in range(CALLS):
        memory, parts, numbers = program.call(number)
        device = [LIBRARY.array(each) for each in memory]
        expected = _outcome(plain, memory, parts, numbers)
        if isinstance(expected[0], str):
            return [f"the judge fails: {expected[0]}"]
        _poison(program)
        with kapi_runtime.device_context("cpu") if LIBRARY is np else nullcontext():
            found = _outcome(offloaded, device, parts, numbers)
        for what, one, other in zip(("result", "memory", "memory of results"), found, expected, strict=True):
            if not _same(one, other):
                told.append(f"call {number} with {parts}, {what}:\n  found    {one}\n  expected {other}")
                break
    return told


def run_many(first: int, count: int) -> int:
    """Compare the programs of `count` seeds, and print those that differ; how many do."""
    warnings.simplefilter("ignore")
    assert kapi_numba_offload
    faulthandler.enable()
    wrong = 0
    for seed in range(first, first + count):
        if LIBRARY is np:  # three of four as if their arrays were large
            os.environ["KAPI_OFFLOAD_SMALL"] = "0" if seed % 4 else "32768"
        program = written(seed)
        print(f"seed {seed}", flush=True)
        told = differences(program)
        if told:
            wrong += 1
            print(f"DIFFERS {seed}\n{program.source}\n" + "\n".join(told), flush=True)
    print(f"{wrong} of {count} functions differ, seeds {first} to {first + count - 1}")
    return min(wrong, 100)
