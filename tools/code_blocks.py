"""Say what becomes of each code block of the pages: run, compared, shown, or left out and why.

``python tools/code_blocks.py`` prints the list, and fails if a block is left out without a reason.  A page's
``python`` and ``pycon`` blocks are run, one after another, and a ``text`` block right after a ``python`` one must be
printed, where three dots stand for what differs from machine to machine: `tests/pages` does that.  Other programs
(``py``, ``sh``, ``console``, and the languages that kapi's users come from) are left out, and a comment above each,
``<!-- not run: REASON -->``, says why.  What else stands in a fence is output that no test compares, and the comment
above it is ``<!-- not compared: REASON -->``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "main", "pages"]

ROOT = Path(__file__).parents[1]
RUN = {"python": "run", "pycon": "run"}
BUILT = dict.fromkeys(("{kapi-exercise}", "{kapi-puzzle}", "{kapi-picture}"), "run by the build")
PROGRAMS = ("py", "sh", "bash", "console", "c", "cpp", "cuda", "opencl")
FENCE = re.compile(r"^```(?P<language>[^\s`]+)[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"<!-- (?P<fate>not run|not compared): (?P<reason>[^>]+?) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page.

    Attributes
    ----------
    page : Path
        The file.
    line : int
        Number of the line above its first one.
    language : str
        What stands after the opening fence.
    code : str
        Its lines.
    fate : str
        What becomes of it; empty for a directive that holds no program.
    reason : str
        Why a program is left out.
    """

    page: Path
    line: int
    language: str
    code: str
    fate: str
    reason: str = ""


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages of readers: the READMEs, and those of the documentation."""
    found = [*root.glob("*.md"), *root.glob("packages/*/README.md"), *root.glob("docs/**/*.md")]
    found += root.glob("packages/*/examples/**/*.md")
    made = root / "docs" / "gallery"  # from the gallery's scripts, which the build runs
    return sorted(page for page in found if made not in page.parents and "_build" not in page.parts)


def blocks(page: Path) -> Iterator[Block]:
    """Give each block of a page."""
    text = page.read_text("utf-8")
    end, before = 0, ""
    for match in FENCE.finditer(text):
        language, between = match["language"], text[end : match.start()]
        fate, reason = {**RUN, **BUILT}.get(language, ""), ""
        if language == "text" and before == "python" and between == "\n\n":
            fate = "compared"
        elif not fate and not language.startswith("{"):
            fate = "not run" if language in PROGRAMS else "not compared"
            said = REASON.search(between)
            reason = " ".join(said["reason"].split()) if said and said["fate"] == fate else ""
        line = text.count("\n", 0, match.start("code"))
        yield Block(page, line, language, match["code"], fate, reason)
        end, before = match.end(), language


def main(root: Path = ROOT) -> int:
    """Print what becomes of all blocks; 1 if one is left out without a reason, else 0."""
    found = [block for page in pages(root) for block in blocks(page)]
    examples = sorted((root / "examples" / "gallery").glob("*.py"))
    scripts = sorted(root.glob("packages/*/examples/**/*.py"))
    print(f"run by the build: {len(examples)} examples of the gallery")
    print(f"run by the packages' tests and sessions: {len(scripts)} examples of packages, and every docstring's")
    for fate, count in Counter(block.fate for block in found if block.fate).most_common():
        print(f"{fate}: {count} blocks on {len({block.page for block in found if block.fate == fate})} pages")
    left_out = [block for block in found if block.fate.startswith("not ")]
    for block in left_out:
        print(f"  {block.page.relative_to(root)}:{block.line}: {block.fate}: {block.reason or 'NO REASON'}")
    without = [block for block in left_out if not block.reason]
    if without:
        print(
            f"{len(without)} blocks must be run or compared, or have a comment above, `<!-- not run: REASON -->` of "
            "programs and `<!-- not compared: REASON -->` of output"
        )
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
