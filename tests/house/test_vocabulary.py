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
ALLOWED = {
    "reads_apart": "a field of targets that users write, as in SpirvTarget(reads_apart=True)",
    "last_place": "of which errors of numbers are counted in units",
}
"""Names, and why each stays."""
CODE = ("packages/*/src/**/*.py", "packages/*/tests/**/*.py", "tests/**/*.py", "tools/*.py", "benchmarks/**/*.py")
SECTION = re.compile(r"Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-+\n|\Z)", re.DOTALL)


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


def stored(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each variable and attribute that a module assigns."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def retired(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each name of a module that has a retired word; the module's own is on line 1."""
    if words_of(path.stem) & RETIRED and path.stem not in ALLOWED:
        yield 1, path.stem
    tree = ast.parse(path.read_text("utf-8"))
    for found, words in ((names(tree), RETIRED), (stored(tree), LOCAL)):
        yield from ((line, name) for line, name in found if words_of(name) & words and name not in ALLOWED)


def test_names_have_no_retired_word(root, tmp_path):
    example = tmp_path / "ways.py"
    text = "def add_in_place(x): ...\nclass Trail:\n    def f(self, *, numpysType):\n        told = turns = 1\n"
    example.write_text(text)
    assert list(retired(example)) == [(1, "ways"), (2, "Trail"), (3, "numpysType"), (4, "turns")]
    files = [file for pattern in CODE for file in root.glob(pattern)]
    found = [f"{path.relative_to(root)}:{line} {name}" for path in sorted(files) for line, name in retired(path)]
    assert not found, f"{len(found)} names must be in the literature's terms:\n" + "\n".join(found)
    trees = [ast.parse(path.read_text("utf-8")) for path in files]
    used = {name for tree in trees for _, name in (*names(tree), *stored(tree))} | {path.stem for path in files}
    assert set(ALLOWED) <= used, "names that are allowed must be there"


def listed(tree: ast.Module) -> Iterator[tuple[int, str, set[str], list[tuple[str, str]]]]:
    """Line, name and parameters of what has a list of them in its docstring, and the list: names and types."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            section = SECTION.search(ast.get_docstring(node) or "")
            inits = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
            for function in [node] if isinstance(node, ast.FunctionDef) else inits:
                found = re.findall(r"^(\S.*?) : (.*)$", section[1], re.MULTILINE) if section else []
                taken = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
                yield node.lineno, node.name, taken, found


def test_docstrings_list_parameters_and_types_that_are_there(root):
    example = 'def f(a, *b):\n    """F.\n\n    Parameters\n    ----------\n    a, c : Path\n    *b : int\n    """\n'
    assert list(listed(ast.parse(example))) == [(1, "f", {"a", "b"}, [("a, c", "Path"), ("*b", "int")])]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in root.glob("packages/*/src/**/*.py")}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    known = {"None", "NumPy", "USM", "Numba", "True", "False"}
    known |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    known |= {node.id for node in nodes if isinstance(node, ast.Name)}
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    known |= {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    wrong = []
    for path, tree in trees.items():
        for line, name, taken, found in listed(tree):
            names = [each.strip(" *") for words, _ in found for each in words.split(",")]
            types = [each for _, text in found for each in re.findall(r"(?<![\w.`\"])[A-Z][a-z]\w*", text)]
            lost = [each for each in names if each not in taken] + [each for each in types if each not in known]
            wrong += [f"{path.relative_to(root)}:{line} {name}: {each}" for each in lost]
    assert not wrong, "docstrings must name what is there:\n" + "\n".join(wrong)


def questions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring that begins with a question word; predicates may begin with "Whether"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            if re.match(r"(What|How|Where|Which|When|Who|Why)\b", node.value.value):
                yield node.lineno, node.value.value.splitlines()[0]


def test_docstrings_begin_with_a_noun_phrase_or_an_imperative(root):
    assert list(questions(ast.parse('"""What a pass is."""\nx = 1\n"""The pass."""\n'))) == [(1, "What a pass is.")]
    found = [
        f"{path.relative_to(root)}:{line} {text}"
        for pattern in CODE
        for path in root.glob(pattern)
        for line, text in questions(ast.parse(path.read_text("utf-8")))
    ]
    assert not found, "\n".join(found)
