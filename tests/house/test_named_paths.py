"""Paths, modules and rooms that ARCHITECTURE.md and CONTRIBUTING.md name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
PATH = re.compile(r"(?<![\w/.-])(?:kapi_\w+|benchmarks|docs|packages|tests|tools)/[\w./*-]*[\w*]")
MODULE = re.compile(r"(?<![\w/.@-])kapi_\w+(?:\.\w+)+")
PLACEHOLDER = re.compile(r"NAME|/\.\.\.|docs/_build|kapi_toy")


def source(root: Path, name: str) -> Path:
    """The path of a package's module or room in the repository."""
    package = name.partition("/")[0]
    return root / "packages" / package.replace("_", "-") / "src" / name


def missing(root: Path, text: str) -> Iterator[str]:
    """Each name of a line that is not there: a path of the repository or of a package's sources, or a dotted name."""
    for name in (*PATH.findall(text), *MODULE.findall(text)):
        path = source(root, name if "/" in name else name.replace(".", "/"))
        if "/" in name:
            is_there = path.exists() if name.startswith("kapi_") else any(root.glob(name))
        else:
            is_there = any(each.is_dir() or each.with_suffix(".py").is_file() for each in (path, path.parent))
        if not is_there and not PLACEHOLDER.search(name):
            yield name


def test_paths_that_pages_name_exist(root):
    wrong = "a kernel of kapi_sim/nowhere, tests/nothing.py, and kapi_sim.nowhere.at_all"
    assert list(missing(root, wrong)) == ["kapi_sim/nowhere", "tests/nothing.py", "kapi_sim.nowhere.at_all"]
    found = {page: list(missing(root, (root / page).read_text("utf-8"))) for page in PAGES}
    assert not any(found.values()), f"names of pages that are not there: {found}"


def test_rooms_of_the_architecture_exist(root):
    """A row has the packages, then rooms and modules of each or of one of them."""
    text = (root / "ARCHITECTURE.md").read_text("utf-8")
    table = text.partition("| package | rooms, lowest first |\n")[2].partition("\n\n")[0].splitlines()[1:]
    rows = [line.strip("|").split(" | ") for line in table]
    named = {package for packages, _ in rows for package in re.findall(r"`(\w+)`", packages)}
    assert named == {each.name for each in root.glob("packages/*/src/kapi_*")}
    for packages, rooms in rows:
        folders = [source(root, package) for package in re.findall(r"`(\w+)`", packages)]
        there = {entry.stem for folder in folders for entry in folder.rglob("*") if entry.suffix in ("", ".py")}
        assert set(re.findall(r"`([a-z]\w*)`", rooms)) <= there | {"numba"}, packages
