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
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

VARIANTS = ("npr", "np", "n")


def main() -> None:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of NPBench")
    parser.add_argument("--only", action="append", help="a program's name; may be repeated")
    parser.add_argument("--preset", default="S", help="size of the data: S, M, L or paper")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each variant")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    parser.add_argument("--variant", choices=VARIANTS, help="run this variant only")
    parser.add_argument("--numba", action="store_true", help="take the time of Numba over NumPy arrays, too")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
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
    print(summary(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def module_of(checkout: Path, name: str, suffix: str) -> tuple[dict[str, Any], Path]:
    info = json.loads((checkout / "bench_info" / f"{name}.json").read_text("utf-8"))["benchmark"]
    folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
    return info, folder / f"{info['module_name']}_{suffix}.py"


def in_process(options: argparse.Namespace, name: str, variant: str) -> dict[str, Any] | None:
    """The row of one variant; None if the program has none."""
    if not module_of(options.checkout, name, f"numba_{variant}")[1].exists():
        return None
    row = {"program": name, "variant": variant, **answer(options, "--worker", name, variant)}
    if options.numba and row["state"] == "right":
        row["numba_s"] = answer(options, "--host-worker", name, variant).get("seconds")
    return row


def answer(options: argparse.Namespace, word: str, name: str, variant: str) -> dict[str, Any]:
    """What a process of its own says of a variant."""
    command = [sys.executable, __file__, str(options.checkout), "--preset", options.preset, word, name, variant]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"state": "no answer", "cause": f"{options.timeout:g} s"}
    if done.returncode:
        return {"state": "error", "cause": (done.stderr.strip().splitlines() or ["no words"])[-1][:150]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def run(checkout: Path, name: str, variant: str, preset: str) -> dict[str, Any]:
    """Run one variant over dpnp arrays, and the NumPy program."""
    import dpnp

    import kapi_numba_offload

    info, data, reference = program(checkout, name, preset)
    function = variant_of(checkout, name, variant)

    def given(on_device: bool) -> dict[str, Any]:
        values = {each: copy.deepcopy(data[each]) for each in info["input_args"]}
        if on_device:
            arrays = {each: dpnp.asarray(values[each]) for each in info["array_args"] if each in values}
            values.update(arrays)
        return values

    def call(function: Any, on_device: bool) -> tuple[list[Any], float]:
        values = given(on_device)
        start = time.perf_counter()
        returned = function(*values.values())
        for each in values.values():
            if isinstance(each, dpnp.ndarray):
                each.sycl_queue.wait()
        seconds = time.perf_counter() - start
        results = list(returned) if isinstance(returned, (tuple, list)) else [] if returned is None else [returned]
        return results + [values[each] for each in info["output_args"] if each in values], seconds

    expected, numpy_s = call(reference, False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, first_s = call(function, True)
        seconds = min(call(function, True)[1] for _ in range(2))
    host = [each.asnumpy() if isinstance(each, dpnp.ndarray) else each for each in found]
    is_right = len(host) == len(expected) and all(map(agree, host, expected))
    reasons = [str(each.message) for each in told if each.category is kapi_numba_offload.OffloadFallbackWarning]
    ids = sorted({match.group(1) for text in reasons if (match := re.search(r"\[([a-z-]+)\]", text))})
    return {
        "state": "right" if is_right else "wrong",
        "where": "host" if ids else "device",
        "cause": ", ".join(ids),
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


def agree(found: Any, expected: Any) -> bool:
    """Whether two results agree: element by element, or as NPBench has it, by the norm of their difference."""
    import numpy as np

    if np.allclose(found, expected, rtol=1e-4, atol=1e-6, equal_nan=True):
        return True
    difference, size = np.linalg.norm(np.subtract(found, expected)), np.linalg.norm(expected)
    return bool(np.shape(found) == np.shape(expected) and difference <= 1e-5 * size)


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


def line_of(row: dict[str, Any]) -> str:
    """A row as text."""
    times = [row.get(each) for each in ("first_s", "seconds", "numpy_s", "numba_s")]
    texts = ["" if each is None else f"{each:.4f}" for each in times]
    return (
        f"{row['program']:26} {row['variant']:4} {row['state']:9} {row.get('where', ''):7} "
        f"{' '.join(f'{each:>9}' for each in texts)}  {row['cause']}"
    )


def summary(rows: list[dict[str, Any]]) -> str:
    """How many programs are right and on the device in some variant, and what stops the others."""
    programs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        programs.setdefault(row["program"], []).append(row)
    right = [name for name, own in programs.items() if any(each["state"] == "right" for each in own)]
    device = [
        name
        for name, own in programs.items()
        if any(each["state"] == "right" and each["where"] == "device" for each in own)
    ]
    causes: dict[str, list[str]] = {}
    for name, own in programs.items():
        if name not in device:
            best = min(own, key=lambda each: each["state"] != "right")
            causes.setdefault(best["cause"] or best["state"], []).append(name)
    lines = [f"{len(programs)} programs: {len(right)} right, {len(device)} wholly on the device"]
    lines += [f"  {cause}: {', '.join(names)}" for cause, names in sorted(causes.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
