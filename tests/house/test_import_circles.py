"""No module of a package imports one that imports it, not even through others, or within a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest


def imported(tree: ast.AST, name: str, *, is_package: bool) -> Iterator[str]:
    """Names of modules, or of what is in them, that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            levels = node.level - is_package
            owner = name.rsplit(".", levels)[0] if node.level else ""
            module = ".".join(filter(None, (owner, node.module)))
            yield from (f"{module}.{each.name}" for each in node.names)
        yield from imported(node, name, is_package=is_package)


def graph_of(sources: Path) -> Mapping[str, set[str]]:
    """The modules below a folder, each with those that it imports."""
    files = {".".join(file.relative_to(sources).with_suffix("").parts): file for file in sources.rglob("*.py")}
    files = {name.removesuffix(".__init__"): file for name, file in files.items()}
    graph = {}
    for name, file in files.items():
        found = imported(ast.parse(file.read_text("utf-8")), name, is_package=file.name == "__init__.py")
        modules = {each if each in files else each.rpartition(".")[0] for each in found}
        graph[name] = modules & files.keys() - {name}
    return graph


def test_modules_import_each_other_in_no_circle(root, tmp_path):
    (tmp_path / "one.py").write_text("def f():\n    from . import two\n")
    (tmp_path / "two.py").write_text("import one\n")
    assert graph_of(tmp_path)["two"] == {"one"}
    for sources in sorted(root.glob("packages/*/src")):
        try:
            TopologicalSorter(graph_of(sources)).prepare()
        except CycleError as error:
            pytest.fail(f"{sources.parent.name}: {' imports '.join(error.args[1])}")
