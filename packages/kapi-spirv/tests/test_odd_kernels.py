"""Kernels that are none: every one is refused with its lines and plain words, and nothing ends the process.

`odd_kernels.txt` holds a body for each case, between empty lines, and the code of each problem with it: `! line: code`.
Bodies that are entire functions begin with `def body` or `async def body`.
`odd_kernels_since_3_12.txt` holds those whose syntax that Python is the first to have.
The simulator refuses them as well; where it does not, `? words` says what it does not check.
"""

from __future__ import annotations

import collections
import enum
import linecache
import math
import os
import random
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba import types

import kapi_sim as kapi
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises
from kapi_spirv import compile_kernel
from kapi_types import ArrayType, ItemType
from kapi_types.weak import weak_int

NEWER = ["odd_kernels_since_3_12.txt"] if sys.version_info >= (3, 12) else []
CASES = [
    (
        "\n".join(line for line in block.splitlines() if not line.startswith(("! ", "? "))),
        [line[2:] for line in block.splitlines() if line.startswith("! ")],
        [line[2:] for line in block.splitlines() if line.startswith("? ")],
    )
    for name in ["odd_kernels.txt", *NEWER]
    for block in Path(__file__).with_name(name).read_text("utf-8").strip().split("\n\n")
]
OF_ALL = len((Path(__file__).with_name("odd_kernels.txt")).read_text("utf-8").strip().split("\n\n"))
SIGNATURE = [ItemType(1), ArrayType(types.float32, 1, "C"), ArrayType(types.int32, 2, "C"), weak_int]
NUMBA = re.compile(
    r"Numba|opcode|\$\w|TypingError|LoweringError|nopython|cannot determine|Undecided|weak_|array\(\w+, "
)


class Color(enum.Enum):
    RED = 1


class Thing:
    value = 3
    words = ["list"]  # noqa: RUF012  that it may change is what is wrong with it

    def method(self):
        return 3

    @property
    def twice(self):
        return 6


@kapi.device_func
def helper(x):
    return x + 1


@kapi.device_func
def recursive(x):
    return recursive(x - 1) if x > 0 else x


@kapi.device_func
def makes_a_list(x):
    return [x]


@kapi.device_func
def returns_nothing(x):
    pass


@kapi.device_func
def returns_either(x):
    if x > 0:
        return 1.0
    return (1, 2)


@kapi.device_func
def takes_all(*xs):
    return xs[0]


@kapi.device_func
def by_name(x, *, y=1):
    return x * y


def generate():
    yield 1


NAMES = {
    "ARRAY": np.array(["a"]), "LARGE": np.zeros(1 << 13), "TABLE": np.zeros(3),
    "Color": Color, "COUNT": 0, "DICT": {1: 2}, "LIST": [1, 2], "OBJECT": Thing(),
    "Point": collections.namedtuple("Point", "x y"), "TEXT": "abc", "Thing": Thing, "by_name": by_name,
    "generate": generate, "takes_all": takes_all,
    "helper": helper, "kapi": kapi, "makes_a_list": makes_a_list, "math": math, "np": np, "os": os, "random": random,
    "recursive": recursive, "returns_either": returns_either, "returns_nothing": returns_nothing,
}  # fmt: skip


def kernel_of(number, body):
    """The function of a body, whose source is found as that of a file is."""
    is_function = body.startswith(("def body", "async def body"))
    source = f"{body}\n" if is_function else f"def body(item, a, b, n):\n{textwrap.indent(body, '    ')}\n"
    filename = f"<odd kernel {number}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = dict(NAMES)
    exec(compile(source, filename, "exec"), namespace)
    return filename, namespace["body"]


def test_corpus_is_large():
    """An empty one would prove nothing."""
    assert len(CASES) >= 150
    assert all(said for _, said, _ in CASES)
    assert sum(bool(unchecked) for *_, unchecked in CASES) <= 16


@pytest.mark.parametrize(
    ("number", "body", "said"), [(n, *case[:2]) for n, case in enumerate(CASES)], ids=lambda v: None
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # Python's own doubts about such code
def test_odd_kernel_is_refused_in_plain_english(number, body, said):
    """The class, the lines, the codes; and not a word of Numba's."""
    filename, function = kernel_of(number, body)
    codes = [each.partition(": ")[2] for each in said]
    # What only newer Pythons parse is in no snapshot, so that all compare with the same words.
    with raises(KernelCompilationError, *codes, words=number < OF_ALL) as caught:
        compile_kernel(function, SIGNATURE)
    told = sorted(caught.value.problems, key=lambda problem: (problem.filename, problem.line))
    lines = ["helper" if problem.filename == __file__ else str(problem.line) for problem in told]
    assert [f"{line}: {problem.code}" for line, problem in zip(lines, told, strict=True)] == said
    assert {problem.filename for problem in told} <= {filename, __file__}
    assert not NUMBA.search("\n".join(problem.text for problem in told))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("number", "body", "unchecked"), [(n, case[0], case[2]) for n, case in enumerate(CASES)], ids=lambda v: None
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_simulator_refuses_it_too(number, body, unchecked, monkeypatch, capsys):
    """By an exception of whatever class; what it lets pass is written down, so that the list is complete."""
    monkeypatch.setattr("sys.breakpointhook", lambda: None)
    _, function = kernel_of(number, body)
    arguments = np.arange(1, 9, dtype=np.float32), np.arange(16, dtype=np.int32).reshape(4, 4), 3

    def launch():
        kapi.call_kernel(kapi.kernel(function), kapi.Range(1), *arguments)

    if unchecked:
        launch()
    else:
        with pytest.raises(Exception) as caught:
            launch()
        assert not isinstance(caught.value, AssertionError)
