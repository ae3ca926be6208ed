"""Names and addresses that nobody has decided yet: listed, counted, and filled in once they are known.

``python tools/placeholders.py`` prints where each stands, and fails while there is one: the release workflow runs it.
``python tools/placeholders.py --repository ADDRESS --contact ADDRESS`` puts the real ones in their places.

The repository's address stands for the places that hang on it, too: its issues and its private reports.  The host is
one that the standard reserves for names that never resolve, so no link leads to a stranger before it is filled in.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONTACT", "REPOSITORY", "Place", "fill", "main", "places"]

ROOT = Path(__file__).parents[1]

# In two parts, so that this file holds none.
_MARK = "PLACEHOLDER" + "-"
_HOST = "example." + "invalid"
REPOSITORY = f"https://{_HOST}/{_MARK}owner/kapi"
CONTACT = f"{_MARK}contact@{_HOST}"

_ANY = re.compile(rf"{re.escape(_MARK)}\w*|\b{re.escape(_HOST)}\b")
_MADE = {".git", ".nox", "dist", "_build", "gallery", "__pycache__", "node_modules"}


@dataclass(frozen=True, slots=True)
class Place:
    """One line that holds a placeholder.

    Attributes
    ----------
    file : Path
        Where it stands, from the repository's folder.
    line : int
        Number of the line.
    text : str
        The placeholder: one of the two that are known, or what else has their mark.
    """

    file: Path
    line: int
    text: str


def places(root: Path = ROOT) -> list[Place]:
    """Return every place of a placeholder in the tree.

    Parameters
    ----------
    root : Path
        The repository.
    """
    found = []
    for path in _texts(root):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            known = [text for text in (REPOSITORY, CONTACT) for _ in range(line.count(text))]
            rest = line.replace(REPOSITORY, "").replace(CONTACT, "")
            found += [Place(path.relative_to(root), number, text) for text in [*known, *_ANY.findall(rest)]]
    return found


def fill(root: Path, repository: str, contact: str) -> None:
    """Put the real addresses in the places of the two that are known.

    Parameters
    ----------
    root : Path
        The repository.
    repository, contact : str
        Its address, and that to which a report of conduct is sent.
    """
    for file in {place.file for place in places(root)}:
        text = (root / file).read_text("utf-8")
        text = text.replace(REPOSITORY, repository.rstrip("/")).replace(CONTACT, contact)
        (root / file).write_text(text, "utf-8", newline="\n")


def _texts(root: Path) -> list[Path]:
    """Every file of the tree that is text, but what tools and builds made."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _MADE and not re.match(r"\.venv|.*_cache$", name))
        found += [Path(folder, name) for name in sorted(files) if _is_text(Path(folder, name))]
    return found


def _is_text(path: Path) -> bool:
    try:
        path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Fill in what is given, print what remains, and return 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", help="the repository's address, such as https://host/owner/kapi")
    parser.add_argument("--contact", help="an e-mail address")
    options = parser.parse_args(arguments)
    if options.repository or options.contact:
        fill(root, options.repository or REPOSITORY, options.contact or CONTACT)
    remaining = places(root)
    for (file, text), count in Counter((place.file.as_posix(), place.text) for place in remaining).items():
        print(f"{file}: {text}" + (f" ({count} times)" if count > 1 else ""))
    print(f"{len(remaining)} placeholders in {len({place.file for place in remaining})} files")
    return 1 if remaining else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
