"""`lineinfo=True`: the lines of the source in PTX, as directives, and the same instructions as without."""

from __future__ import annotations

import inspect
import math
import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_ptx import PtxTarget, compile_kernel, compile_ptx
from kapi_sim.language import KernelOptions
from kapi_types import ArrayType, ItemType

F32 = ArrayType(types.float32, 1, "C")
LINES = KernelOptions(lineinfo=True)
WRITTEN = re.compile(r"^\s*(\.loc|\.file|\.section|\$L__tmp)|^\$L__(tmp|func_\w+)\d*:|^//|^\s*$")


@kapi.device_func
def shrunk(value):
    half = value * 0.5
    return math.sin(half)  # libdevice's code has no lines of its own


def kernel(item, source, target):
    i = item.get_id(0)
    if source[i] > 1.0:
        target[i] = shrunk(source[i])
    else:
        target[i] = source[i] / 3.0


def line_of(function, text):
    """The line of a function's source that has this text."""
    lines, first = inspect.getsourcelines(getattr(function, "py_func", function))
    return first + next(number for number, line in enumerate(lines) if text in line)


def source_lines(module):
    """The file and line of each directive."""
    files = dict(re.findall(r'^\t\.file\t(\d+) "(.*)"', module.ptx, re.MULTILINE))
    return {(files[file], int(line)) for file, line in re.findall(r"^\t\.loc\t(\d+) (\d+) ", module.ptx, re.MULTILINE)}


def instructions(module):
    """The code without directives; labels are renumbered, since marks of lines are counted among them."""
    return [line for line in module.ptx.splitlines() if not WRITTEN.match(line)]


@pytest.mark.parametrize("inline", ["always", "never"])
def test_lines_of_kernel_and_functions_are_in_the_ptx(assembled_compile, inline):
    options = KernelOptions(lineinfo=True, inline=inline)
    module = assembled_compile(kernel, [ItemType(1), F32, F32], target=PtxTarget(80), options=options)
    wanted = {(kernel, "source[i] > 1"), (kernel, "/ 3.0"), (shrunk, "* 0.5")} if inline == "never" else set()
    wanted |= {(kernel, "source[i] > 1"), (shrunk, "* 0.5"), (shrunk, "math.sin")}
    assert {(__file__, line_of(*each)) for each in wanted} <= source_lines(module)
    assert {line for file, line in source_lines(module) if file == __file__} <= {
        0,
        *lines_of(kernel),
        *lines_of(shrunk),
    }


def lines_of(function):
    lines, first = inspect.getsourcelines(getattr(function, "py_func", function))
    return range(first, first + len(lines))


def test_nothing_else_differs(assembled_compile):
    signature = [ItemType(1), F32, F32]
    plain = assembled_compile(kernel, signature, target=PtxTarget(80))
    lined = assembled_compile(kernel, signature, target=PtxTarget(80), options=LINES)
    assert not source_lines(plain)
    assert instructions(plain) == instructions(lined)
    assert ", debug" not in lined.ptx


@pytest.mark.parametrize("name", ['a "quoted" name', "größe", "back\\slash", "new\nline"])
def test_file_of_any_name_is_written(assemble, name):
    names: dict[str, object] = {}
    exec(compile("\n\ndef named(item, x):\n    x[item.get_id(0)] = 1\n", name, "exec"), names)
    module = compile_kernel(names["named"], [ItemType(1), F32], target=PtxTarget(80), options=LINES)
    assert assemble([module]) == ""
    assert re.search(r"^\t\.loc\t1 4 ", module.ptx, re.MULTILINE)


def test_functions_for_others_have_lines(assemble):
    code, _ = compile_ptx(shrunk.py_func, [types.float32], device_function=True, target=PtxTarget(80), lineinfo=True)
    assert f"\t.loc\t1 {line_of(shrunk, '* 0.5')} " in code.decode()
