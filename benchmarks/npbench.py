"""NPBench's Numba programs over dpnp arrays: which are right, where they run, and how long they take.

NPBench is not part of this repository: name a checkout of it (https://github.com/spcl/npbench).

    python benchmarks/npbench.py PATH [--only floyd_warshall] [--preset S] [--timeout 60] [--json FILE]

Each variant of each program runs in a process of its own. "Right" is agreement with NPBench's NumPy program. A program
is on the device if no part of it fell back to the host.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from programs import agree, answer, arguments, fallbacks, finish, line_of

VARIANTS = ("npr", "np", "n")


def main() -> None:
    """Run the programs and print the table."""
    parser = arguments(__doc__.splitlines()[0], "NPBench", VARIANTS)
    parser.add_argument("--numba", action="store_true", help="take the time of Numba over NumPy arrays, too")
    parser.add_argument("--host-worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker or options.host_worker:
        worker = run if options.worker else run_on_host
        print(json.dumps(worker(options.checkout, *(options.worker or options.host_worker), options.preset)))
        return
    rows = []
    for name in options.only or sorted(each.stem for each in (options.checkout / "bench_info").glob("*.json")):
        for variant in (options.variant,) if options.variant else VARIANTS:
            row = in_process(options, name, variant)
            if row is not None:
                rows.append(row)
                print(line_of(row), flush=True)
    finish(options, rows)


def module_of(checkout: Path, name: str, suffix: str) -> tuple[dict[str, Any], Path]:
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text("utf-8"))["benchmark"]
    folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
    return info, folder / f"{info['module_name']}_{suffix}.py"


def in_process(options: argparse.Namespace, name: str, variant: str) -> dict[str, Any] | None:
    """The row of one variant; None if the program has none."""
    if not module_of(options.checkout, name, f"numba_{variant}")[1].exists():
        return None
    row = {"program": name, "variant": variant, **answer(options, __file__, "--worker", name, variant)}
    if options.numba and row["state"] == "right":
        row["numba_s"] = answer(options, __file__, "--host-worker", name, variant).get("seconds")
    return row


def run(checkout: Path, name: str, variant: str, preset: str) -> dict[str, Any]:
    """Run one variant over dpnp arrays, and the NumPy program."""
    import dpnp

    import kapi_numba_offload  # noqa: F401  # it offloads what `numba.njit` compiles

    info, data, reference = program(checkout, name, preset)
    function = variant_of(checkout, name, variant)

    def given(on_device: bool) -> dict[str, Any]:
        values = {each: copy.deepcopy(data[each]) for each in info["input_args"]}
        if on_device:
            arrays = {each: dpnp.asarray(values[each]) for each in info["array_args"] if each in values}
            values.update(arrays)
        return values

    def call(function: Any, on_device: bool) -> tuple[list[Any], list[Any], float]:
        values = given(on_device)
        start = time.perf_counter()
        returned = function(*values.values())
        for each in values.values():
            if isinstance(each, dpnp.ndarray):
                each.sycl_queue.wait()
        seconds = time.perf_counter() - start
        results = list(returned) if isinstance(returned, (tuple, list)) else [] if returned is None else [returned]
        return results, [values[each] for each in info["output_args"] if each in values], seconds

    expected, expected_outputs, numpy_s = call(reference, False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, outputs, first_s = call(function, True)
        seconds = min(call(function, True)[2] for _ in range(2))
    # Some programs return what they change in place, and some of their variants do not.
    if outputs and bool(found) != bool(expected):
        found, expected = [], []
    host = [each.asnumpy() if isinstance(each, dpnp.ndarray) else each for each in [*found, *outputs]]
    expected += expected_outputs
    is_right = len(host) == len(expected) and all(map(agree, host, expected))
    causes = fallbacks(told)
    return {
        "state": "right" if is_right else "wrong",
        "where": "host" if causes else "device",
        "cause": causes,
        "first_s": first_s,
        "seconds": seconds,
        "numpy_s": numpy_s,
    }


def program(checkout: Path, name: str, preset: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """What NPBench says of a program, its data, and its NumPy version."""
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
    return getattr(importlib.import_module(f"{path_of(info)}_numba_{variant}"), info["func_name"])


def run_on_host(checkout: Path, name: str, variant: str, preset: str) -> dict[str, Any]:
    """The time of one variant over NumPy arrays, without kapi."""
    info, data, _ = program(checkout, name, preset)
    function = variant_of(checkout, name, variant)

    def call() -> float:
        values = [copy.deepcopy(data[each]) for each in info["input_args"]]
        start = time.perf_counter()
        function(*values)
        return time.perf_counter() - start

    call()
    return {"seconds": min(call() for _ in range(3))}


if __name__ == "__main__":
    main()
