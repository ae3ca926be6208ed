"""Names of modules, classes, functions, parameters and variables are terms that a reader can look up."""

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
LOCAL = frozenset("way ways turn turns meet meets met meeting meetings beside place places whole".split())
"""Those that no variable or attribute has either."""
# NumPy's and Python's own words.
TERMS = re.compile(r"in_?place|inplace", re.IGNORECASE)
# A field of targets that users write, as in SpirvTarget(reads_apart=True); units of errors of numbers.
ALLOWED = {"reads_apart", "last_place"}
CODE = ("packages/*/src/**/*.py", "packages/*/tests/**/*.py", "tests/**/*.py", "tools/*.py", "benchmarks/**/*.py")
DOCUMENTED = (ast.ClassDef, ast.FunctionDef)


def words_of(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", TERMS.sub("", name))}


def names(path: Path) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Line and name of a module, and of what it defines or assigns, each with the words that it may not have."""
    yield 1, path.stem, RETIRED
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (*DOCUMENTED, ast.arg)):
            yield node.lineno, node.arg if isinstance(node, ast.arg) else node.name, RETIRED
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr, LOCAL


def retired(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each name of a module that has a retired word."""
    found = (each for each in names(path) if each[1] not in ALLOWED)
    yield from ((line, name) for line, name, words in found if words_of(name) & words)


def test_names_have_no_retired_word(root, tmp_path):
    example = tmp_path / "ways.py"
    text = "def add_in_place(x): ...\nclass Trail:\n    def f(self, *, numpysType):\n        told = turns = 1\n"
    example.write_text(text)
    assert list(retired(example)) == [(1, "ways"), (2, "Trail"), (3, "numpysType"), (4, "turns")]
    files = [file for pattern in CODE for file in root.glob(pattern)]
    found = [f"{path.relative_to(root)}:{line} {name}" for path in sorted(files) for line, name in retired(path)]
    assert not found, f"{len(found)} names must be in the literature's terms:\n" + "\n".join(found)
    assert ALLOWED <= {name for path in files for _, name, _ in names(path)}, "allowed names must be there"


def test_docstrings_list_parameters_that_are_there(root):
    """In numpydoc's section, or, of a function that is not public, as a list of names."""
    section = re.compile(r"Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-+\n|\Z)", re.DOTALL)
    wrong, number = [], 0
    for path in root.glob("packages/*/src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = ast.get_docstring(node) or "" if isinstance(node, DOCUMENTED) else ""
            match = section.search(text)
            listed = re.findall(r"^(\S.*?) : ", match[1], re.MULTILINE) if match else []
            if isinstance(node, ast.FunctionDef):
                listed += re.findall(r"^- ((?:`[*\w]+`(?:, )?)+): ", text, re.MULTILINE)
            inits = [each for each in node.body if getattr(each, "name", "") == "__init__"] if listed else []
            for function in [node] if listed and isinstance(node, ast.FunctionDef) else inits:
                taken = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
                found = [each.strip(" *`") for words in listed for each in words.split(",")]
                wrong += [f"{path.relative_to(root)}:{node.lineno}: {each}" for each in found if each not in taken]
                number += len(found)
    assert number > 1000
    assert not wrong, "docstrings must name what is there:\n" + "\n".join(wrong)


def test_docstrings_begin_with_a_noun_phrase_or_an_imperative(root):
    """Predicates may begin with "Whether"."""
    pattern = re.compile(r"(What|How|Where|Which|When|Who|Why)\b")
    found = [
        f"{path.relative_to(root)}:{node.lineno} {node.value.value.splitlines()[0]}"
        for path in (file for pattern in CODE for file in root.glob(pattern))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and pattern.match(node.value.value)
    ]
    assert not found, "\n".join(found)


def test_docstrings_of_sources_begin_with_no_preposition(root):
    """A reader of a list of modules and functions sees the first line alone."""
    pattern = re.compile(r"(As|At|By|For|From|In|Of|On|That|Those|To)\b")
    found = [
        f"{path.relative_to(root)} {text.splitlines()[0]}"
        for path in root.glob("packages/*/src/**/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.Module, *DOCUMENTED))
        if pattern.match(text := ast.get_docstring(node) or "")
    ]
    assert not found, "\n".join(found)
