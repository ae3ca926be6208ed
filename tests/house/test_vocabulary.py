"""Names of modules, classes, functions and parameters are terms that a reader can look up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# What to say instead: a control-flow path, an iteration, to converge or join, to report or distinguish, an index, an
# offset, a lane or a source location, full or entire, shadow memory, a hint, numba_ or numpy_, short_repr or format_.
RETIRED = frozenset(
    "way ways turn turns meet meets met meeting meetings told tell tells apart beside place places whole undivided "
    "loose lent heard hears hearing trail cure cures numbas numpys pythons shown".split()
)
# NumPy's and Python's own words.
TERMS = re.compile(r"in_?place|inplace", re.IGNORECASE)
ALLOWED = {"reads_apart": "a field of targets that users write, as in SpirvTarget(reads_apart=True)"}
"""Names, and why each stays."""


def words_of(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", TERMS.sub("", name))}


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each class, function and parameter."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def retired(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each name of a module that has a retired word; the module's own is on line 1."""
    if words_of(path.stem) & RETIRED and path.stem not in ALLOWED:
        yield 1, path.stem
    for line, name in names(ast.parse(path.read_text("utf-8"))):
        if words_of(name) & RETIRED and name not in ALLOWED:
            yield line, name


def test_names_have_no_retired_word(root, tmp_path):
    example = tmp_path / "ways.py"
    example.write_text("def add_in_place(x): ...\nclass Trail:\n    def f(self, *, numpysType): ...\n")
    assert list(retired(example)) == [(1, "ways"), (2, "Trail"), (3, "numpysType")]
    files = [*root.glob("packages/*/src/**/*.py"), *root.glob("tools/*.py")]
    found = [f"{path.relative_to(root)}:{line} {name}" for path in sorted(files) for line, name in retired(path)]
    assert not found, f"{len(found)} names must be in the literature's terms:\n" + "\n".join(found)
    used = {name for path in files for _, name in names(ast.parse(path.read_text("utf-8")))} | {p.stem for p in files}
    assert set(ALLOWED) <= used, "names that are allowed must be there"
