"""The page of environment variables names each one that the packages read, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "model" / "environment.md"
NAME = r"(?:CUDA(?!_ERROR)|KAPI|NUMBA_DPPY|OCL_ICD|ONEAPI|XDG|NO|LD)_[A-Z][A-Z_]*[A-Z]|LOCALAPPDATA"
READ = re.compile(r"environ(?:\.get\(|\.setdefault\(|\[)\"(?P<name>\w+)\"")
CONSTANTS = {"CUDA_HOST", "CUDA_MANAGED", "KAPI_DEFAULT_TARGET"}  # of DLPack, and named in __all__


def names_in(*files: Path, quote: str) -> set[str]:
    pattern = re.compile(f"{quote}({NAME}){quote}")
    return {name for file in files for name in pattern.findall(file.read_text("utf-8"))} - CONSTANTS


def test_environment_variables_have_a_form_that_is_looked_for():
    files = ROOT.glob("packages/*/src/**/*.py")
    read = {name for file in files for name in READ.findall(file.read_text("utf-8"))}
    assert len(read) > 4
    assert {name for name in read if not re.fullmatch(NAME, name)} == set()


def test_environment_variables_are_all_on_their_page():
    read = names_in(*ROOT.glob("packages/*/src/**/*.py"), quote='"')
    assert read == names_in(PAGE, quote="`")
