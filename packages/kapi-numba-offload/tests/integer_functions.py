"""Functions of integer arrays, written at random: the same text as a kernel's loop, as a host's loop, and for Numba."""

from __future__ import annotations

import itertools
import linecache
import random
from typing import Any

import numba
import numpy as np

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
LENGTH, ROWS = 7, 5  # of each array

HELPERS = """
@njit
def scaled(x, k):
    return x * k + x

@njit
def total_of(row, start):
    s = start
    for x in range(row.shape[0]):
        s += row[x]
    return s

@njit
def both(x, y):
    return x + y, x - y
"""

VARIANTS = {
    "kernel": ("prange", "0"),
    "plain loop": ("range", "0"),
    # No kernel has this function, so the host runs the loop.
    "refused loop": ("prange", "np.random.randint(0, 1)"),
}
"""The texts in place of LOOP and NOTHING."""

_count = itertools.count()


class Writer:
    """Writes one function: its arrays have the dtypes of `dtypes`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dtypes = {name: self.rng.choice(DTYPES) for name in ("a", "b")}
        self.dtypes["m"] = self.rng.choice(DTYPES)
        self.numbers = ["i", "n", "k"]
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def leaf(self) -> str:
        rng = self.rng
        if rng.random() < 0.5:
            return rng.choice(["a[i]", "b[i]", "a[i - 1]", "m[i % 5, 2]", "b[-1]"])
        if rng.random() < 0.5:
            return str(rng.choice([0, 1, 2, 3, 7, 100, 200, 300, 70000, -1, -5]))
        return rng.choice(self.numbers)

    def value(self, depth: int = 2) -> str:
        rng = self.rng
        if depth <= 0:
            return self.leaf()
        one, other = self.value(depth - 1), self.value(depth - rng.choice([1, 2]))
        form = rng.randrange(14)
        if form < 4:
            return f"({one} {rng.choice('+-')} {other})"
        if form < 6:  # what overflows 64 bits is undefined in Numba
            return f"({self.factor()} * {self.factor()})" if form < 5 else f"({one} % 2000 * ({other} % 999))"
        if form < 8:
            return f"({one} {rng.choice('&|^')} {other})"
        if form < 9:
            return f"({one} {rng.choice(['//', '%'])} {rng.choice([2, 3, 7, -3])})"
        if form < 10:
            return f"({one} % 4096 << {rng.randrange(9)})" if rng.random() < 0.5 else f"({one} >> {rng.randrange(9)})"
        if form < 11:
            return f"{rng.choice(['-', '~'])}{one}"
        if form < 12:
            return f"int({rng.choice(['min', 'max'])}({one} % 1000, {other} % 1000))"
        if form < 13:
            return f"int({one} % 900 if {self.leaf()} < {other} else {self.leaf()} % 800)"
        calls = [
            f"scaled({one}, {self.leaf()} % 99)", f"within({one} % 70000)", f"int({one})", f"abs({one})",
            f"({one} % 50) ** {rng.choice([2, 3])}", f"(({one} > {other}) + ({self.leaf()} < {self.leaf()}))",
            f"divmod({one}, 7)[1]", f"np.{rng.choice(['int32', 'uint8', 'int64'])}(a[i])", f"np.int16({one} % 9000)",
        ]  # fmt: skip
        return rng.choice(calls)

    def factor(self) -> str:
        """A factor of at most 32 bits: two of them are a product of 64 bits, where the elements' own have fewer."""
        name = self.rng.choice("ab")
        return f"{name}[i]" if self.dtypes[name] not in ("int64", "uint64", "uint32") else f"{name}[i] % 65537"

    def statements(self) -> list[str]:
        """The body of the loop."""
        made: list[str] = []
        for _ in range(self.rng.randrange(2, 5)):
            name, form = self.new(), self.rng.randrange(7)
            made += getattr(self, f"form_{form}")(name)
            self.numbers.append(name)
        return made

    def form_0(self, name: str) -> list[str]:
        return [f"{name} = {self.value()}"]

    def form_1(self, name: str) -> list[str]:
        updates = ["+= m[j, i % 4]", "-= b[j]", "*= m[j, i % 4] % 13", "+= m[j, 0] % 256 * a[i]"]
        start = self.rng.choice([0, 1, 5, -3])
        return [f"{name} = {start}", "for j in range(m.shape[0]):", f"    {name} {self.rng.choice(updates)}"]

    def form_2(self, name: str) -> list[str]:
        counter, start = self.new(), self.rng.choice([0, 2, -1])
        update = self.rng.choice(["+= {}", "-= {}", "*= {} % 100"]).format(self.value(1))
        loop = [f"while {counter} < 3:", f"    {name} {update}", f"    {counter} += 1"]
        return [f"{name} = {start}", f"{counter} = 0", *loop]

    def form_3(self, name: str) -> list[str]:
        other, pair = self.new(), f"{self.value(1)}, {self.value(1)}"
        self.numbers.append(other)
        return [f"{name}, {other} = {self.rng.choice([f'both({pair})', pair])}"]

    def form_4(self, name: str) -> list[str]:
        start = self.rng.choice([0, 100, -300])
        changed = f"    {name} = {self.value(1)} % 700"
        return [f"{name} = {start}", f"if {self.leaf()} > {self.leaf()}:", changed, f"{name} = int({name})"]

    def form_5(self, name: str) -> list[str]:
        return [f"{name} = total_of(m[i % 5], {self.rng.choice([0, 'np.int64(a[i])', 9])})"]

    def form_6(self, name: str) -> list[str]:
        operator = self.rng.choice(["+=", "|=", "&=", "^="])
        return [f"{name} = 0", "for x in m[i % 5]:", f"    {name} {operator} x"]

    def text(self) -> str:
        """The function, with LOOP for `prange` and NOTHING for a zero."""
        rng = self.rng
        reductions = ["t += {}", "t -= {}", "t *= ({}) % 50", "t = max(t, ({}) % 500)", "t = min(t, ({}) % 500)"]
        reductions += ["t += {}", "t |= {}", "t &= {}", "t ^= {}"]
        lines = ["def within(x):", f"    return x {rng.choice('+*-')} x", f"t = {rng.choice(['0', '1', '-5', 'a[0]'])}"]
        body = [
            "z = NOTHING",
            *self.statements(),
            rng.choice(reductions).format(f"{self.value()} + z"),
            f"c[i] = {self.value()}",
            f"d[i] {rng.choice(['+=', '-=', '*='])} {self.value(1)} % 10000",
        ]
        lines += ["for i in LOOP(1, a.shape[0]):", *("    " + each for each in body), "return t"]
        return HELPERS + "def function(a, b, m, c, d, n, k):\n" + "\n".join("    " + each for each in lines) + "\n"

    def arguments(self, seed: int) -> tuple[list[Any], list[Any], list[Any]]:
        """Arrays whose elements are over all of their types, those to store to, and numbers."""
        rng, choice = np.random.default_rng(seed), self.rng.choice
        shapes = {"a": (LENGTH,), "b": (LENGTH,), "m": (ROWS, LENGTH)}
        arrays = [_array(rng, self.dtypes[name], shape) for name, shape in shapes.items()]
        stored = [
            np.full(LENGTH, 77, choice(["int64", "int32", "uint8", "uint64"])),
            np.full(LENGTH, 3, choice(["int64", "int32", "int16"])),
        ]
        return arrays, stored, [int(rng.integers(-9, 300)), np.dtype(choice(DTYPES[1:])).type(11)]


def _array(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    ends = np.iinfo(dtype)
    low, high = max(ends.min, -(2**45)), min(ends.max, 2**45)
    made = rng.integers(low, high, shape, dtype, endpoint=True)
    made.flat[:2] = low, high
    return made


def compiled(text: str, variant: str) -> Any:
    """The function of a text for a variant."""
    loop, nothing = VARIANTS[variant]
    source = text.replace("LOOP", loop).replace("NOTHING", nothing)
    name = f"<integers {next(_count)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope = {"np": np, "njit": numba.njit, "prange": numba.prange, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return numba.njit(scope["function"])
