"""Sentences of the pages are short, by `tools/sentences.py`."""

from __future__ import annotations

from tools import sentences


def test_sentences_of_all_pages_are_short(root):
    pages = sentences.pages(root)
    inner = [root / "docs" / "decisions" / "index.md", root / "benchmarks" / "FINDINGS.md"]
    assert {root / "README.md", root / "docs" / "index.md", *inner} <= set(pages)
    found = sentences.count([page.read_text("utf-8") for page in pages])
    assert found.number > 1000
    assert found.median <= sentences.MEDIAN
    assert found.share <= sentences.SHARE


def test_no_sentence_is_read_twice(root):
    pages = sentences.pages(root)
    assert {} == {
        page.name: long for page in pages if (long := sentences.longer(page.read_text("utf-8"), sentences.LONGEST))
    }
