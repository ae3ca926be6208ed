from __future__ import annotations

import re


def test_index_of_decisions_names_each_page_by_its_title(root):
    folder = root / "docs" / "decisions"
    pages = {page.stem: page.read_text("utf-8").splitlines()[0].removeprefix("# ") for page in folder.glob("*.md")}
    del pages["index"]
    listed = re.findall(r"^- \[(.+)\]\(([\w-]+)\.md\)$", (folder / "index.md").read_text("utf-8"), re.MULTILINE)
    assert {name: title for title, name in listed} == pages
