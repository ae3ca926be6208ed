"""A random kernel, its arguments, and the plain Python that judges it."""

from __future__ import annotations

import itertools
import linecache
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from device_arrays import SUB_GROUP as OF_THE_DEVICE

__all__ = [
    "ALIASES",
    "CELLS",
    "COMPLEX",
    "DTYPES",
    "EXACT",
    "FLOATS",
    "GROUP",
    "INTEGERS",
    "ITEMS",
    "SPACES",
    "SPREAD",
    "SUB_GROUP",
    "VIEWS",
    "Array",
    "Program",
    "function_of",
]

ITEMS, GROUP, CELLS = 64, 16, 4
SUB_GROUP = min(GROUP, OF_THE_DEVICE)  # members that one has here
INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
FLOATS, COMPLEX = ("f2", "f4", "f8"), ("c8", "c16")
EXACT = (*INTEGERS, *FLOATS, *COMPLEX)
DTYPES = {code: np.dtype(code).name for code in EXACT}
SPREAD = ("i4", "u4", "i8", "u8")  # what atomics and groups work on, where any order gives the same
SERIALS = itertools.count()

SPACES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((64,), (16,)), ((8, 8), (2, 8)), ((4, 16), (1, 16)), ((4, 16), (4, 4)), ((2, 4, 8), (1, 2, 8)),
    ((4, 4, 4), (2, 2, 4)), ((1, 64), (1, 16)), ((64, 1), (16, 1)), ((8, 8), (4, 4)), ((8, 8), (8, 2)),
    ((4, 4, 4), (4, 2, 2)), ((4, 4, 4), (4, 4, 1)), ((8, 2, 4), (8, 2, 1)),
)  # fmt: skip
"""Global and local ranges; a sub-group is neighbours by the local linear id, whatever the group's shape."""


@dataclass(frozen=True)
class Array:
    """An array argument.

    Attributes
    ----------
    code : str
        Its dtype's.
    shape : tuple of int
        Extents.
    views : tuple of str
        How it lies in memory, a view of a view for each step: "reversed", "stepped", "odd", "transposed", "shifted",
        "late" or "middle".
    shares : str
        Name of an array whose memory it is another view of; both are only read.
    role : str
        "input", "output" for one that each work-item writes its own element of, "near" for an output that functions
        within some ulp are written to, "cells" for one that atomics of all work-items change, or "own" for one of
        whose elements each is changed by atomics of one work-item.
    """

    code: str
    shape: tuple[int, ...] = (ITEMS,)
    views: tuple[str, ...] = ()
    role: str = "input"
    shares: str = ""

    def base(self, rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """The memory, with numbers where they are read."""
        made = self.shape
        for view in reversed(self.views):
            made = _BEFORE[view](made)
        if self.role in ("output", "near"):
            return np.zeros(made, self.code)
        if self.role == "input":
            return _values(rng, self.code, math.prod(made)).reshape(made)
        return rng.integers(0, 100, made).astype(self.code)

    def seen(self, base: Any) -> Any:
        """The array as the kernel gets it, of this memory."""
        for view in self.views:
            base = _SEEN[view](base)
        return base


_SEEN: dict[str, Any] = {
    "reversed": lambda base: base[..., ::-1],
    "stepped": lambda base: base[..., ::2],
    "odd": lambda base: base[..., 1::2],
    "transposed": lambda base: base.transpose(),
    "shifted": lambda base: base[2:],
    "late": lambda base: base[..., 3:],
    "middle": lambda base: base[..., 1:-1],
}
"""Views of what lies in memory."""

_BEFORE: dict[str, Any] = {
    "reversed": lambda shape: shape,
    "stepped": lambda shape: (*shape[:-1], 2 * shape[-1]),
    "odd": lambda shape: (*shape[:-1], 2 * shape[-1]),
    "transposed": lambda shape: shape[::-1],
    "shifted": lambda shape: (shape[0] + 2, *shape[1:]),
    "late": lambda shape: (*shape[:-1], shape[-1] + 3),
    "middle": lambda shape: (*shape[:-1], shape[-1] + 2),
}
"""The shape that a view of this shape is taken of."""

VIEWS = tuple(_SEEN)
ALIASES = {"stepped": "odd", "odd": "stepped"}
"""A view of the same shape, of the same memory; the others have one in their own reverse."""


@dataclass
class Program:
    """A kernel and its judge.

    Attributes
    ----------
    source : str
        The kernel and the functions it calls.
    plain : str
        The same as plain Python: a generator, which yields what a group does together.
    arrays : dict of str to Array
        The array arguments.
    scalars : dict of str to str
        Arguments that are numbers: the dtype's code, "weak" for a Python int, or two codes for a tuple.
    spaces : tuple
        Global and local range.
    has_groups : bool
        Whether the launch is over an NdRange, with local arrays of `tiles` and of `SPREAD[0]`.
    tiles : tuple of str
        Dtypes of two local arrays of an element for each work-item of a group.
    may_divide_by_zero : bool
        Whether the simulator may stop it with that error.
    """

    source: str = ""
    plain: str = ""
    arrays: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, str] = field(default_factory=dict)
    spaces: tuple[tuple[int, ...], tuple[int, ...]] = SPACES[0]
    has_groups: bool = False
    tiles: tuple[str, str] = ("i4", "f4")
    may_divide_by_zero: bool = False

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, but for the work-item."""
        return [*self.arrays, *self.scalars, *(["tile0", "tile1", "bins"] if self.has_groups else [])]

    def bases(self, seed: int) -> list[np.ndarray[Any, Any]]:
        """Memory of the arrays for one launch."""
        rng = np.random.default_rng(seed)
        made: dict[str, np.ndarray[Any, Any]] = {}
        for name, array in self.arrays.items():
            made[name] = made[array.shares] if array.shares else array.base(rng)
        return list(made.values())

    def numbers(self, seed: int) -> list[Any]:
        """The arguments that are numbers, for one launch."""
        rng = np.random.default_rng(seed + 1)

        def number(code: str) -> Any:
            return int(rng.integers(0, 9)) if code == "weak" else _values(rng, code, 64)[0]

        return [tuple(map(number, c.split())) if " " in c else number(c) for c in self.scalars.values()]

    def function(self, kapi: Any) -> Any:
        """The kernel as a Python function, with its source where tools look for it."""
        return function_of(self.source, {"kapi": kapi, "math": math, "np": np})

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis' representation of a shrunk program."""
        printer.text(f"{self.arrays} {self.scalars} {self.spaces}\n{self.source}")


def function_of(source: str, namespace: dict[str, Any]) -> Any:
    """The function `program` of a source."""
    filename = f"<random kernel {next(SERIALS)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace["program"]


def _values(rng: np.random.Generator, code: str, count: int) -> np.ndarray[Any, Any]:
    """Small and large numbers of a dtype, with zeros and ends of the range among them."""
    dtype = np.dtype(code)
    if dtype.kind == "c":
        part = dtype.type(0).real.dtype.str
        return (_values(rng, part, count) + 1j * _values(rng, part, count)).astype(dtype)
    if dtype.kind == "f":
        values = (rng.integers(-64, 64, count) / 8).astype(dtype)
        return np.where(rng.random(count) < 0.2, (rng.standard_normal(count) * 1e3).astype(dtype), values)
    info = np.iinfo(dtype)
    values = rng.integers(max(info.min, -20), 20, count).astype(dtype)
    wild = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    ends = np.where(rng.random(count) < 0.5, dtype.type(info.min), dtype.type(info.max))
    chance = rng.random(count)
    return np.where(chance < 0.2, wild, np.where(chance > 0.95, ends, values))
