"""Pages are read once: their sentences are short, by `tools/sentences.py`."""

from __future__ import annotations

from tools import sentences


def test_sentences_of_all_pages_are_short(root):
    found = sentences.count([page.read_text("utf-8") for page in sentences.pages(root)])
    assert found.number > 1000
    assert found.median <= sentences.MEDIAN
    assert found.share <= sentences.SHARE


def test_pages_are_found_with_decisions(root):
    found = sentences.pages(root)
    assert {root / "README.md", root / "docs" / "index.md", root / "packages" / "kapi-sim" / "README.md"} <= set(found)
    assert [page for page in found if "decisions" in page.parts]
    assert not [page for page in found if "gallery" in page.parts or "_build" in page.parts]


def test_tables_code_and_headings_are_no_sentences():
    text = (
        "# A title here\n\nOne `a.b c` two. Three\nfour, e.g. five! [Six seven](page.md) eight.\n\n| a b | c d |\n\n"
        "```python\nx = 1. Y = 2\n```\n\n<!-- a remark -->\n\n- An item: it\n  goes on\n- Another one.\n\n"
        ":::{container} x\nWithin SPIR-V. A container.\n:::\n"
    )
    assert list(sentences.sentences(text)) == [
        "One `code` two.",
        "Three four, e.g. five!",
        "Six seven eight.",
        "An item: it goes on",
        "Another one.",
        "Within SPIR-V.",
        "A container.",
    ]


def test_count_has_number_median_and_share_of_long_sentences():
    long = " ".join(["Word"] * 36)
    assert sentences.count([f"One two three. {long}.", "Four five. Six seven."]) == sentences.Count(4, 2.5, 0.25)
    assert sentences.count([""]) == sentences.Count(0, 0, 0)


def test_script_fails_beyond_a_limit(tmp_path, capsys):
    page = tmp_path / "README.md"
    page.write_text("Short it is.\n")
    assert sentences.main(tmp_path) == 0
    page.write_text(" ".join(["word"] * 40) + ".\n")
    assert sentences.main(tmp_path) == 1
    assert "README.md: 40 words: word word" in capsys.readouterr().out
