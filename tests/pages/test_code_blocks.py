"""Every Python block of the READMEs and the documentation runs; a page's blocks are one program, in order."""

from __future__ import annotations

import doctest
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tools import code_blocks

import kapi_numba_offload

ROOT = Path(__file__).parents[2]
OWN_PROCESS = re.compile(r"^% own process: \w.*$", re.MULTILINE)  # a comment of MyST, with the reason


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python code blocks of a page, each with the number of the line above its first."""
    return [(block.line, block.code) for block in code_blocks.blocks(page) if block.language in code_blocks.RUN]


def program(page: Path) -> str:
    """The page's plain blocks as one program, each line on the line number that it has on the page."""
    lines = [""] * (page.read_text("utf-8").count("\n") + 1)
    for above, code in blocks(page):
        if not code.lstrip().startswith(">>>"):
            lines[above : above + code.count("\n")] = code.splitlines()
    return "\n".join(lines)


def with_blocks() -> list[Path]:
    return [page for page in code_blocks.pages() if blocks(page)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_pages_have_code_blocks():
    assert ROOT / "README.md" in with_blocks()


@pytest.fixture
def alone(page):
    """A package's README holds without the packages above it: kapi-types' functions run on the host."""
    if page.parent.name != "kapi-types":
        yield
        return
    kapi_numba_offload.unregister()
    yield
    kapi_numba_offload.register()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("page", with_blocks(), ids=name)
def test_code_blocks_run(page, tmp_path, monkeypatch, capsys):
    # As a file of its own, so that a kernel's source can be looked up as in any other program.
    script = tmp_path / f"{page.stem.lower()}_{page.parent.name.replace('-', '_')}.py"
    script.write_text(program(page), "utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    if OWN_PROCESS.search(page.read_text("utf-8")):
        done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    else:
        names = runpy.run_path(str(script))
        printed = capsys.readouterr().out
    for expected in (block.code for block in code_blocks.blocks(page) if block.fate == "compared"):
        assert is_in(expected, printed), f"{name(page)}: the output shown below a block is not what it prints"

    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for above, code in blocks(page):
        if code.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, names, name(page), str(page), above)
            failed, _ = runner.run(test, clear_globs=False)
            names.update(test.globs)
            assert not failed, f"{name(page)}, block after line {above}: the output shown is not what comes"


# Pages for authors of libraries and compilers, who take one program of a page.
TAKEN_ALONE = (
    "docs/reuse.md",
    *(f"packages/kapi-{name}/README.md" for name in ("types", "lowering", "cpu", "spirv", "ptx")),
)


@pytest.mark.parametrize("page", TAKEN_ALONE)
def test_each_block_of_pages_for_libraries_runs_alone(page, tmp_path):
    plain = [(above, code) for above, code in blocks(ROOT / page) if not code.lstrip().startswith(">>>")]
    assert plain
    for above, code in plain:
        script = tmp_path / f"block_{above}.py"
        script.write_text(code, "utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
        )
        assert done.returncode == 0, f"{page}, block after line {above}: {done.stderr}"


def is_in(expected: str, printed: str) -> bool:
    """Whether the output has been printed; in it three dots stand for a part of a line that is not always the same."""
    return bool(re.search(".*?".join(map(re.escape, expected.split("..."))), printed))


def test_dots_in_output_stand_for_a_part_of_a_line():
    assert is_in("a ... b\nc\n", "a 1 b\nc\n")
    assert not is_in("a ... b\n", "a 1\n b\n")
    assert not is_in("a (b)\n", "a b\n")


def test_program_keeps_line_numbers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\na = 1\n```\n\n```sh\nls\n```\n\n```python\nb = a\n```\n")
    assert program(page).splitlines()[3] == "a = 1"
    assert program(page).splitlines()[11] == "b = a"


def test_programs_that_are_not_run_have_a_reason(capsys):
    assert code_blocks.main() == 0, capsys.readouterr().out


def test_fates_of_blocks_are_distinguished(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\nfree\n```\n\n"
        "<!-- not compared: times -->\n\n```none\n3 ms\n```\n\n"
        "<!-- not run: it\nsleeps -->\n\n```sh\nsleep 1\n```\n\n```console\n$ ls\n```\n\n```{toctree}\na\n```\n"
    )
    fates = [(block.fate, block.reason) for block in code_blocks.blocks(page)]
    left_out = [("not compared", ""), ("not compared", "times"), ("not run", "it sleeps"), ("not run", "")]
    assert fates == [("run", ""), ("compared", ""), *left_out, ("", "")]
