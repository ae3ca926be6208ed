"""Check that a tag may be released: ``python tools/release.py kapi-sim-v0.1.0`` prints the distribution's name.

A tag names one package and its version.  The version must be that of the package's ``pyproject.toml``, its changelog
must have a section of it, and no fragment may be left that belongs there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["main", "problems", "split_tag"]

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = (
    "kapi-sim",
    "kapi-types",
    "kapi-lowering",
    "kapi-cpu",
    "kapi-spirv",
    "kapi-ptx",
    "kapi-runtime",
    "kapi-numba-offload",
)


def split_tag(tag: str) -> tuple[str, str]:
    """Return the distribution and the version that a tag names.

    Raises
    ------
    ValueError
        If it names none.
    """
    distribution, _, version = tag.rpartition("-v")
    if distribution not in DISTRIBUTIONS or not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        raise ValueError(f"tag must be a package and a version such as kapi-sim-v0.1.0, got {tag!r}")
    return distribution, version


def problems(distribution: str, version: str, root: Path = ROOT) -> list[str]:
    """Return what keeps a package from being released, a line each.

    Parameters
    ----------
    distribution, version : str
        What is to be released.
    root : Path
        The repository.
    """
    folder = root / "packages" / distribution
    found = []
    # Read without a parser: the version is a static line, and Python's own parser came with 3.11.
    declared = re.search(r'^version = "(.+)"$', (folder / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    if not declared or declared[1] != version:
        found.append(f"{distribution}'s version must be the tag's, {version}, got {declared and declared[1]}")
    dated = re.compile(rf"^## {re.escape(version)} \(\d", re.MULTILINE)
    if not dated.search((folder / "CHANGELOG.md").read_text("utf-8")):
        found.append(
            f"{distribution}'s CHANGELOG.md must have a section {version} with its date: run towncrier in its folder"
        )
    left = sorted(each.name for each in (folder / "changes").glob("*.md"))
    if left:
        found.append(f"{distribution}'s changes must be in its CHANGELOG.md, got {len(left)} fragments: {left[0]} ...")
    return found


def main(tag: str, root: Path = ROOT) -> int:
    """Print the distribution's name, or what is wrong on standard error, and return the exit status."""
    try:
        distribution, version = split_tag(tag)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    found = problems(distribution, version, root)
    print("\n".join(found) or distribution, file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
