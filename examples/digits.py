"""Which handwritten digit is nearest to which?  One kernel, in the simulator and compiled.

    python digits.py [--quick] [--output digits.png]

The kernels stand in `digits_kernels.py`.  They run in the simulator first, every check on, over a few of
the digits; then one import line is exchanged, and the same source is compiled for the processor and runs
over all of them, on the same NumPy arrays.  Results are compared with NumPy's in float64, times with NumPy's and
Numba's, and the picture shows what was found.

The digits are the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak (UCI Machine
Learning Repository, 1998, doi:10.24432/C50P49, CC BY 4.0), 8 x 8 pixels of 0 to 16 each.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from digits_picture import draw
from digits_rivals import interleaved, rivals

Array = np.ndarray[Any, Any]

DIGITS = Path(__file__).with_name("digits.npz")
KERNELS = Path(__file__).with_name("digits_kernels.py")
IMPORT = "import {} as kapi"
TOLERANCE = 1e-4  # of distances up to about 80, in float32


@dataclass(frozen=True)
class Settings:
    """Sizes of the demo.

    Attributes
    ----------
    digits, simulated : int
        How many digits are compared by compiled code, and in the simulator.
    rounds : int
        How many timed runs the medians are of.
    """

    digits: int
    simulated: int
    rounds: int


FULL = Settings(digits=1797, simulated=48, rounds=15)
QUICK = Settings(digits=600, simulated=24, rounds=3)


@dataclass(frozen=True)
class Found:
    """Results of the compiled kernels.

    Attributes
    ----------
    distance : numpy.ndarray, shape (n, n), float32
        Between all pairs of digits.
    neighbour, predicted : numpy.ndarray, shape (n,), int64
        Each digit's nearest neighbour, and that one's class.
    first : float
        Time of the first call of `pairwise_distance`, compilation included, in seconds.
    again : function
        Computes the distances once more, and returns them.
    """

    distance: Array
    neighbour: Array
    predicted: Array
    first: float
    again: Callable[[], Array]


def main(arguments: list[str] | None = None) -> None:
    """Simulate, run, compare and draw."""
    parser = argparse.ArgumentParser(description="Distances and nearest neighbours of handwritten digits, with kapi.")
    parser.add_argument("--quick", action="store_true", help="fewer digits and runs")
    parser.add_argument("--output", type=Path, default=Path("digits.png"), help="the picture (default: digits.png)")
    options = parser.parse_args(arguments)
    settings = QUICK if options.quick else FULL
    start = time.perf_counter()

    with np.load(DIGITS) as file:
        digits = file["pixels"][: settings.digits].astype(np.float32)
        label = file["labels"][: settings.digits].astype(np.int64)
    n = len(digits)
    print(f"{n} handwritten digits of 8 x 8 pixels: which is nearest to which?")

    simulate(digits[: settings.simulated], label[: settings.simulated])
    found = run(digits, label)
    verify(found, digits, label)
    compare(found, digits, settings.rounds)

    heading(5, "The picture")
    draw(options.output, digits, label, found.distance, found.neighbour)
    print(f"   {options.output}")
    print(f"\nAll of it took {time.perf_counter() - start:.1f} s.")


def kernels(module: str) -> ModuleType:
    """Return the kernels of `digits_kernels.py` with kapi imported from `module`: one line is the difference."""
    source = KERNELS.read_text("utf-8")
    line = IMPORT.format("kapi_sim") + "\n"
    require(source.count(line) == 1, f"{KERNELS.name} must import kapi in one line, got {source.count(line)}")
    world = ModuleType(f"{KERNELS.stem} with {module}")
    exec(compile(source.replace(line, IMPORT.format(module) + "\n"), str(KERNELS), "exec"), vars(world))
    return world


def simulate(digits: Array, label: Array) -> None:
    """Run both kernels in the simulator, then two mistakes that it finds."""
    heading(1, "In the simulator: plain Python, every check on")
    world = kernels("kapi_sim")
    kapi = world.kapi
    n = len(digits)
    pixels = np.ascontiguousarray(digits.T)
    distance = np.zeros((n, n), np.float32)
    neighbour, predicted = np.zeros(n, np.int64), np.zeros(n, np.int64)

    print(f"     {IMPORT.format('kapi_sim')}\n")
    start = time.perf_counter()
    with kapi.simulation() as report:
        kapi.call_kernel(world.pairwise_distance, kapi.Range(n, n), pixels, distance)
        kapi.call_kernel(world.nearest_neighbour, kapi.Range(n), distance, label, neighbour, predicted)
    elapsed = time.perf_counter() - start
    error = largest_error(distance, distances(digits))
    items = sum(launch.work_items for launch in report.launches)
    checks = set().union(*(launch.checks for launch in report.launches))
    fact("kernels", ", ".join(f"{launch.kernel} over {launch.index_space}" for launch in report.launches))
    fact("ran", f"{items} work-items in {elapsed:.2f} s, one after the other")
    fact("checked", f"{', '.join(sorted(checks))}: {'; '.join(report.notes) or 'nothing found'}")
    fact("verified", f"largest difference from NumPy {error:.1e}")

    print("\n   It catches what would go wrong silently.")
    caught(
        kapi,
        f"One column too many, Range({n}, {n + 1}):",
        lambda: kapi.call_kernel(world.pairwise_distance, kapi.Range(n, n + 1), pixels, distance),
    )
    mistakes = np.zeros(1, np.int64)
    caught(
        kapi,
        "All work-items count in one element:",
        lambda: kapi.call_kernel(world.count_mistakes, kapi.Range(n), label, predicted, mistakes),
    )


def caught(kapi: Any, title: str, launch: Callable[[], None]) -> None:
    """Launch what is wrong, and print what the simulator says of it."""
    try:
        launch()
    except kapi.KapiError as error:
        print(f"\n   {title}")
        kind = type(error).__name__
        for line in f"{kind}: {error}".splitlines():
            indent = 5 + len(line) - len(line.lstrip())
            wrapped = textwrap.fill(line, 105, initial_indent=" " * 5, subsequent_indent=" " * (indent + 2))
            print(wrapped.replace(kind, emphasis(kind), 1))
    else:
        raise RuntimeError(f"the simulator must refuse a wrong launch, got none refused: {title}")


def run(digits: Array, label: Array) -> Found:
    """Run both kernels on the CPU, over all digits."""
    heading(2, "Compiled: the same source and arrays, one line exchanged")
    world = kernels("kapi_runtime")
    kapi = world.kapi
    print(f"   - {IMPORT.format('kapi_sim')}\n   + {IMPORT.format('kapi_runtime')}\n")
    device = kapi.select_device("cpu")
    fact("device", f"{device.name}, {device.max_compute_units} threads; NumPy arrays run here, without a driver")

    n = len(digits)
    pixels = np.ascontiguousarray(digits.T)
    distance = np.empty((n, n), np.float32)
    neighbour, predicted = np.empty_like(label), np.empty_like(label)

    def again() -> Array:
        kapi.call_kernel(world.pairwise_distance, kapi.Range(n, n), pixels, distance)
        return distance

    start = time.perf_counter()
    again()
    first = time.perf_counter() - start
    kapi.call_kernel(world.nearest_neighbour, kapi.Range(n), distance, label, neighbour, predicted)
    fact("ran", f"{n * n:,} distances in {first:.2f} s, most of it spent compiling")
    return Found(distance, neighbour, predicted, first, again)


def verify(found: Found, digits: Array, label: Array) -> None:
    """Compare the distances with NumPy's in float64, and the neighbours with theirs."""
    heading(3, "Is it right?")
    expected = distances(digits)
    error = largest_error(found.distance, expected)
    fact("distances", f"largest difference from NumPy's in float64: {error:.1e}, of {expected.max():.1f} at most")

    np.fill_diagonal(expected, np.inf)
    nearest = expected.argmin(axis=1)
    require(np.array_equal(found.neighbour, nearest), "neighbours must be those that NumPy finds")
    require(np.array_equal(found.predicted, label[nearest]), "classes must be those of the neighbours")
    fact("neighbours", f"all {len(label)} as NumPy's argmin has them")
    right = int(np.count_nonzero(found.predicted == label))
    fact("accuracy", emphasis(f"{right / len(label):.4f}") + f", leave one out: {len(label) - right} mistakes")


def compare(found: Found, digits: Array, rounds: int) -> None:
    """Time the distances against the rivals, verify each, and print the table."""
    heading(4, "How fast?")
    ours = "kapi, the ten-line kernel"
    timings = interleaved({ours: found.again, **rivals(digits)}, rounds)
    expected = distances(digits)
    width = max(map(len, timings))
    print(f"   {len(digits)} x {len(digits)} distances, interleaved, medians of {rounds} runs, each result verified\n")
    print(emphasis(f"   {'':<{width}}  median ms  ratio to kapi  first call ms"))
    for name, each in timings.items():
        largest_error(each.result, expected)
        first = found.first if name == ours else each.first
        ratio = each.median / timings[ours].median
        print(f"   {name:<{width}}  {each.median * 1e3:9.1f}  {ratio:13.2f}  {first * 1e3:13.0f}")
    print("\n   The first call includes compilation.  The matrix product computes |a|^2 + |b|^2 - 2ab, which is")
    print("   exact for small whole numbers, as these pixels are; the others sum squared differences.")


def distances(digits: Array) -> Array:
    """Return all distances by NumPy, in float64, a row at a time."""
    exact = digits.astype(np.float64)
    return np.sqrt(np.stack([((exact - row) ** 2).sum(axis=1) for row in exact]))


def largest_error(distance: Array, expected: Array) -> float:
    """Return the largest difference of two distance matrices; it must be within the tolerance."""
    error = float(np.abs(distance - expected).max())
    require(error < TOLERANCE, f"distances must be within {TOLERANCE} of NumPy's, got a difference of {error}")
    return error


def require(holds: bool, message: str) -> None:
    """Raise unless a claim of the demo holds."""
    if not holds:
        raise RuntimeError(message)


def heading(number: int, text: str) -> None:
    """Begin a section."""
    print("\n" + emphasis(f"{number}. {text}"))


def fact(name: str, text: str) -> None:
    """Print one line of a section."""
    print(f"   {name:<12}{text}")


def emphasis(text: str) -> str:
    """Return the text bold where a terminal shows it, plain in a pipe."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


if __name__ == "__main__":
    main()
