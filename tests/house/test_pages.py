"""Sentences of the pages are short, and CONTRIBUTING explains the sessions."""

from __future__ import annotations

import re
import subprocess
import sys

from tools import sentences


def test_sentences_of_all_pages_are_short(root):
    pages = sentences.pages(root)
    inner = [root / "docs" / "decisions" / "index.md", root / "benchmarks" / "FINDINGS.md"]
    assert {root / "README.md", root / "docs" / "index.md", *inner} <= set(pages)
    texts = {page.name: page.read_text("utf-8") for page in pages}
    found = sentences.count(list(texts.values()))
    assert found.number > 1000
    assert found.median <= sentences.MEDIAN
    assert found.share <= sentences.SHARE
    assert {name: long for name, text in texts.items() if (long := sentences.longer(text, sentences.LONGEST))} == {}


def test_sessions_are_listed_with_help_and_explained(root, projects):
    command = [sys.executable, str(root / "noxfile.py"), "-l"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    listing = dict(re.findall(r"^[-*] (\S+) -> (.+)$", printed, re.MULTILINE))
    sessions = {name.partition("(")[0] for name in listing}
    assert {"demo", "tests", "house", "isolated", "gpu", "docs-live"} < sessions
    assert all(line.endswith(".") for line in listing.values())
    assert [name for name in listing if name.startswith("isolated")] == [f"isolated({dist})" for dist in projects]
    explained = re.findall(r"^\| `([\w-]+)` \|", (root / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(sessions)
