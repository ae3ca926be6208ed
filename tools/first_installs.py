"""Each built wheel, installed in an empty environment with the wheels that are released before it, and tried.

``python -m tools.first_installs dist --uv UV`` does so for the wheels in ``dist``, lowest layer first. A package that
asks for one above it, or for a version that is not there, cannot be installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import install_lines
from tools.packages import DISTRIBUTIONS

__all__ = ["constraints", "main"]


def constraints(folder: Path, distributions: Sequence[str]) -> str:
    """Return the text of a constraints file that ties each distribution to its wheel in a folder.

    Raises
    ------
    FileNotFoundError
        If there is not exactly one wheel of each.
    """
    lines = []
    for distribution in distributions:
        found = sorted(folder.glob(f"{distribution.replace('-', '_')}-*.whl"))
        if len(found) != 1:
            raise FileNotFoundError(f"{folder} must hold one wheel of {distribution}, got {len(found)}")
        lines.append(f"{distribution} @ {found[0].resolve().as_uri()}\n")
    return "".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Install and try each wheel, print a line for each, and return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uv", default="uv")
    options = parser.parse_args(arguments)
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "constraints.txt"
        for number, distribution in enumerate(DISTRIBUTIONS, 1):
            file.write_text(constraints(options.folder, DISTRIBUTIONS[:number]), "utf-8")
            size, failed = install_lines.run((distribution,), options.uv, file)
            outcome = "cannot be installed" if size is None else "fails" if failed else "installed and tried"
            print(f"{number}. {distribution}: {outcome}", *failed, sep="\n  ", flush=True)
            status |= bool(failed)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
