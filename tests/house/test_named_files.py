"""What ARCHITECTURE.md, CONTRIBUTING.md and the READMEs name is there: files, modules, tests and sessions."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"_?kapi_(?:sim|types|spirv|runtime|numba_offload)(?:[./]\w+)+(?:\.\w+)?/?")
FILE = re.compile(r"[\w./*-]+\.(?:py|md|toml|txt|svg|png)|(?:[\w.*-]+/)+")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
MADE = {".git", ".nox", "dist", "_build", "__pycache__", ".venv", ".hypothesis"}
PLACEHOLDERS = ("NAME", "<", "_name.py", ".nox/")  # what a reader puts in, or a session makes


@pytest.fixture(scope="module")
def tracked(root):
    """Every file and folder of the repository but what tools and builds make, by its path."""
    found = set()
    for folder, folders, files in os.walk(root):
        made = root / "docs" / "gallery" == Path(folder)
        folders[:] = (
            [] if made else [name for name in folders if name not in MADE and not re.match(r"\.venv|.*_cache$", name)]
        )
        found |= {Path(folder, name).relative_to(root).as_posix() for name in (*folders, *([] if made else files))}
    return found


def spans(root: Path, page: str) -> list[str]:
    """The code in a page's prose."""
    return [span for span in SPAN.findall(FENCE.sub("", (root / page).read_text("utf-8"))) if "=" not in span]


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(root, tracked, page):
    named = [span for span in spans(root, page) if FILE.fullmatch(span) and not any(p in span for p in PLACEHOLDERS)]
    named += [target for target in LINK.findall((root / page).read_text("utf-8")) if ":" not in target]
    assert [name for name in named if not is_there(name.rstrip("/"), tracked)] == []
    assert named


def is_there(name: str, tracked: set[str]) -> bool:
    """Whether a path, or the end of one, is the repository's; stars stand for a part."""
    pattern = re.compile(r"(?:.*/)?" + re.escape(name).replace(r"\*", r"[^/]*"))
    return any(pattern.fullmatch(file) for file in tracked)


@pytest.mark.parametrize("page", PAGES[:2])
def test_modules_that_are_named_exist(root, tracked, page):
    missing = []
    for span in spans(root, page):
        if DOTTED.fullmatch(span) and not is_module_or_name(root, span.replace("/", "."), tracked):
            missing.append(span)
    assert missing == []


def is_module_or_name(root: Path, dotted: str, tracked: set[str]) -> bool:
    """Whether it is a module or package, or a name that the module before its last dot has in its source."""
    path = dotted.removesuffix(".py").rstrip(".").replace(".", "/")
    if is_there(f"src/{path}.py", tracked) or is_there(f"src/{path}", tracked):
        return True
    parent, _, name = path.rpartition("/")
    return any(
        re.search(rf"\b{name}\b", (root / file).read_text("utf-8"))
        for file in tracked
        if file.endswith((f"src/{parent}.py", f"src/{parent}/__init__.py"))
    )


@pytest.mark.parametrize("page", PAGES[:2])
def test_tests_that_are_named_exist(root, tracked, page):
    named = {span for span in spans(root, page) if re.fullmatch(r"test_\w+(?:\.py)?", span)}
    sources = [root / file for file in tracked if re.search(r"(?:^|/)test_\w+\.py$", file)]
    known = {path.stem for path in sources}
    for path in sources:
        known |= set(re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE))
    assert {name.removesuffix(".py") for name in named} - known == set()


def test_names_that_are_not_there_are_found(root, tracked):
    assert is_there("tools/code_blocks.py", tracked)
    assert is_there("packages/*/README.md", tracked)
    assert not is_there("tools/code_boxes.py", tracked)
    assert is_module_or_name(root, "kapi_sim.language.KernelOptions", tracked)
    assert not is_module_or_name(root, "kapi_sim.language.KernelWishes", tracked)


def test_words_of_code_in_the_architecture_are_those_of_the_sources(root, tracked):
    files = [file for file in tracked if re.match(r"(?:packages/[^/]+/(?:src|tests)|tools)/.*\.(?:py|toml)$", file)]
    files += ["noxfile.py", "pyproject.toml", *(str(path.relative_to(root)) for path in root.glob("packages/*/*.toml"))]
    known = {Path(file).stem for file in tracked} | {Path(file).name for file in tracked}
    for file in files:
        known |= set(re.findall(r"\w+", (root / file).read_text("utf-8")))
    words = {span for span in spans(root, "ARCHITECTURE.md") if re.fullmatch(r"[a-z_]\w+", span)}
    assert len(words) > 10
    assert words - known == set()
