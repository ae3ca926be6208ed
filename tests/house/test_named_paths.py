"""Paths, modules and rooms that ARCHITECTURE.md and CONTRIBUTING.md name exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
PATH = re.compile(r"(?<![\w/.-])(?:kapi_\w+|benchmarks|docs|packages|tests|tools)/[\w./*-]*[\w*]")
MODULE = re.compile(r"(?<![\w/.@-])kapi_\w+(?:\.\w+)+")
PLACEHOLDER = re.compile(r"NAME|/\.\.\.|docs/_build|kapi_toy")


def source(root: Path, path: str) -> Path:
    """The path of a package's module or room in the repository."""
    package = path.partition("/")[0]
    return root / "packages" / package.replace("_", "-") / "src" / path


def is_module(root: Path, name: str) -> bool:
    """Whether a dotted name is a module, a room, or a name in one."""
    path = source(root, name.replace(".", "/"))
    return any(each.is_dir() or each.with_suffix(".py").is_file() for each in (path, path.parent))


def exists(root: Path, path: str) -> bool:
    """Whether a path of the repository, or of a package's sources, matches a file or a folder."""
    if path.startswith("kapi_"):
        return source(root, path).exists()
    return any(root.glob(path))


def missing(root: Path, text: str) -> Iterator[str]:
    """Each name of a line that is not there."""
    for path in PATH.findall(text):
        if not PLACEHOLDER.search(path) and not exists(root, path):
            yield path
    for name in MODULE.findall(text):
        if not PLACEHOLDER.search(name) and not is_module(root, name):
            yield name


def test_paths_that_pages_name_exist(root):
    wrong = "a kernel of kapi_sim/nowhere, tests/nothing.py, and kapi_sim.nowhere.at_all"
    assert list(missing(root, wrong)) == ["kapi_sim/nowhere", "tests/nothing.py", "kapi_sim.nowhere.at_all"]
    found = [
        f"{page}:{number}: {name}"
        for page in PAGES
        for number, line in enumerate((root / page).read_text("utf-8").splitlines(), 1)
        for name in missing(root, line)
    ]
    assert not found, "names of pages that are not there:\n" + "\n".join(found)


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
