from __future__ import annotations

import re


def test_index_of_decisions_names_each_page_by_its_title(root):
    folder = root / "docs" / "decisions"
    text = (folder / "index.md").read_text("utf-8")
    pages = {page.stem: page.read_text("utf-8").splitlines()[0].removeprefix("# ") for page in folder.glob("*.md")}
    del pages["index"]
    listed = {name: title for title, name in re.findall(r"^- \[(.+)\]\(([\w-]+)\.md\)$", text, re.MULTILINE)}
    assert listed == pages
    assert sorted(re.findall(r"^[\w-]+$", text, re.MULTILINE)) == sorted(pages)
