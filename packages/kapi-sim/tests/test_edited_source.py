"""The simulator runs the function that it was given, whatever its file holds by now."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
import types

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language.source import is_source_of, parse_function
from kapi_sim.testing.reports import raises

TEXT = """
import math
import kapi_sim as kapi
import numpy as np

def plain(x):
    return x + 1

@kapi.device_func
def device(x):
    return x + math.sqrt(4.0) - 2.0

@kapi.kernel
def by_device(nd_item: kapi.NdItem, out):
    i = nd_item.get_global_id(0)
    kapi.group_barrier(nd_item.get_group())
    out[i] = device(i) * 2

@kapi.kernel
def by_plain(item: kapi.Item, out):
    i = item.get_id(0)
    out[i] = plain(i) * np.int32(2)
"""
EDITS = {
    "numbers": lambda text: text.replace("* 2", "* 1000").replace("x + 1", "x + 7").replace("x + math", "x + 5 + math"),
    "lines before": lambda text: "# a line\n\n\n" + text,
    "other functions": lambda text: text.replace("def plain", "def one(x):\n    return 0\n\ndef plain"),
    "no such function": lambda text: "import math\n",
    "no Python": lambda text: "(" * 5 + text,
    "nothing": lambda text: "",
}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of a file, and the file."""
    name = f"edited_{tmp_path.name.replace('-', '_')}"
    path = tmp_path / f"{name}.py"
    path.write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module(name), path
    del sys.modules[name]


def edit(path, text):
    path.write_text(text)
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))
    linecache.checkcache(str(path))


def results(kernel, space):
    out = np.zeros(3)
    kernel[space](out)
    return out.tolist()


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_edit_before_the_first_launch_changes_nothing(module, change):
    mine, path = module
    edit(path, change(TEXT))
    assert results(mine.by_device, kapi.NdRange(3, 3)) == [0, 2, 4]


@pytest.mark.parametrize("name", sorted(EDITS.keys() - {"numbers"}))
def test_function_that_is_not_decorated_and_not_found_runs_as_it_is(module, name):
    mine, path = module
    edit(path, EDITS[name](TEXT))
    assert results(mine.by_plain, kapi.Range(3)) == [2, 4, 6]


def test_edit_of_a_function_that_is_not_decorated_is_reported(module):
    """Nothing knew it before the launch."""
    mine, path = module
    edit(path, EDITS["numbers"](TEXT))
    with raises(kapi.KernelCompilationError, "source-changed"):
        results(mine.by_plain, kapi.Range(3))


def test_reloaded_module_is_the_new_one(module):
    mine, path = module
    assert results(mine.by_plain, kapi.Range(3)) == [2, 4, 6]
    edit(path, EDITS["numbers"](TEXT).replace("np.int32(2)", "np.int32(10)"))
    mine = importlib.reload(mine)
    assert results(mine.by_plain, kapi.Range(3)) == [70, 80, 90]
    assert results(mine.by_device, kapi.NdRange(3, 3)) == [5000, 6000, 7000]


def test_function_that_is_patched_in_place_is_the_new_one(module, tmp_path):
    """Act like `%autoreload`: old functions get the new code, which stands in the new file."""
    mine, path = module
    assert results(mine.by_device, kapi.NdRange(3, 3)) == [0, 2, 4]
    text = EDITS["lines before"](EDITS["numbers"](TEXT))
    edit(path, text)
    new = types.ModuleType(mine.__name__)
    exec(compile(text, str(path), "exec"), vars(new))
    mine.by_device.py_func.__code__ = new.by_device.py_func.__code__
    mine.device.py_func.__code__ = new.device.py_func.__code__
    mine.plain.__code__ = new.plain.__code__
    assert results(mine.by_device, kapi.NdRange(3, 3)) == [5000, 6000, 7000]
    assert results(mine.by_plain, kapi.Range(3)) == [14, 16, 18]


def test_source_of_each_function_is_known_for_its_own():
    """Reports of edits occur for nothing else."""
    seen, failed = 0, []
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(("kapi_sim.", "json.", "ast", "inspect", "dataclasses", "textwrap", "numpy.lib")):
            continue
        for function in vars(module).values():
            if isinstance(function, types.FunctionType) and function.__module__ == name:
                tree = parse_function(function)
                if tree is not None:
                    seen += 1
                    if not is_source_of(tree, function):
                        failed.append(f"{name}.{function.__qualname__}")
    assert seen > 300
    assert failed == []


def test_source_that_differs_in_one_token_is_none():
    def function(x):
        return x + 1 if x > 0.5 else [y for y in (1, 2, 3) if y in {1, 2}]

    tree = parse_function(function)
    assert is_source_of(tree, function)
    for old, new in (("x + 1", "x + 2"), ("x + 1", "x - 1"), ("0.5", "0.25"), ("(1, 2, 3)", "(1, 2, 4)"), ("{1", "{3")):
        names = {}
        text = "def function(x):\n    return x + 1 if x > 0.5 else [y for y in (1, 2, 3) if y in {1, 2}]\n"
        exec(compile(text.replace(old, new), "<another>", "exec"), names)
        assert not is_source_of(tree, names["function"])
