"""Every error that kapi raises has a code of the table, and every code of the table is used and tested."""

from __future__ import annotations

import ast
import re
import runpy

import pytest

TABLE = "packages/kapi-sim/src/kapi_sim/codes.py"
MAKERS = ("Finding", "KernelProblem", "KernelTypeProblem", "_add", "_add_problem", "problem_at", "problem_with")
"""Calls that are given a code beside the errors themselves."""


@pytest.fixture(scope="module")
def codes(root):
    return runpy.run_path(str(root / TABLE))["CODES"]


@pytest.fixture(scope="module")
def trees(root):
    files = sorted(set(root.glob("packages/*/src/**/*.py")) - {root / TABLE})
    return {file.relative_to(root): ast.parse(file.read_text("utf-8")) for file in files}


def name_of(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def error_classes(trees):
    """Names of `KapiError` and of all that is derived from it, in whatever package."""
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found, before = {"KapiError"}, set()
    while found != before:
        before = set(found)
        found |= {each.name for each in classes if any(name_of(base) in found for base in each.bases)}
    return found


def texts_in(tree):
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def calls_of(trees, names):
    nodes = ((file, node) for file, tree in trees.items() for node in ast.walk(tree))
    return [(file, node) for file, node in nodes if isinstance(node, ast.Call) and name_of(node.func) in names]


def test_every_error_has_a_code(trees):
    calls = calls_of(trees, error_classes(trees) - {"SpinningError"})  # it has its own
    assert len(calls) > 100
    lacking = [each for each in calls if not {"code", "problems"} & {keyword.arg for keyword in each[1].keywords}]
    assert [f"{file}:{call.lineno}: {name_of(call.func)}" for file, call in lacking] == []


def test_every_code_is_of_the_table(trees, codes):
    unknown = []
    for file, call in calls_of(trees, error_classes(trees) | set(MAKERS)):
        given = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
        if name_of(call.func) in MAKERS:
            given += [each for each in call.args[:2] if isinstance(each, ast.Constant)][:1]
        unknown += [
            f"{file}:{call.lineno}: {text}"
            for node in given
            for text in texts_in(node)
            if text and text not in codes and not text.startswith("needs-") and " " not in text
        ]
    assert unknown == []


def test_every_code_occurs_in_a_test(root, codes):
    """Its message is in a snapshot, or a test names it whose message is in none."""
    raised = set()
    for snapshot in root.glob("packages/*/tests/snapshots/messages.txt"):
        raised |= {line[1:-1] for line in snapshot.read_text("utf-8").splitlines() if line.startswith("[")}
    for file in (*root.glob("packages/*/tests/*.py"), *root.glob("tests/*/*.py")):
        if file.name != "test_codes.py":
            raised |= texts_in(ast.parse(file.read_text("utf-8")))
    assert sorted(set(codes) - raised) == []


def test_codes_are_used_terms_and_their_meanings_one_line(trees, codes):
    assert sorted(set(codes) - set().union(*map(texts_in, trees.values()))) == []
    for code, meaning in codes.items():
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", code), code
        assert re.fullmatch("[^\n]{10,110}[^.\n]", meaning), code
