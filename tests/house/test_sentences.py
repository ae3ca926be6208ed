"""Sentences of the pages are short, by `tools/sentences.py`."""

from __future__ import annotations

from tools import sentences


def test_sentences_of_all_pages_are_short(root):
    pages = sentences.pages(root)
    assert {root / "README.md", root / "docs" / "index.md", root / "docs" / "decisions" / "index.md"} <= set(pages)
    found = sentences.count([page.read_text("utf-8") for page in pages])
    assert found.number > 1000
    assert found.median <= sentences.MEDIAN
    assert found.share <= sentences.SHARE
