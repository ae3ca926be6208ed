"""What each line of installation brings, in megabytes and in distributions, as rows of a Markdown table.

``python tools/installed_sizes.py --uv UV --constraints FILE`` installs each line into an empty environment, from the
wheels that the constraints name, and sums up what the empty environment does not hold; ``python3 noxfile.py -s sizes``
runs it.  Lines may be named after it: ``"kapi-runtime[cpu]"``.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LINES", "Size", "main", "measure", "nbytes", "row"]

LINES = (
    "kapi-sim",
    "kapi-types",
    "kapi-lowering",
    "kapi-spirv",
    "kapi-ptx",
    "kapi-ptx[libdevice]",
    "kapi-runtime[cuda]",
    "kapi-runtime[cpu]",
    "kapi-runtime[cpu,dpnp]",
    "kapi-numba-offload kapi-runtime[cpu]",
)


@dataclass(frozen=True, slots=True)
class Size:
    """What one line installs.

    Attributes
    ----------
    line : str
        The requirements, with spaces between.
    nbytes : int
        Bytes of all files, before Python compiles any.
    largest : tuple of (str, int)
        The largest distributions with their bytes.
    distributions : int
        How many there are, kapi's own included.
    """

    line: str
    nbytes: int
    largest: tuple[tuple[str, int], ...]
    distributions: int


def nbytes(folder: Path) -> int:
    """Return the bytes of all files in a folder; a link counts nothing."""
    total = 0
    for where, _, files in os.walk(folder):
        paths = [Path(where, name) for name in files]
        total += sum(path.stat().st_size for path in paths if not path.is_symlink())
    return total


def measure(line: str, uv: str, constraints: Path, python: str = sys.executable) -> Size:
    """Install one line into an empty environment and return what it brings.

    Parameters
    ----------
    line : str
        Requirements, with spaces between.
    uv : str
        The program that installs.
    constraints : Path
        Names the wheels of this tree.
    python : str
        The interpreter for which wheels are chosen.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True)
        empty = nbytes(Path(folder))
        wheels = ["--constraints", str(constraints)]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", folder, *wheels, *line.split()], check=True)
        found = _distributions(Path(folder))
        largest = sorted(found.items(), key=lambda item: -item[1])[:3]
        return Size(line, nbytes(Path(folder)) - empty, tuple(largest), len(found))


def _distributions(environment: Path) -> dict[str, int]:
    """The bytes of each distribution by the list of its files."""
    packages = [str(path) for path in environment.rglob("site-packages") if not path.parents[1].is_symlink()]
    found = {}
    for each in importlib.metadata.distributions(path=packages):
        files = [Path(str(file.locate())) for file in each.files or []]
        found[each.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
    return found


def row(size: Size) -> str:
    """Return a row of the table."""
    words = [f'"{word}"' if "[" in word else word for word in size.line.split()]
    largest = ", ".join(f"{name} {_megabytes(bytes_)}" for name, bytes_ in size.largest)
    return f"| `pip install {' '.join(words)}` | {_megabytes(size.nbytes)} | {size.distributions} | {largest} |"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f}" if count >= 1e6 else f"{count / 1e6:.1f}"


def main(arguments: Sequence[str]) -> int:
    """Measure, and print the rows with the date and the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--constraints", type=Path, required=True)
    parser.add_argument("lines", nargs="*", default=LINES)
    options = parser.parse_args(arguments)
    print(f"{datetime.date.today()}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for line in options.lines or LINES:
        print(row(measure(line, options.uv, options.constraints)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
