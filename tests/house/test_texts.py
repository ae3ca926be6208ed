from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

SKIPPED = {".git", ".nox", "dist", "_build", "__pycache__", ".venv", ".hypothesis"}
SUFFIXES = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cfg", ".ini", ".sh", ".cff", ".css", ".html", ".json", ""}

# Written so that this file does not hold what it forbids.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home/\w+)(?=/)")
REGISTRY_HOST = re.compile(r"\b(?:pypi[.]org|pythonhosted[.]org|npmjs[.]org|deb[.]debian[.]org|index[-]url)\b")
LEFT_OPEN = re.compile(r"\b(?:T[O]DO|F[I]XME|X{3})\b")


def texts(root: Path) -> list[Path]:
    """Every text file of the tree but what tools and caches wrote."""
    result = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not re.match(r"\.venv|.*_cache$", name))
        # In a second work tree of git, `.git` is a file.
        named = sorted(name for name in files if name not in SKIPPED)
        result += [Path(folder, name) for name in named if Path(name).suffix in SUFFIXES]
    return result


def found(root: Path, pattern: re.Pattern[str]) -> list[str]:
    """Each occurrence of a pattern as ``file:line: text``."""
    return [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in texts(root)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("forbidden", [MACHINE_PATH, REGISTRY_HOST, LEFT_OPEN])
def test_texts_have_no_paths_of_machines_no_hosts_and_nothing_left_open(root, tmp_path, forbidden):
    (tmp_path / "a.md").write_text("in /" + "root/x\nfrom pypi" + ".org\nTO" + "DO: later\n")
    assert len(found(tmp_path, forbidden)) == 1
    assert {root / "noxfile.py", root / ".ci" / "run"} <= set(texts(root))
    assert found(root, forbidden) == []
