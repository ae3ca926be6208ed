"""Draw the race of the README: ``python -m tools.race_picture`` runs its second program, and writes the picture.

`tests/pages` compares the picture and the report with those of the page.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from tools import code_blocks

__all__ = ["PICTURE", "drawn", "main", "program", "report_on_page"]

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "race.svg"


def program(root: Path = ROOT) -> str:
    """Return the second program of the README as a file of its own: with the imports of the first one."""
    first, second = [block.code for block in code_blocks.blocks(root / "README.md") if block.language == "python"][:2]
    return first.partition("@")[0].replace("  # on a device: import kapi_runtime as kapi", "") + second


def drawn(root: Path = ROOT) -> tuple[str, str]:
    """Return what the program prints, and its picture as SVG."""
    import kapi_sim  # so that the tools can be listed without it

    with tempfile.TemporaryDirectory() as folder, kapi_sim.trace() as trace, redirect_stdout(StringIO()) as printed:
        file = Path(folder, "race.py")  # reports name it
        file.write_text(program(root), "utf-8")
        runpy.run_path(str(file))
    return printed.getvalue(), trace.svg()


def report_on_page(root: Path = ROOT) -> str:
    """Return the report that the README shows."""
    (report,) = (
        block.code
        for block in code_blocks.blocks(root / "README.md")
        if block.language == "text" and block.fate == "not compared"
    )
    return report


def main() -> int:
    """Write the picture; 1 if the page shows another report, else 0."""
    printed, svg = drawn()
    PICTURE.write_text(svg + "\n", "utf-8")
    if printed == report_on_page():
        return 0
    print(f"README.md must show this report:\n{printed}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
