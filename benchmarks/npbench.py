"""NPBench's Numba programs over arrays of dpnp, CuPy or NumPy: which are right, where they run, and how long they take.

NPBench is not part of this repository: name a checkout of it (https://github.com/spcl/npbench).

    python benchmarks/npbench.py PATH [--only floyd_warshall] [--preset S] [--timeout 60] [--json FILE] \
        [--peers numba dpnp cupy]

``KAPI_ARRAYS=numpy`` runs them over NumPy's arrays in the context of the CPU, ``KAPI_ARRAYS=cupy`` over CuPy's, whose
peer is NPBench's own program for CuPy. Programs without arrays among their arguments run in a context of the
device. Each variant of each program runs in a process of its own. "Right" is
agreement with NPBench's NumPy program. A program is on the device if
no part of it fell back to the host.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import itertools
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from programs import Times, agree, answer, arguments, fallbacks, finish, line_of

import kapi_runtime

VARIANTS = ("npr", "np", "n")
PEERS = ("numba", "dpnp", "cupy")
ARRAYS = os.environ.get("KAPI_ARRAYS", "dpnp")
_DEVICES = {"numpy": "cpu", "cupy": "cuda", "dpnp": "opencl:cpu"}
_ROUNDS = 5
_FAR_BELOW = 0.2  # of a peer's speed: these are listed
_SHORTEST = 1e-6  # s
_SECONDS = 20  # of rounds, after which no further one begins


def main() -> None:
    """Run the programs and print the table."""
    parser = arguments(__doc__.splitlines()[0], "NPBench", VARIANTS)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=(), help="take their times, too")
    options = parser.parse_args()
    if options.worker:
        for row in run(options.checkout, *options.worker, options.preset, options.peers):
            print(json.dumps(row), flush=True)
        return
    rows = []
    for name in options.only or sorted(each.stem for each in (options.checkout / "bench_info").glob("*.json")):
        for variant in (options.variant,) if options.variant else VARIANTS:
            row = in_process(options, name, variant)
            if row is not None:
                rows.append(row)
                print(line_of(row), flush=True)
    finish(options, rows)
    print(times(rows))


def module_of(checkout: Path, name: str, suffix: str) -> tuple[dict[str, Any], Path]:
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text("utf-8"))["benchmark"]
    folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
    return info, folder / f"{info['module_name']}_{suffix}.py"


def in_process(options: argparse.Namespace, name: str, variant: str) -> dict[str, Any] | None:
    """The row of one variant; None if the program has none."""
    if not module_of(options.checkout, name, f"numba_{variant}")[1].exists():
        return None
    words = ["--peers", *options.peers] if options.peers else []
    return {"program": name, "variant": variant, **answer(options, __file__, name, variant, words)}


def run(checkout: Path, name: str, variant: str, preset: str, peers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Run one variant over device arrays, and the NumPy program: the row, and again when each peer has been timed.

    The peers are Numba over NumPy arrays, with the same function; dpnp with the NumPy program; and NPBench's program
    for CuPy. The times are the least of a few rounds, in each of which all run once: what else the machine does then
    meets all alike. Those that end with `_cpu_s` are of the processors, of all threads together.
    """
    import _kapi_numba_hooks

    library = importlib.import_module(ARRAYS)
    _kapi_numba_hooks.install()  # a tree of sources has no entry points

    info, data, reference = program(checkout, name, preset)
    function = variant_of(checkout, name, variant)

    def call(function: Any, on_device: bool) -> tuple[list[Any], list[Any], Times]:
        values = {each: copy.deepcopy(data[each]) for each in info["input_args"]}
        if on_device:
            arrays = {each: library.asarray(values[each]) for each in info["array_args"] if each in values}
            values.update(arrays)
        # A program that is given no arrays makes them in a context alone.
        is_in_context = on_device and (ARRAYS == "numpy" or not info["array_args"])
        start = Times.now()
        with kapi_runtime.device_context(_DEVICES[ARRAYS]) if is_in_context else nullcontext():
            returned = function(*values.values())
        for each in values.values():
            if isinstance(each, library.ndarray):
                wait(each)
        taken = Times.now() - start
        results = list(returned) if isinstance(returned, (tuple, list)) else [] if returned is None else [returned]
        return results, [values[each] for each in info["output_args"] if each in values], taken

    expected, expected_outputs, by_numpy = call(reference, False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, outputs, first = call(function, True)
        call(function, True)
        taken = call(function, True)[2]
    # Some programs return what they change in place, and some of their variants do not.
    if outputs and bool(found) != bool(expected):
        found, expected = [], []
    host = [numpy_of(each, library) if isinstance(each, library.ndarray) else each for each in [*found, *outputs]]
    expected += expected_outputs
    is_right = len(host) == len(expected) and all(map(agree, host, expected))
    causes = fallbacks(warned)
    row = {
        "state": "right" if is_right else "wrong",
        "where": "host" if causes else "device",
        "cause": causes,
        **first.named("first"),
        **taken.named(""),
        **by_numpy.named("numpy"),
    }
    yield row
    runs: dict[str, tuple[Any, bool]] = {"": (function, True), "numpy": (reference, False)}
    if "numba" in peers:
        runs["numba"] = function, False
        row.update(call(function, False)[2].named("numba_first"))
        yield row
    if "dpnp" in peers:
        runs["dpnp"] = with_dpnp(reference, library), True
    if "cupy" in peers:
        own_module = importlib.import_module(f"{path_of(info)}_cupy")
        runs["cupy"] = getattr(own_module, info["func_name"]), True
    begin = time.perf_counter()
    for _ in range(_ROUNDS):
        if time.perf_counter() - begin > _SECONDS:
            break
        for each, (own, on_device) in list(runs.items()):
            try:
                taken = call(own, on_device)[2]
            except Exception:  # a peer that refuses a program has no time for it
                del runs[each]
                continue
            for key, value in taken.named(each).items():
                row[key] = min(row.get(key, value), value)
        yield row


def wait(array: Any) -> None:
    """Wait for what an array's library has been given."""
    if ARRAYS == "cupy":
        array.device.synchronize()
    elif ARRAYS == "dpnp":
        array.sycl_queue.wait()


def numpy_of(array: Any, library: Any) -> Any:
    """The elements of an array on the host."""
    return array if ARRAYS == "numpy" else library.asnumpy(array)


def times(rows: Sequence[dict[str, Any]]) -> str:
    """Summary of times over the rows that are right and on the device: a program counts with its fastest variant."""
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["state"] == "right" and row["where"] == "device":
            other = best.get(row["program"])
            if other is None or row["seconds"] < other["seconds"]:
                best[row["program"]] = row
    lines = []
    for peer, (suffix, words) in itertools.product(PEERS, (("_s", "time"), ("_cpu_s", "processor time"))):
        ratios = {
            name: row[f"{peer}{suffix}"] / max(row["seconds" if suffix == "_s" else "cpu_s"], _SHORTEST)
            for name, row in best.items()
            if f"{peer}{suffix}" in row
        }
        if ratios:
            mean = statistics.geometric_mean(max(each, _SHORTEST) for each in ratios.values())
            below = ", ".join(f"{name} {ratio:.2g}" for name, ratio in sorted(ratios.items()) if ratio < _FAR_BELOW)
            lines.append(f"{mean:.2f} of {peer}'s speed by {words} over {len(ratios)} programs")
            lines.append(f"  below {_FAR_BELOW}: {below or 'none'}")
    for key, words in (("first_s", "time"), ("first_cpu_s", "processor time")):
        first = sorted(row[key] for row in best.values())
        if first:
            lines.append(f"first calls by {words}: median {statistics.median(first):.2f} s, longest {first[-1]:.2f} s")
        slow = [name for name, row in best.items() if row[key] > 2 * row.get(f"numba_{key}", float("inf"))]
        lines.append(f"first calls of more than twice Numba's by {words}: {', '.join(slow) or 'none'}")
    return "\n".join(lines)


def with_dpnp(function: Any, dpnp: Any) -> Any:
    """A NumPy program with dpnp in place of NumPy, in all functions of its module."""
    space = dict(function.__globals__)
    for each, value in list(space.items()):
        if isinstance(value, type(function)) and value.__module__ == function.__module__:
            space[each] = type(function)(value.__code__, space, value.__name__, value.__defaults__)
    space["np"] = dpnp
    return space[function.__name__]


def program(checkout: Path, name: str, preset: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """NPBench's description of a program, its data, and its NumPy version."""
    sys.path.insert(0, str(checkout))
    info, _ = module_of(checkout, name, "numpy")
    path = path_of(info)
    data: dict[str, Any] = dict(info["parameters"][preset])
    if info.get("init"):
        make = getattr(importlib.import_module(path), info["init"]["func_name"])
        made = make(*(data[each] for each in info["init"]["input_args"]))
        names = info["init"]["output_args"]
        data.update(zip(names, made if len(names) > 1 else (made,), strict=True))
    return info, data, getattr(importlib.import_module(f"{path}_numpy"), info["func_name"])


def path_of(info: dict[str, Any]) -> str:
    return f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"


def variant_of(checkout: Path, name: str, variant: str) -> Any:
    info, _ = module_of(checkout, name, "numpy")
    module = importlib.import_module(f"{path_of(info)}_numba_{variant}")
    # One variant has another name for it, and ends with it.
    functions = [each for each in vars(module).values() if hasattr(each, "py_func")]
    return getattr(module, info["func_name"], None) or functions[-1]


if __name__ == "__main__":
    main()
