from __future__ import annotations

import os
import re

import pytest
from tools import interpreters
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


def test_package_has_a_changelog_and_fragments_of_known_kinds(package):
    assert "<!-- fragments are inserted below this line -->\n" in (package / "CHANGELOG.md").read_text("utf-8")
    names = [entry.name for entry in (package / "changes").iterdir() if not entry.name.startswith(".")]
    wrong = [n for n in names if not re.fullmatch(r"(\d+|\+[\w-]+)\.(removed|changed|added|fixed)(\.\d+)?\.md", n)]
    assert not wrong, f"fragments must be named like 12.added.md, got {wrong}"


def test_rooms_have_few_modules(package):
    rooms = [folder for folder in (package / "src").rglob("*") if folder.is_dir() and folder.name not in ONE_EACH]
    counts = {str(room.relative_to(package)): len(list(room.glob("*.py"))) for room in rooms}
    assert max(counts.values()) > 3
    assert not {room: count for room, count in counts.items() if count > ROOM}


def test_modules_are_short(package):
    lines = {file.name: len(file.read_text("utf-8").splitlines()) for file in (package / "src").rglob("*.py")}
    assert max(lines.values()) > 100
    assert not {file: count for file, count in lines.items() if count > LONGEST}


def test_package_licence_is_the_repository_s(package, root):
    assert (package / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()


def test_ci_runs_the_readme_s_test_command_on_every_python_and_nothing_else(root):
    command = "python3 noxfile.py -s tests"
    assert command in (root / "README.md").read_text("utf-8")
    assert os.access(root / ".ci" / "run", os.X_OK)
    script = (root / ".ci" / "run").read_text("utf-8")
    assert [line for line in script.splitlines() if line and not line.startswith("#")] == [
        "set -euo pipefail",
        'cd "$(dirname "${BASH_SOURCE[0]}")/.."',
        f"export KAPI_PYTHONS={','.join(interpreters.SUPPORTED)}",
        f"exec {command}",
    ]
