"""Check that a tag may be released: ``python -m tools.release kapi-sim-v0.1.0`` prints the distribution's name.

A tag names one package and its version.  The version must be that of the package's ``pyproject.toml``, its changelog
must have a section of it, and no fragment may be left that belongs there.  Without a tag, the script lists what is left
to do for the version of each package, and which addresses are not decided.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.packages import DISTRIBUTIONS

__all__ = ["declared_version", "left_to_do", "main", "problems", "split_tag"]

ROOT = Path(__file__).parents[1]
UNDECIDED = re.compile("PLACEHOLDER" + "-")
"""A word of the lines whose addresses nobody has decided; this file must not hold it."""
WITH_ADDRESSES = (".github/**/*.yml", "*.cff", "*.md", "packages/*/pyproject.toml")


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


def declared_version(distribution: str, root: Path = ROOT) -> str:
    """Return the version in a package's ``pyproject.toml``; empty if there is none."""
    text = (root / "packages" / distribution / "pyproject.toml").read_text("utf-8")
    # Without a parser: the version is a static line.
    declared = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    return declared[1] if declared else ""


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
    declared = declared_version(distribution, root)
    if declared != version:
        found.append(f"{distribution}'s version must be the tag's, {version}, got {declared or None}")
    dated = re.compile(rf"^## {re.escape(version)} \(\d", re.MULTILINE)
    if not dated.search((folder / "CHANGELOG.md").read_text("utf-8")):
        found.append(
            f"{distribution}'s CHANGELOG.md must have a section {version} with its date: run towncrier in its folder"
        )
    left = sorted(each.name for each in (folder / "changes").glob("*.md"))
    if left:
        found.append(f"{distribution}'s changes must be in its CHANGELOG.md, got {len(left)} fragments: {left[0]} ...")
    return found


def left_to_do(root: Path = ROOT) -> Iterator[str]:
    """Yield what keeps each package from being released with its version, and the files with undecided addresses."""
    for distribution in DISTRIBUTIONS:
        yield from problems(distribution, declared_version(distribution, root), root)
    files = sorted({path for pattern in WITH_ADDRESSES for path in root.glob(pattern)})
    for path in files:
        count = len(UNDECIDED.findall(path.read_text("utf-8")))
        if count:
            yield f"{path.relative_to(root).as_posix()} must name real addresses, got {count} undecided"


def main(tag: str | None = None, root: Path = ROOT) -> int:
    """Print the distribution's name, or what is wrong on standard error, and return the exit status.

    Parameters
    ----------
    tag : str, optional
        A release. Without one, what is left to do is printed, and is no failure.
    root : Path
        The repository.
    """
    if tag is None:
        print("\n".join(left_to_do(root)) or "nothing is left to do: every package may be tagged")
        return 0
    try:
        distribution, version = split_tag(tag)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    found = problems(distribution, version, root)
    print("\n".join(found) or distribution, file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if sys.argv[1:] else None))
