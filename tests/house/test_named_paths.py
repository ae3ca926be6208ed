"""Paths, modules and rooms that ARCHITECTURE.md and CONTRIBUTING.md name exist, and what Python files import."""

from __future__ import annotations

import ast
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


def lost_imports(tree: ast.AST, files: dict[str, Path]) -> Iterator[str]:
    """Modules of packages here that a file imports and that are not there, and names that such a module has not."""
    packages = {name.partition(".")[0] for name in files}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                each.name for each in node.names if each.name.partition(".")[0] in packages and each.name not in files
            )
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] in packages:
            module = node.module or ""
            if module not in files:
                yield module
                continue
            words = set(re.findall(r"\w+", files[module].read_text("utf-8")))
            if "__getattr__" not in words:  # which may have any name, or refuse it in words
                names = (each.name for each in node.names if each.name not in words | {"*"})
                yield from (f"{module}.{name}" for name in names if f"{module}.{name}" not in files)


def test_imports_name_what_is_there(root):
    """Files that no session without a GPU runs, such as benchmarks, are looked at as well."""
    sources = {
        ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): file
        for folder in root.glob("packages/*/src")
        for file in folder.rglob("*.py")
    }
    wrong = "import kapi_sim.nowhere\nfrom kapi_sim.nothing import x\nfrom kapi_sim.errors import Lost, KapiError\n"
    assert list(lost_imports(ast.parse(wrong), sources)) == [
        "kapi_sim.nowhere",
        "kapi_sim.nothing",
        "kapi_sim.errors.Lost",
    ]
    folders = ("benchmarks", "docs", "examples", "packages", "tests", "tools")
    found = {
        str(file.relative_to(root)): lost
        for folder in folders
        for file in (root / folder).rglob("*.py")
        if ".nox" not in file.parts and "_build" not in file.parts
        if (lost := [*lost_imports(ast.parse(file.read_text("utf-8")), sources)])
    }
    assert not found
