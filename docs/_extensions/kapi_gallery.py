"""Pages of the gallery begin with their picture: sphinx-gallery puts it where the code that draws it ends.

They load nothing from other hosts: an animation asks for a font of signs, in whose place `kapi.css` has signs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_PICTURE = re.compile(r"\.\. image-sg:: (?P<file>\S+)\n(?:   :[^\n]*\n)+")
_FONT = re.compile(r'<link rel="stylesheet"\s+href="https://[^"]*font-awesome[^"]*">')
_TITLE = re.compile(r"^(?P<title>\S[^\n]*)\n=+\n", re.MULTILINE)


def picture_first(app: Sphinx, docname: str, source: list[str]) -> None:
    """Move the page's picture below its title; of an animation, the moving picture, whose controls stay below."""
    text = source[0] = _FONT.sub("", source[0])
    title = _TITLE.search(text)
    name = docname.removeprefix("gallery/")
    animation = Path(app.srcdir, "gallery", "images", f"sphx_glr_{name}_001.gif")
    found = _PICTURE.search(text)
    if not docname.startswith("gallery/") or title is None or not (found or animation.exists()):
        return
    file = found["file"] if found else f"/gallery/images/{animation.name}"
    picture = f"\n.. image:: {file}\n   :alt: {title['title']}\n   :class: sphx-glr-single-img\n"
    rest = text[title.end() :]
    source[0] = text[: title.end()] + picture + (_PICTURE.sub("", rest, count=1) if found else rest)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the change of sources."""
    app.connect("source-read", picture_first)
    return {"parallel_read_safe": True}
