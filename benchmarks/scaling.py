"""Growth of costs with the work, the processors, the arguments of a launch, and the lines of a kernel."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import dpctl
import dpnp

import kapi_runtime as kapi

__all__ = ["Curve", "curves", "curves_text", "draw", "worst_step"]

Curve = Mapping[int, float]
"""Size to seconds."""

_BATCH = 100


@kapi.kernel
def triad(item: kapi.Item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


def curves(largest: int, rounds: int) -> dict[str, dict[str, Curve]]:
    """All curves: title to label to Curve; `largest` is the number of work-items of the longest launch."""
    return {
        "work-items of y = a * x + y": _work(largest, rounds),
        "array arguments of a launch": {"host time, asynchronous": _arguments(rounds)},
        "lines of a kernel": {"compile": _lines()},
    }


def worst_step(curve: Curve) -> float:
    """The largest growth of cost against growth of size between neighbours; above 1, worse than linear."""
    points = list(curve.items())
    return max((t1 / t0) / (n1 / max(n0, 1)) for (n0, t0), (n1, t1) in itertools.pairwise(points))


def curves_text(measured: Mapping[str, Mapping[str, Curve]]) -> str:
    """The curves as tables, each with its worst step."""
    lines = ["growth (worst step: growth of cost over growth of size; 1.0 is linear)"]
    for title, by_label in measured.items():
        lines.append(f"  {title}")
        for label, curve in by_label.items():
            cells = "  ".join(f"{size}: {seconds * 1e3:.3g}" for size, seconds in curve.items())
            lines.append(f"    {label}, ms: {cells} (worst step {worst_step(curve):.2f})")
    return "\n".join(lines) + "\n"


def draw(path: Path, measured: Mapping[str, Mapping[str, Curve]]) -> None:
    """Draw the curves side by side, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(measured), figsize=(13, 3.8), layout="constrained")
    for axes, (title, by_label) in zip(panels, measured.items(), strict=True):
        for label, curve in by_label.items():
            axes.plot([max(size, 0.5) for size in curve], [each * 1e3 for each in curve.values()], "o-", label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel(title)
        axes.set_ylabel("ms")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _work(largest: int, rounds: int) -> dict[str, Curve]:
    device = dpctl.SyclDevice()
    halves = device.create_sub_devices(partition=[1] * device.max_compute_units)[:2]
    queues = {
        "the whole device": [dpctl.SyclQueue(device)],
        "one processor": [dpctl.SyclQueue(halves[0])],
        "two processors, half each": [dpctl.SyclQueue(each) for each in halves],
    }
    sizes = [n for n in (2**k for k in range(10, 29, 2)) if n <= largest]
    times: dict[str, dict[int, float]] = {label: {} for label in queues}
    for n in sizes:
        launches = {label: _triad_launches(each, n) for label, each in queues.items()}
        seconds: dict[str, list[float]] = {label: [] for label in queues}
        for iteration in range(rounds + 1):
            for label, launch in launches.items():
                start = time.perf_counter()
                launch()
                if iteration:
                    seconds[label].append(time.perf_counter() - start)
        for label, each in seconds.items():
            times[label][n] = statistics.median(each)
    return {label: dict(curve) for label, curve in times.items()}


def _triad_launches(queues: list[Any], n: int) -> Callable[[], None]:
    share = n // len(queues)
    arrays = [[dpnp.ones(share, dtype="float32", sycl_queue=queue) for _ in range(2)] for queue in queues]

    def launch() -> None:
        for x, y in arrays:
            kapi.call_kernel_async(triad, kapi.Range(share), (), 0.5, x, y)
        for queue in queues:
            queue.wait()

    return launch


def _arguments(rounds: int) -> Curve:
    curve = {}
    queue = dpnp.ones(1).sycl_queue
    for count in (1, 2, 4, 8, 16, 32, 64):
        names = [f"a{k}" for k in range(count)]
        body = [f"    {name}[item.get_id(0)] = 1" for name in names]
        kernel = _kernel([f"def many(item: kapi.Item, {', '.join(names)}):", *body], "many")
        arrays = [dpnp.ones(64, dtype="float32") for _ in names]
        space, batches = kapi.Range(64), []
        kapi.call_kernel(kernel, space, *arrays)
        for _ in range(rounds):
            queue.wait()
            start = time.perf_counter()
            for _ in range(_BATCH):
                kapi.call_kernel_async(kernel, space, (), *arrays)
            batches.append((time.perf_counter() - start) / _BATCH)
        queue.wait()
        curve[count] = statistics.median(batches)
    return curve


def _lines() -> Curve:
    curve = {}
    array = dpnp.ones(64, dtype="float32")
    kapi.call_kernel(triad, kapi.Range(64), 0.5, array, array.copy())  # the process's first compile is another matter
    for count in (10, 30, 100, 300, 1000, 2000):
        body = [f"    x = x * {1 + k % 7}.5 + a[(i + {k}) % 64]" for k in range(count - 4)]
        source = ["def long(item: kapi.Item, a):", "    i = item.get_id(0)", "    x = a[i]", *body, "    a[i] = x"]
        kernel = _kernel(source, "long")
        start = time.perf_counter()
        kapi.call_kernel(kernel, kapi.Range(64), array)
        curve[count] = time.perf_counter() - start
    return curve


def _kernel(lines: list[str], name: str) -> Any:
    """Import a kernel that is written for the occasion: as a file, as users' kernels are."""
    source = "\n".join(["import kapi_runtime as kapi", "@kapi.kernel", *lines])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.py")
        path.write_text(source + "\n")
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, name)
