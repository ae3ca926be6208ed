"""numba-benchmark's functions over dpnp arrays: which are right, where they run, and how long they take.

numba-benchmark is not part of this repository: name a checkout of it (https://github.com/numba/numba-benchmark).

    python benchmarks/numba_benchmark.py PATH [--only laplace] [--timeout 60] [--json FILE]

Each of its modules runs in a process of its own, and each `time_` method of it once, to see which compiled functions it
calls with which arguments. Each of these calls is made again with dpnp arrays in place of NumPy's, and timed beside
the call over NumPy arrays. "Right" is agreement with that call, in what it returns and in what it stores. A function is
on the device if no part of it fell back to the host.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from programs import Times, agree, answers, arguments, fallbacks, finish, line_of

_ROUNDS = 5
_LEFT_OUT = ("cuda",)  # needs a GPU of NVIDIA's


def main() -> None:
    """Run the functions and print the table."""
    options = arguments(__doc__.splitlines()[0], "numba-benchmark", ()).parse_args()
    if options.worker:
        for row in run(options.checkout, options.worker[0]):
            print(json.dumps(row), flush=True)
        return
    rows = []
    names = options.only or [each.stem.removeprefix("bench_") for each in sorted(folder(options).glob("bench_*.py"))]
    for name in names:
        if name not in _LEFT_OUT:
            for row in answers(options, __file__, name, "", ()):
                rows.append({"program": name, "variant": "", **row})
                print(line_of(rows[-1]), flush=True)
    finish(options, rows)


def folder(options: argparse.Namespace) -> Path:
    found: Path = options.checkout / "benchmarks"
    return found


def run(checkout: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one module: one for each function and types of arguments that its benchmarks call."""
    import kapi_numba_offload  # noqa: F401  # it offloads what `numba.njit` compiles

    spec = importlib.util.spec_from_file_location(f"bench_{name}", checkout / "benchmarks" / f"bench_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, "setup", lambda: None)()
    seen = set()
    for benchmark, method in benchmarks(module):
        for function, args in calls(module, benchmark, method):
            key = (id(function), tuple(map(described, args)))
            if key not in seen:
                seen.add(key)
                yield {"program": f"{name}.{method}", "variant": "", **compared(function, args)}


def benchmarks(module: Any) -> Iterator[tuple[type, str]]:
    """The classes of benchmarks of a module, with the names of what they time."""
    for owner in list(vars(module).values()):
        if isinstance(owner, type) and owner.__module__ == module.__name__:
            yield from ((owner, each) for each in dir(owner) if each.startswith("time_"))


def calls(module: Any, benchmark: type, method: str) -> list[tuple[Any, tuple[Any, ...]]]:
    """Calls of a benchmark: compiled functions that no other one calls, and copies of their arguments."""
    import numba

    makers = (numba.njit, numba.vectorize, numba.guvectorize("(),()"))
    classes: list[Any] = [type(make(lambda x, y: None)) for make in makers]
    found: list[tuple[Any, tuple[Any, ...]]] = []
    own = {each: each.__call__ for each in classes}
    depth = 0

    def recorded(function: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal depth
        if not depth and not keywords:
            found.append((function, copy.deepcopy(args)))
        depth += 1
        try:
            return own[next(each for each in own if isinstance(function, each))](function, *args, **keywords)
        finally:
            depth -= 1

    made = benchmark()
    getattr(made, "setup", lambda: None)()
    for each in own:
        setattr(each, "__call__", recorded)  # noqa: B010  # for mypy, a method is not assigned
    try:
        getattr(made, method)()
    finally:
        for each, call in own.items():
            setattr(each, "__call__", call)  # noqa: B010
    return found


def described(value: Any) -> Any:
    """Key of an argument's type."""
    return (value.dtype.str, value.ndim, value.strides) if isinstance(value, np.ndarray) else type(value)


def compared(function: Any, given: tuple[Any, ...]) -> dict[str, Any]:
    """The row of one call, made over dpnp arrays and over NumPy's."""
    import dpnp

    if not any(isinstance(each, np.ndarray) for each in given):
        return {"state": "right", "where": "no arrays", "cause": ""}

    def call(on_device: bool) -> tuple[list[Any], Times]:
        args = [as_given(each, dpnp) if on_device else copied(each) for each in given]
        start = Times.now()
        returned = function(*args)
        for each in (*args, returned):
            if isinstance(each, dpnp.ndarray):
                each.sycl_queue.wait()
        taken = Times.now() - start
        results = [*(returned if isinstance(returned, tuple) else [returned]), *args]
        return [each.asnumpy() if isinstance(each, dpnp.ndarray) else each for each in results], taken

    expected, numba_first = call(False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found, first = call(True)
        except Exception as error:
            return {"state": "error", "where": "", "cause": f"{type(error).__name__}: {error}"[:150]}
    is_right = len(found) == len(expected) and all(map(same, found, expected))
    causes = fallbacks(warned)
    row = {
        "state": "right" if is_right else "wrong",
        "where": "host" if causes else "device",
        "cause": causes,
        **first.named("first"),
        **numba_first.named("numba_first"),
    }
    call(True)
    for _ in range(_ROUNDS):
        for on_device, whose in ((True, ""), (False, "numba")):
            for key, value in call(on_device)[1].named(whose).items():
                row[key] = min(row.get(key, value), value)
    return row


def as_given(value: Any, dpnp: Any) -> Any:
    """An argument with a dpnp array, of the same strides, for a NumPy array."""
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 2 and value.flags.f_contiguous and not value.flags.c_contiguous:
        return dpnp.asarray(np.ascontiguousarray(value.T)).T
    if value.ndim and not value.flags.c_contiguous:
        # every other row of an array, as views in benchmarks are
        base = dpnp.empty((2 * value.shape[0], *value.shape[1:]), dtype=value.dtype)
        base[::2] = dpnp.asarray(np.ascontiguousarray(value))
        return base[::2]
    return dpnp.asarray(value)


def copied(value: Any) -> Any:
    """A copy that lies in memory as the value does."""
    if not isinstance(value, np.ndarray) or value.flags.c_contiguous or value.flags.f_contiguous:
        return value.copy(order="K") if isinstance(value, np.ndarray) else value
    base = np.empty((2 * value.shape[0], *value.shape[1:]), dtype=value.dtype)
    base[::2] = value
    return base[::2]


def same(found: Any, expected: Any) -> bool:
    """Whether two results agree; what is neither number nor array is not compared."""
    if isinstance(expected, (np.ndarray, np.generic, int, float, complex)):
        return agree(found, expected)
    return True


if __name__ == "__main__":
    main()
