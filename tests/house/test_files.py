from __future__ import annotations

import re
from collections import Counter

import pytest
from tools.packages import DISTRIBUTIONS

ROOM = 14
"""Most modules that a room has, `__init__` included."""
LONGEST = 550
"""Most lines that a module has; most have far fewer."""
ONE_EACH = ("numba_cuda", "puzzles", "answers")
"""Rooms that have a module for each name of numba.cuda, or for each exercise."""


@pytest.fixture(params=DISTRIBUTIONS)
def package(request, root):
    return root / "packages" / request.param


def test_package_has_its_licence_a_changelog_and_fragments_of_known_kinds(package, root):
    assert (package / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
    assert "<!-- fragments are inserted below this line -->\n" in (package / "CHANGELOG.md").read_text("utf-8")
    names = [entry.name for entry in (package / "changes").iterdir() if not entry.name.startswith(".")]
    wrong = [n for n in names if not re.fullmatch(r"(\d+|\+[\w-]+)\.(removed|changed|added|fixed)(\.\d+)?\.md", n)]
    assert not wrong, f"fragments must be named like 12.added.md, got {wrong}"


def test_rooms_have_few_modules_and_modules_few_lines(package):
    files = list((package / "src").rglob("*.py"))
    rooms = Counter(file.parent for file in files if file.parent.name not in ONE_EACH)
    assert max(rooms.values()) > 3
    assert not {room: count for room, count in rooms.items() if count > ROOM}
    lines = {file: len(file.read_text("utf-8").splitlines()) for file in files}
    assert max(lines.values()) > 100
    assert not {file: count for file, count in lines.items() if count > LONGEST}
