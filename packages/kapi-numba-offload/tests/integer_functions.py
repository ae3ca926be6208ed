"""Functions of integer arrays, written at random: the same text as a kernel's loop, as a host's loop, and for Numba."""

from __future__ import annotations

import itertools
import linecache
import random

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
"""What stands for LOOP and NOTHING in a text."""

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
        return rng.choice(
            [f"scaled({one}, {self.leaf()} % 99)", f"within({one} % 70000)", f"int({one})", f"abs({one})"]
        )

    def factor(self) -> str:
        """A factor of at most 32 bits: two of them are a product of 64 bits, where the elements' own have fewer."""
        name = self.rng.choice("ab")
        return f"{name}[i]" if self.dtypes[name] not in ("int64", "uint64", "uint32") else f"{name}[i] % 65537"

    def statements(self) -> list[str]:
        """The body of the loop."""
        rng = self.rng
        made: list[str] = []
        for _ in range(rng.randrange(2, 5)):
            name, form = self.new(), rng.randrange(7)
            if form == 0:
                made.append(f"{name} = {self.value()}")
            elif form == 1:
                made += [
                    f"{name} = {rng.choice([0, 1, 5, -3])}",
                    "for j in range(m.shape[0]):",
                    f"    {name} {rng.choice(['+= m[j, i % 4]', '-= b[j]', '*= m[j, i % 4] % 13', '+= m[j, 0] % 256 * a[i]'])}",
                ]
            elif form == 2:
                counter = self.new()
                made += [
                    f"{name} = {rng.choice([0, 2, -1])}",
                    f"{counter} = 0",
                    f"while {counter} < 3:",
                    f"    {name} {rng.choice(['+= {}', '-= {}', '*= {} % 100']).format(self.value(1))}",
                    f"    {counter} += 1",
                ]
            elif form == 3:
                other = self.new()
                made.append(
                    f"{name}, {other} = {rng.choice(['both(' + self.value(1) + ', ' + self.value(1) + ')', self.value(1) + ', ' + self.value(1)])}"
                )
                self.numbers.append(other)
            elif form == 4:
                made += [
                    f"{name} = {rng.choice([0, 100, -300])}",
                    f"if {self.leaf()} > {self.leaf()}:",
                    f"    {name} = {self.value(1)} % 700",
                    f"{name} = int({name})",
                ]
            elif form == 5:
                made.append(f"{name} = total_of(m[i % 5], {rng.choice([0, 'np.int64(a[i])', 9])})")
            else:
                made += [f"{name} = 0", f"for x in m[i % 5]:", f"    {name} {rng.choice(['+=', '|=', '&=', '^='])} x"]
            self.numbers.append(name)
        return made

    def text(self) -> str:
        """The function, with LOOP for `prange` and NOTHING for a zero."""
        rng = self.rng
        start = rng.choice(["0", "1", "-5", "a[0]"])
        operation = rng.choice(
            [
                "t += {}",
                "t -= {}",
                "t *= ({}) % 50",
                "t = max(t, ({}) % 500)",
                "t = min(t, ({}) % 500)",
                "t += {}",
                "t |= {}",
                "t &= {}",
                "t ^= {}",
            ]
        )
        lines = [
            "def within(x):",
            f"    return x {rng.choice('+*-')} x",
            f"t = {start}",
            "for i in LOOP(1, a.shape[0]):",
        ]
        body = [f"z = NOTHING", *self.statements()]
        value = self.value()
        body += [
            operation.format(f"{value} + z"),
            f"c[i] = {self.value()}",
            f"d[i] {rng.choice(['+=', '-=', '*='])} {self.value(1)} % 10000",
        ]
        lines += ["    " + each for each in body] + ["return t"]
        return HELPERS + "def function(a, b, m, c, d, n, k):\n" + "\n".join("    " + each for each in lines) + "\n"

    def arguments(self, seed: int):
        """Arrays whose elements are over all of their types, those to store to, and numbers."""
        rng = np.random.default_rng(seed)

        def array(dtype, shape):
            if dtype == "bool":
                return rng.integers(0, 2, shape).astype(bool)
            ends = np.iinfo(dtype)
            low, high = max(ends.min, -(2**45)), min(ends.max, 2**45)
            made = rng.integers(low, high, shape, dtype, endpoint=True)
            made.flat[:2] = low, high
            return made

        arrays = [
            array(self.dtypes["a"], LENGTH),
            array(self.dtypes["b"], LENGTH),
            array(self.dtypes["m"], (ROWS, LENGTH)),
        ]
        stored = [
            np.full(LENGTH, 77, self.rng.choice(["int64", "int32", "uint8", "uint64"])),
            np.full(LENGTH, 3, self.rng.choice(["int64", "int32", "int16"])),
        ]
        return arrays, stored, [int(rng.integers(-9, 300)), np.dtype(self.rng.choice(DTYPES[1:])).type(11)]


def compiled(text: str, variant: str):
    """The function of a text for a variant."""
    loop, nothing = VARIANTS[variant]
    source = text.replace("LOOP", loop).replace("NOTHING", nothing)
    name = f"<integers {next(_count)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope = {"np": np, "njit": numba.njit, "prange": numba.prange, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return numba.njit(scope["function"])
