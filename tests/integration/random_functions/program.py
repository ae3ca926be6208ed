"""A random function, and arguments for its calls."""

from __future__ import annotations

import linecache
import random
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np

__all__ = ["HELPERS", "Argument", "Program"]

SPARE = 9  # elements around each array, to see what is stored outside of it

HELPERS = """
@njit
def clamped(x, low):
    if x < low:
        return low
    return x


@njit
def grown(x):
    return x + x


@njit
def shifted_in_place(x):
    x += 3
    return x


@njit
def first_large(x, limit):
    for i in range(x.shape[0]):
        if x[i] > limit:
            return i
    return -1
"""
"""Functions that programs call: of numbers, of arrays, one that changes its argument, and one with a loop to leave."""


@dataclass(frozen=True)
class Argument:
    """An array argument.

    Attributes
    ----------
    dtype : str
        Its dtype.
    shape : tuple of int
        Its shape.
    family : int
        Arguments of one family, which have one dtype and shape, may share memory.
    """

    dtype: str
    shape: tuple[int, ...]
    family: int


@dataclass
class Program:
    """A function and how it is called.

    Attributes
    ----------
    seed : int
        What it was written from.
    arguments : dict of str to Argument
        Its parameters that are arrays.
    scalars : dict of str to str
        Its parameters that are numbers: "int", "float", or a dtype.
    lines : list
        Its statements: texts, and for those with blocks lists of a text and statements.
    """

    seed: int
    arguments: dict[str, Argument] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    lines: list[Any] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The function's text."""
        head = f"def program({', '.join([*self.arguments, *self.scalars])}):"
        return "\n".join([HELPERS, "", head, *_texts(self.lines, 1)]) + "\n"

    def function(self, *, is_compiled: bool) -> Any:
        """The function: compiled by Numba, or plain Python with helpers that are plain Python, too."""
        name = f"<random function {self.seed} {is_compiled}>"
        source = self.source
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        njit = numba.njit if is_compiled else lambda function: function
        namespace: dict[str, Any] = {"np": np, "njit": njit, "prange": numba.prange, "__name__": __name__}
        exec(compile(source, name, "exec"), namespace)
        return njit(namespace["program"])

    def call(self, number: int) -> tuple[list[np.ndarray[Any, Any]], list[tuple[int, tuple[slice, ...]]], list[Any]]:
        """For call `number`: blocks of memory, which of them and what part of it each argument is, and the numbers."""
        rng = random.Random(f"{self.seed} {number}")
        memory: list[np.ndarray[Any, Any]] = []
        parts: list[tuple[int, tuple[slice, ...]]] = []
        block_of: dict[int, int] = {}
        for each in self.arguments.values():
            layout = rng.choice(["apart", "same", "overlapping", "reversed"]) if each.family in block_of else "apart"
            if layout == "apart":
                block_of[each.family] = len(memory)
                shape = tuple(length + SPARE for length in each.shape)
                values = np.array([rng.randrange(-40, 40) for _ in range(int(np.prod(shape)))])
                memory.append((values / (8 if each.dtype.startswith("f") else 1)).astype(each.dtype).reshape(shape))
            start = 1 if layout == "overlapping" else 0
            slices = [slice(2 + start, 2 + start + length) for length in each.shape]
            if layout == "reversed" and each.shape[0]:
                slices[0] = slice(1 + each.shape[0], 1, -1)
            parts.append((block_of[each.family], tuple(slices)))
        numbers: list[Any] = []
        for kind in self.scalars.values():
            value = rng.randrange(1, 5)
            numbers.append(value if kind == "int" else value / 2 if kind == "float" else np.dtype(kind).type(value))
        return memory, parts, numbers


def _texts(lines: list[Any], depth: int) -> list[str]:
    made: list[str] = []
    for each in lines:
        if isinstance(each, str):
            made.append("    " * depth + each)
        else:
            made.append("    " * depth + each[0])
            made += _texts(each[1:], depth + 1) or ["    " * (depth + 1) + "pass"]
    return made
