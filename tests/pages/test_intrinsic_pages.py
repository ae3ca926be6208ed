"""Every word of the language is described once, on a page with an example that uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools import code_blocks

import kapi_runtime
import kapi_sim
from kapi_sim.language import rows

FOLDER = Path(__file__).parents[2] / "docs" / "model" / "intrinsics"
PAGES = {page: page.read_text("utf-8") for page in sorted(FOLDER.glob("*.md"))}


def directives(name):
    return {argument: page for page, text in PAGES.items() for argument in re.findall(rf"\{{{name}\}} ([\w.]+)", text)}


def test_each_word_has_a_description_or_stands_in_a_list():
    listed = {*directives("kapi-queries"), *directives("kapi-functions")}
    described = list(directives("kapi-word"))
    wanted = [row.key for row in rows() if row.owner not in listed and row.family != "random"]
    assert sorted(described) == sorted(wanted)


@pytest.mark.parametrize("key", sorted(directives("kapi-word")))
def test_each_described_word_has_an_example_on_its_page(key):
    page = directives("kapi-word")[key]
    code = "".join(block.code for block in code_blocks.blocks(page) if block.language == "python")
    assert re.search(rf"\b{key.rpartition('.')[2]}\(", code)


@pytest.mark.parametrize("package", [kapi_sim, kapi_runtime], ids=lambda package: package.__name__)
def test_reference_has_every_public_name_of_the_package(package):
    pages = "\n".join(
        page.read_text("utf-8") for page in (FOLDER.parents[1] / "reference" / package.__name__).glob("*.md")
    )
    described = set(re.findall(r"^\.\. auto\w+:: (?:[\w.]+\.)?(\w+)$", pages, re.MULTILINE))
    own = {name for name in package.__all__ if package is kapi_sim or not hasattr(kapi_sim, name)}
    assert own - described == set()


@pytest.mark.parametrize("package", [kapi_sim, kapi_runtime], ids=lambda package: package.__name__)
def test_overview_of_the_reference_names_what_its_pages_describe(package):
    folder = FOLDER.parents[1] / "reference"
    overview = (folder / f"{package.__name__}.md").read_text("utf-8")
    for page in (folder / package.__name__).glob("*.md"):
        (line,) = [line for line in overview.splitlines() if f"({package.__name__}/{page.name})" in line]
        listed = re.findall(r"`([\w.]+)`", line)
        described = re.findall(r"^\.\. auto(?:class:: (?:\S+\.)?|\w+:: )(\S+)$", page.read_text("utf-8"), re.MULTILINE)
        assert listed == described, page.name
