"""Tables that are written by hand name what the packages have: options, public names, sizes."""

from __future__ import annotations

import ast
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest
from tools import code_blocks

from kapi_runtime.cache import disk_cache
from kapi_sim import environment_variables
from kapi_sim.language import COMMON_NAMES
from kapi_sim.language.launchables.options import FAST_MATH_FLAGS, KernelOptions

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "docs" / "model"


def text(path: Path) -> str:
    return path.read_text("utf-8")


def test_options_are_all_in_their_table_with_their_defaults():
    shown = re.findall(r"^\| `(\w+)=([^`]+)` \|", text(MODEL / "options.md"), re.MULTILINE)
    defaults = {field.name: field.default for field in fields(KernelOptions)}
    assert {name: ast.literal_eval(value) or None for name, value in shown} == {
        name: value or None for name, value in defaults.items()
    }


def test_flags_of_fastmath_are_all_named():
    (row,) = re.findall(r"^\| `fastmath=.*$", text(MODEL / "options.md"), re.MULTILINE)
    assert set(FAST_MATH_FLAGS) <= set(re.findall(r"`(\w+)`", row))


def test_cache_size_is_the_default():
    (size,) = re.findall(r"in megabytes, (\d+) by default", environment_variables.CACHE_SIZE.meaning)
    assert int(size) == disk_cache.DEFAULT_SIZE


def test_intrinsics_are_all_in_the_table_of_kapi_sim():
    table = text(ROOT / "packages" / "kapi-sim" / "README.md").partition("## What is in it")[2].partition("## ")[0]
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", table))))
    kinds = {name for name in COMMON_NAMES if not name.endswith(("Error", "Warning"))}
    assert kinds - named == set()


PACKAGES = ("kapi_sim", "kapi_types", "kapi_lowering", "kapi_spirv", "kapi_ptx", "kapi_runtime", "kapi_numba_offload")
PROSE = [page for page in code_blocks.pages() if "coming_from" not in page.parts]


@pytest.mark.parametrize("package", PACKAGES)
def test_names_in_prose_exist(package):
    named = re.compile(rf"`(?:@|with |import |await )?({package}(?:\.\w+)+)")
    missing = []
    for page in PROSE:
        for name in named.findall(code_blocks.FENCE.sub("", text(page))):
            try:
                pkgutil.resolve_name(name)
            except (AttributeError, ImportError):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert missing == []
