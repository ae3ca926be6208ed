"""A class name has one meaning in all packages."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

ONE_CONCEPT = {
    "BoundLaunch": "what `Kernel.bind` returns, in both worlds",
    "Kernel": "what `kernel` makes, in both worlds",
    "Profile": "the simulator's, which a device ignores",
    # numba.cuda's names, which its programs spell
    "Context": "what is current on a device, which numba.cuda's programs may only pretend to have",
    "Device": "a device, which numba.cuda's programs may only pretend to have",
    "Event": "a mark in the work of a queue, which numba.cuda calls a stream",
    "MemoryInfo": "the bytes of a device's memory",
}
"""Names that several packages give to one concept, by contract; each with that concept."""


@pytest.fixture(scope="module")
def places(root):
    found = defaultdict(list)
    for file in sorted(root.glob("packages/*/src/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{file.relative_to(root)}:{node.lineno}")
    return found


def test_class_names_have_one_meaning(places):
    assert len(places) > 400
    twice = {name: where for name, where in places.items() if len(where) > 1 and name not in ONE_CONCEPT}
    assert not twice, "give one of each its own name"


@pytest.mark.parametrize("name", ONE_CONCEPT)
def test_names_of_one_concept_are_used_by_several(places, name):
    assert len(places[name]) > 1, "take it from the list"
