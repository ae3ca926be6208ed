"""Count the sentences of the pages: how many, how long, and which are too long.

``python tools/sentences.py`` prints a line for each page and one for all together, and the sentences that are longer
than `LONG` words.  Pages are the READMEs, the other texts at the top, the documentation, and the findings.
Tables, code, comments, headings and lists of links to pages are left out.  A piece of code in a line is one word, and
so is a list of them.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LONG", "LONGEST", "MEDIAN", "SHARE", "Count", "count", "longer", "main", "pages", "sentences"]

ROOT = Path(__file__).parents[1]
LONG = 35  # words: a sentence of more is read twice
MEDIAN = 14  # words, at most
SHARE = 0.02  # of the sentences may be long
LONGEST = 40  # words, at most

CONTAINER = re.compile(r"^:{3,}[^\n]*$", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SKIPPED = re.compile(r"\s*(\||#|%|\(\w[\w-]*\)=|<|$)")  # rows of tables, headings, comments of MyST, anchors, HTML
ITEM = re.compile(r"^\s*([-*:]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[)*_\"”]*\s+(?=[\"“(*_`\[]*[A-Z0-9`\[(*])")
SHORT_FORM = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|No|Fig)|(?<![\w-])[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Count:
    """Counts of one page, or of all.

    Attributes
    ----------
    number : int
        Sentences.
    median : float
        Words of the one in the middle.
    share : float
        Part of them that has more than `LONG` words, from 0 to 1.
    """

    number: int
    median: float
    share: float


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages whose sentences are counted."""
    found = [*root.glob("*.md"), *root.glob("packages/*/README.md"), *root.glob("docs/**/*.md")]
    found += root.glob("benchmarks/*.md")
    left_out = (root / "docs" / "gallery", root / "docs" / "_build")
    return sorted(page for page in found if not any(folder in page.parents for folder in left_out))


def sentences(text: str) -> Iterator[str]:
    """Give each sentence of a page, in plain text."""
    text = CONTAINER.sub("", COMMENT.sub("", _without_code(text)))
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        if SKIPPED.match(line) or ITEM.match(line):
            yield from _split(" ".join(paragraph))
            paragraph = []
        if not SKIPPED.match(line):
            paragraph.append(ITEM.sub("", line, count=1).strip())


def _without_code(text: str) -> str:
    kept, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,})", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif mark:
            fence = mark[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _split(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph; a piece of code in a line becomes one word, a link its text."""
    plain = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", paragraph)
    plain = re.sub(r"\{[\w:-]+\}`~?([^`]+)`", "`code`", plain)
    plain = re.sub(r"`+[^`]+`+", "`code`", plain)
    plain = re.sub(r"`code`(?:, `code`){3,}", "`code`", plain)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    parts: list[str] = []
    for part in END.split(plain):
        if parts and SHORT_FORM.search(parts[-1]):
            parts[-1] += " " + part
        else:
            parts.append(part)
    yield from (part.strip() for part in parts if len(_words(part)) > 1)


def _words(sentence: str) -> list[str]:
    return [word for word in sentence.split() if re.search(r"\w", word)]


def count(texts: list[str]) -> Count:
    """Count the sentences of some pages."""
    lengths = [len(_words(sentence)) for text in texts for sentence in sentences(text)]
    if not lengths:
        return Count(0, 0, 0)
    return Count(len(lengths), statistics.median(lengths), sum(length > LONG for length in lengths) / len(lengths))


def longer(text: str, words: int) -> list[str]:
    """Return the sentences of a page that have more than some words."""
    return [sentence for sentence in sentences(text) if len(_words(sentence)) > words]


def main(root: Path = ROOT) -> int:
    """Print the counts and the long sentences; 1 if all pages together, or one sentence, are beyond a limit, else 0."""
    texts = {page: page.read_text("utf-8") for page in pages(root)}
    print("sentences  median  over 35")
    for page, text in texts.items():
        found = count([text])
        if found.number:
            print(f"{found.number:9}  {found.median:6g}  {found.share:7.1%}  {page.relative_to(root)}")
    total = count(list(texts.values()))
    print(f"{total.number:9}  {total.median:6g}  {total.share:7.1%}  all")
    for page, text in texts.items():
        for sentence in longer(text, LONG):
            print(f"{page.relative_to(root)}: {len(_words(sentence))} words: {sentence}")
    within = not any(longer(text, LONGEST) for text in texts.values())
    return 0 if within and total.median <= MEDIAN and total.share <= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
