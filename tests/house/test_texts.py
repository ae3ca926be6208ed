from __future__ import annotations

import os
import re
from pathlib import Path

SKIPPED = re.compile(r"\.git|\.nox|dist|_build|__pycache__|\.venv.*|\.hypothesis|.*_cache")
SUFFIXES = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cfg", ".ini", ".sh", ".cff", ".css", ".html", ".json", ""}
# A machine's paths, a registry's host, and what is left open: written so that this file does not hold what it forbids.
FORBIDDEN = re.compile(
    r"(?<![\w.])/(?:work|root|home/\w+)(?=/)"
    r"|\b(?:pypi[.]org|pythonhosted[.]org|npmjs[.]org|deb[.]debian[.]org|index[-]url)\b"
    r"|\b(?:T[O]DO|F[I]XME|X{3})\b"
)


def texts(root: Path) -> list[Path]:
    """Every text file of the tree but what tools and caches wrote."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not SKIPPED.fullmatch(name))
        # In a second work tree of git, `.git` is a file.
        named = sorted(name for name in files if not SKIPPED.fullmatch(name))
        found += [Path(folder, name) for name in named if Path(name).suffix in SUFFIXES]
    return found


def test_texts_have_no_paths_of_machines_no_hosts_and_nothing_left_open(root):
    assert len(FORBIDDEN.findall("in /" + "root/x\nfrom pypi" + ".org\nTO" + "DO: later\n")) == 3
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in texts(root)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert {root / "noxfile.py", root / ".ci" / "run"} <= set(texts(root))
    assert found == []
