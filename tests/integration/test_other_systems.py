"""The answers to names of other systems that name kapi's device packages name what is there."""

import ast
import operator
import re

import dpnp
import numba
import pytest

import kapi_ptx
import kapi_runtime
from kapi_sim.language.other_systems import SYSTEMS

MODULES = {"dpnp": dpnp, "kapi_ptx": kapi_ptx, "kapi_runtime": kapi_runtime, "numba": numba}
TEXTS = [text for system in SYSTEMS for text in (*system.words.values(), *system.common_words.values())]
CODES = sorted({code for text in TEXTS for code in re.findall("`([^`]*)`", text) if code.startswith(tuple(MODULES))})


@pytest.mark.parametrize("code", CODES)
def test_names_of_the_device_packages_are_there(code):
    names = [ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)]
    plain = [name.split(".") for name in names if "(" not in name and name.split(".")[0] in MODULES]
    assert plain
    for module, *rest in plain:
        assert operator.attrgetter(".".join(rest))(MODULES[module]) is not None or rest == ["devices", "current"]


def test_answers_name_the_device_packages():
    assert len(CODES) > 15
