"""Reports of a run of the benchmarks: a table in the terminal, a JSON file, and a chart."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import scaling
from timing import Timing

import kapi_runtime as kapi

__all__ = ["Row", "describe", "machine", "row_text", "summary", "write"]

DISTRIBUTIONS = ("numpy", "numba", "llvmlite", "dpctl", "dpnp", "pyopencl", "intel-opencl-rt")
PEERS = ("taichi", "warp-lang")
"""Measured where they are installed."""

COMPARISONS = (
    ("kapi (CPU)", "OpenCL C", 1.0),
    ("kapi (CPU), contracting", "OpenCL C, contracting", 1.0),
    ("kapi (CPU)", "Numba parallel", 2.0),
    ("kapi (CPU)", "Taichi", None),
    ("kapi (CPU)", "Warp", None),
    ("kapi", "OpenCL C", 1.0),
    ("kapi, contracting", "OpenCL C, contracting", 1.0),
    ("kapi", "Numba parallel", 2.0),
    ("kapi", "dpnp", 5.0),
    ("kapi", "NumPy", None),
    ("kapi offload", "Numba parallel", None),
    ("kapi offload", "dpnp", None),
)
"""Column, the one that it is compared with, and how many times faster its geometric mean is meant to be."""


@dataclass(frozen=True)
class Row:
    """One workload's times: its name, its size in words, and a Timing for each column."""

    name: str
    size: str
    timings: Mapping[str, Timing]

    def speed(self, column: str, peer: str) -> float | None:
        """Speed of a column relative to `peer`, by medians; None where one of them is missing."""
        if column not in self.timings or peer not in self.timings:
            return None
        return self.timings[peer].median / self.timings[column].median


def machine() -> dict[str, Any]:
    """The device, the system and the versions that a run's figures hold for."""
    device = kapi.devices()[0]
    return {
        "device": device.name,
        "driver": device.driver_version,
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in DISTRIBUTIONS},
        **{name: version(name) for name in PEERS if find_spec(name.removesuffix("-lang"))},
    }


def describe(machine: Mapping[str, Any]) -> str:
    """The machine in words."""
    return "\n".join(f"{name:<16} {value}" for name, value in machine.items()) + "\n"


def row_text(row: Row) -> str:
    """One workload's table: first call, median and fastest in milliseconds, and medians against kapi's."""
    kapi_median = row.timings["kapi (CPU)"].median
    lines = [f"{row.name}: {row.size}", f"  {'':<24}{'first ms':>10}{'median':>10}{'fastest':>10}{'kapi is':>10}"]
    lines += [
        f"  {name:<24}{each.first * 1e3:10.2f}{each.median * 1e3:10.3f}{each.fastest * 1e3:10.3f}"
        f"{each.median / kapi_median:9.2f}x"
        for name, each in row.timings.items()
    ]
    return "\n".join(lines) + "\n"


def summary(rows: Sequence[Row]) -> str:
    """All comparisons: ratio of medians for each workload, geometric mean, least."""
    heads = [f"{column} / {peer}" for column, peer, _ in COMPARISONS]
    letters = ascii_lowercase[: len(heads)]
    lines = ["times as fast as the peer (ratio of medians)"]
    lines += [f"  ({letter}) {head}" for letter, head in zip(letters, heads, strict=True)]
    lines.append(f"  {'':<20}" + "".join(f"{f'({letter})':>9}" for letter in letters))
    for row in rows:
        speeds = [row.speed(column, peer) for column, peer, _ in COMPARISONS]
        lines.append(f"  {row.name:<20}" + "".join(_cell(speed) for speed in speeds))
    all_speeds = [_speeds(rows, column, peer) for column, peer, _ in COMPARISONS]
    lines.append(f"  {'geometric mean':<20}" + "".join(_cell(_mean(speeds)) for speeds in all_speeds))
    lines.append(f"  {'least':<20}" + "".join(_cell(min(speeds, default=None)) for speeds in all_speeds))
    lines.append(f"  {'goal of the mean':<20}" + "".join(_cell(goal) for _, _, goal in COMPARISONS))
    return "\n".join(lines) + "\n"


def write(folder: Path, results: Mapping[str, Any]) -> None:
    """Write `results.json`, and `chart.png` and `growth.png` where their parts were run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1, default=asdict) + "\n")
    if "workloads" in results:
        _chart(folder / "chart.png", results["machine"], results["workloads"])
    if "growth_seconds" in results:
        scaling.draw(folder / "growth.png", results["growth_seconds"])


def _speeds(rows: Sequence[Row], column: str, peer: str) -> list[float]:
    return [speed for row in rows if (speed := row.speed(column, peer)) is not None]


def _mean(speeds: Sequence[float]) -> float | None:
    return math.exp(statistics.fmean(map(math.log, speeds))) if speeds else None


def _cell(speed: float | None) -> str:
    return f"{'-':>9}" if speed is None else f"{speed:8.2f}x"


def _chart(path: Path, machine: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Bars of each workload's speed against hand-written OpenCL C, Numba, Taichi and Warp, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    colours = {"OpenCL C": "#33658a", "Numba parallel": "#f6ae2d", "Taichi": "#86bbd8", "Warp": "#758e4f"}
    peers = [(peer, colour) for peer, colour in colours.items() if _speeds(rows, "kapi (CPU)", peer)]
    names = [*(row.name.replace("_", " ") for row in rows), "geometric mean"]
    figure, axes = plt.subplots(figsize=(max(11, 0.45 * len(names)), 4.6), layout="constrained")
    for k, (peer, colour) in enumerate(peers):
        speeds = [row.speed("kapi (CPU)", peer) or math.nan for row in rows]
        speeds.append(_mean(_speeds(rows, "kapi (CPU)", peer)) or math.nan)
        positions = [position + 0.2 * (k - (len(peers) - 1) / 2) for position in range(len(names))]
        axes.bar(positions, [speed - 1 for speed in speeds], 0.18, bottom=1, color=colour, label=peer)
    axes.axhline(1.0, color="#444444", linewidth=1)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.set_ylabel("kapi's kernel is so many times as fast")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(title="as", frameon=False, ncols=4, loc="upper right")
    axes.set_title(f"One kernel in Python against its peers: {machine['device']}, {machine['processors']} cores")
    figure.savefig(path, dpi=130)
    plt.close(figure)
