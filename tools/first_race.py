"""How long it takes from nothing to the first report of a race, as rows of a Markdown table.

``python -m tools.first_race --constraints FILE`` makes an empty environment, installs kapi-sim into it with pip and
without pip's cache, runs the README's program that has a race, and draws it.  The constraints name the wheel of
kapi-sim; NumPy comes from pip's index.  ``python3 noxfile.py -s first_race`` runs it.  The exit status is 1 if the
report is not the README's, or if all together takes more than `LIMIT` seconds.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools import race_picture

__all__ = ["LIMIT", "main", "rows", "timed_steps"]

LIMIT = 120.0
"""Seconds that all steps may take together."""


def timed_steps(constraints: Path, folder: Path) -> tuple[dict[str, float], str]:
    """Go the way of a newcomer, and return the seconds of each step and what the program printed.

    Parameters
    ----------
    constraints : Path
        Names the wheel of kapi-sim.
    folder : Path
        An empty folder, for the environment and the program.
    """
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (folder / "race.py").write_text(race_picture.program(), "utf-8")
    install = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    steps: dict[str, list[str | Path]] = {
        "python -m venv env": [sys.executable, "-m", "venv", "env"],
        "pip install kapi-sim": [python, *install, "--constraint", constraints.resolve(), "kapi-sim"],
        "python race.py": [python, "race.py"],
        "python -m kapi_sim trace race.py -o race.svg": [
            python,
            "-m",
            "kapi_sim",
            "trace",
            "race.py",
            "-o",
            "race.svg",
        ],
    }
    # Where kapi's own sources are on the path, as in its sessions, the environment would not be needed.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    seconds, printed = {}, {}
    for step, command in steps.items():
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=clean, stdout=subprocess.PIPE, text=True, check=True)
        seconds[step], printed[step] = time.perf_counter() - start, done.stdout
    return seconds, printed["python race.py"]


def rows(seconds: dict[str, float]) -> str:
    """Return the rows of the table, the sum last."""
    lines = [f"| `{step}` | {took:.1f} |" for step, took in seconds.items()]
    return "\n".join(["| step | seconds |", "|---|---:|", *lines, f"| together | {sum(seconds.values()):.1f} |"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the rows with the date and the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, required=True)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        seconds, printed = timed_steps(options.constraints, Path(folder))
    print(f"{datetime.date.today()}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(rows(seconds))
    if printed != race_picture.report_on_page():
        print(f"the README must show this report:\n{printed}", file=sys.stderr)
        return 1
    return int(sum(seconds.values()) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
