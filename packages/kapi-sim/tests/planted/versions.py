"""Texts of several versions: comments at the ends of lines say which version has them.

``# wrong`` stands at a line of that version alone, ``# not wrong`` at one of all others, and what follows ``# wrong:``
replaces the line there.  ``# named``, or ``# named in wrong``, is kept in the text of the version: a report must name the
line.  Commas stand between several marks.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["names_of", "text_of"]


def text_of(text: str, version: str, versions: Sequence[str]) -> str:
    """The text of one version, each line at its place."""
    one = "|".join(versions)
    mark = rf"(?:not )?(?:{one})|named(?: in (?:{one}))?"
    marked = re.compile(
        rf"(?P<code>(?P<indent> *).*)  # (?P<marks>(?:(?:{mark}), )*)(?:(?P<last>{mark})|(?P<place>{one}): (?P<other>.*))"
    )

    def line_of(line: str) -> str:
        parts = marked.fullmatch(line)
        if not parts:
            return line
        marks = {*parts["marks"].split(", "), parts["last"]}
        only = marks & {*versions}
        if f"not {version}" in marks or (only and version not in only):
            return ""
        code = parts["indent"] + parts["other"] if parts["place"] == version else parts["code"]
        return f"{code}  # named" if marks & {"named", f"named in {version}"} else code

    return "\n".join(map(line_of, text.splitlines()))


def names_of(path: Path, version: str, versions: Sequence[str]) -> dict[str, Any]:
    """Names that a module defines in one version, in which ``kernel`` has the version's name."""
    text = text_of(path.read_text(encoding="utf-8"), version, versions).replace("def kernel(", f"def {version}(")
    file = f"{version}/{path.name}"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names: dict[str, Any] = {"__name__": f"{path.stem}_{version}"}
    exec(compile(text, file, "exec"), names)
    return names
