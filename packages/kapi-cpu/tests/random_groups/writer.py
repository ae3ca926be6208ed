"""Random kernels of integers and exact floats, whose result no order of work-items changes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["ARRAYS", "CELLS", "UPDATES", "write"]

DTYPES = {"l": "int64", "i": "int32", "d": "float64", "f": "float32"}
CELLS = 4
UPDATES = ("add", "sub", "or", "xor", "max", "min")
"""Atomic updates that commute with themselves; arrays of cells have a row for each."""
ARRAYS = {"a": "l", "b": "i", "x": "d", "y": "f", "out_l": "l", "out_i": "i", "out_d": "d", "out_f": "f", "own": "i"}
"""Arrays with an element for each work-item: four that are read, four outputs, and one for atomics."""

PRELUDE = """\
@kapi.device_func
def first_multiple(given, limit):
    v = given
    for j in range(limit):
        if v % 7 == j:
            return j
        v += 3
    return -1


@kapi.device_func
def gcd(one, two):
    v, w = abs(one), abs(two)
    while w != 0:
        v, w = w, v % w
    return v
"""


class Writer:
    """Writes one kernel, a line after the other.

    Parameters
    ----------
    seed : int
        Decides all.
    has_groups : bool
        Whether work-items synchronize; if not, the kernel is over a Range.
    has_sub_groups : bool
        Whether it uses sub-groups.
    """

    def __init__(self, seed: int, has_groups: bool, has_sub_groups: bool) -> None:
        self._random = random.Random(seed)
        self._has_groups, self._has_sub_groups = has_groups, has_sub_groups
        self._lines: list[str] = []
        self._indent = 0
        self._names = 0
        self._variables: dict[str, list[str]] = {code: [] for code in DTYPES}
        self._uniform = ["1", "2", "3"]
        self._functions: list[str] = []
        self._shared: set[str] = set()  # local arrays that are only read until the next barrier
        self._bins = ""  # the update that they take until the next barrier
        self._loops = 0
        self._is_main = True
        self._may_return = False

    # -- text

    def _pick(self, options: Sequence[Any]) -> Any:
        return options[self._random.randrange(len(options))]

    def _chance(self, one_in: int) -> bool:
        return self._random.randrange(one_in) == 0

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    @contextmanager
    def _block(self, head: str, loops: bool = False) -> Any:
        self._line(head)
        self._indent += 1
        self._loops += loops
        yield
        self._loops -= loops
        self._indent -= 1

    # -- expressions

    def value(self, code: str, depth: int = 2) -> str:
        """An expression of a dtype."""
        if depth == 0 or self._chance(4):
            return self._leaf(code)
        one, two = self.value(code, depth - 1), self.value(code, depth - 1)
        forms = [f"({one} + {two})", f"({one} - {two})", f"({one} * {two})", f"max({one}, {two})", f"min({one}, {two})"]
        forms += [f"({one} if {self.condition(depth - 1)} else {two})", f"abs({one})", f"(-{one})"]
        if code in "li":
            divisor = self._pick(("3", "7", "-5", "2", "8"))
            forms += [f"({one} {operator} {two})" for operator in "&|^"]
            forms += [
                f"({one} // {divisor})",
                f"({one} % {divisor})",
                f"({one} << ({two} & 7))",
                f"({one} >> ({two} & 15))",
            ]
            forms += [f"({one} % {two} if {two} > 0 else {one})", f"(~{one})", f"gcd({one} % 64, {two} % 32)"]
            forms += [f"np.{DTYPES[code]}(first_multiple({one}, {self._pick(('2', '5', *self._uniform))}))"]
        else:
            forms += [f"({one} / {self._pick(('2', '3', '-0.7'))})", f"({one} * {self._pick(('0.5', '0.1'))})"]
        return self._pick(forms)

    def _leaf(self, code: str) -> str:
        other = self._pick([each for each in DTYPES if each not in ("d", "f")] if code in "li" else list(DTYPES))
        dtype = DTYPES[code]
        options = list(self._variables[code]) * 2 + [f"np.{dtype}({self._pick((0, 1, 2, 5, -3, 11))})"]
        if self._variables[other]:
            options.append(f"np.{dtype}({self._pick(self._variables[other])})")
        if code in "li":
            options.append(f"np.{dtype}({self._pick(['k', *self._uniform])})")
        if self._is_main:
            array = next(name for name, its in ARRAYS.items() if its == code)
            options += [
                f"{array}[i]",
                f"{array}[{self.index('count')}]",
                f"{array}[{self._pick(self._uniform)} % count]",
            ]
            options += [f"({array}[i + {self._pick((1, 3, 9))}] if i + 9 < count else {array}[0])"]
            options += [f"({array}[{self._pick((2, 3))} * i + 1] if 3 * i + 1 < count else {array}[count - 1])"]
            distance = self._pick((1, 2, 7))
            options += [f"{array}[min(i + {distance}, count - 1)]", f"{array}[max(i - {distance}, 0)]"]
            options += [f"{array}[(i + {distance}) % count]", f"{array}[min(i ^ {distance}, count - 1)]"]
            if code == "l":
                options += [f"p[{self.index(str(CELLS))}]"]
        tile = {"l": "tile", "f": "ftile"}.get(code, "")
        if self._has_groups and tile and (self._is_main or tile == "tile"):
            options += self._tile_reads(tile)
        return self._pick(options)

    def _tile_reads(self, tile: str) -> list[str]:
        if tile in self._shared:
            distance = self._pick(("1", "3", *self._uniform))
            return [f"{tile}[{self.index('n')}]", f"{tile}[(k + {distance}) % n]", f"{tile}[0]", f"{tile}[n - 1 - k]"]
        return [f"{tile}[k]"]

    def index(self, size: str) -> str:
        """A valid index, most often one that depends on the work-item."""
        value = self._pick(self._variables["l"]) if self._variables["l"] else "k"
        return f"({self._pick((value, f'{value} + k', f'{value} * 3', 'k * 2'))}) % {size}"

    def condition(self, depth: int = 1) -> str:
        """A condition that work-items may differ on."""
        code = self._pick("lidf")
        if depth and self._chance(4):
            joined = self._pick(("and", "or"))
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})"
        less = max(depth - 1, 0)
        options = [f"{self.value(code, less)} {self._pick(('<', '>', '<=', '!='))} {self.value(code, 0)}"]
        options += [f"k % {self._pick((2, 3, 4))} == {self._pick((0, 1))}", f"k < {self._pick((1, 4, 8, 9))}"]
        options += [f"{self.value('l', less)} % 3 == 0", f"not ({self.value('i', less)} & 1)"]
        return self._pick([*options, self.uniform_condition()])

    def uniform(self) -> str:
        """A small integer that a work-group agrees on."""
        one, two = self._pick(self._uniform), self._pick(self._uniform)
        return self._pick((one, f"({one} + {two}) % 5", f"abs({one} - {two}) % 4", f"({one} ^ {two}) % 8"))

    def uniform_condition(self) -> str:
        one, two = self.uniform(), self.uniform()
        return self._pick((f"{one} > {two}", f"{one} % 2 == 0", f"{one} != {two}", f"({one} % 3 == 1 or {two} > 2)"))

    # -- statements of single work-items

    def statements(self, depth: int, least: int = 1, most: int = 2) -> None:
        """Statements among which work-items need not converge."""
        for _ in range(self._random.randint(least, most)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        forms: list[Callable[[int], None]] = [self._assign, self._assign, self._update, self._store]
        if depth:
            forms += [self._branch, self._branch, self._loop, self._while]
        if self._is_main:
            forms += [self._private, self._atomic]
        self._pick(forms)(depth)
        if self._loops and self._chance(6):
            with self._block(f"if {self.condition()}:"):
                self._line(self._pick(("break", "continue")))
        if self._may_return and self._chance(5):
            with self._block(f"if {self.condition()}:"):
                self._line("return")

    def _assign(self, depth: int) -> None:
        code = self._code()
        self._line(f"{self._pick(self._variables[code])} = {self.value(code)}")

    def _code(self) -> str:
        return self._pick([code for code in DTYPES if self._variables[code]])

    def _update(self, depth: int) -> None:
        code = self._code()
        operator = self._pick("+-*&|^" if code in "li" else "+-*")
        self._line(f"{self._pick(self._variables[code])} {operator}= {self.value(code, 1)}")

    def _store(self, depth: int) -> None:
        tile, code = self._pick((("tile", "l"), ("ftile", "f")))
        if self._has_groups and tile not in self._shared and (self._is_main or code == "l") and self._chance(2):
            self._line(f"{tile}[k] {self._pick(('', '+', '-'))}= {self.value(code)}")
        elif self._bins:
            self._line(f"{self._reference('bins', self.index(str(CELLS)))}.fetch_{self._bins}({self.value('i', 1)})")
        elif self._is_main:
            code = self._pick(list(DTYPES))
            self._line(f"out_{code}[i] = out_{code}[i] {self._pick('+-')} {self.value(code)}")
        else:
            self._assign(depth)

    def _reference(self, array: str, index: str) -> str:
        where = "LOCAL" if array == "bins" else "GLOBAL"
        return f"kapi.AtomicRef({array}, {index}, address_space=kapi.AddressSpace.{where})"

    def _private(self, depth: int) -> None:
        self._line(f"p[{self.index(str(CELLS))}] {self._pick(('', '+', '^'))}= {self.value('l')}")

    def _atomic(self, depth: int) -> None:
        update = self._pick(UPDATES)
        if self._chance(3):
            array, code = self._pick((("cells_l", "l"), ("cells_i", "i")))
            where = f"({UPDATES.index(update)}, {self.index(str(CELLS))})"
            self._line(f"{self._reference(array, where)}.fetch_{update}({self.value(code, 1)})")
            return
        own = self._reference("own", "i")
        call = self._pick((f"fetch_{update}({self.value('i', 1)})", f"exchange({self.value('i', 1)})", "load()"))
        self._line(f"{self._pick(self._variables['i'])} = {own}.{call}")

    def _branch(self, depth: int) -> None:
        with self._block(f"if {self.condition(2)}:"):
            self.statements(depth - 1)
        if self._chance(3):
            with self._block(f"elif {self.condition()}:"):
                self.statements(depth - 1)
        if self._chance(2):
            with self._block("else:"):
                self.statements(depth - 1)

    def _loop(self, depth: int) -> None:
        value = self._pick(self._variables["l"])
        stop = self._pick(
            (f"{value} % 5", f"{self.uniform()}", f"k % 4, -1, -{self._pick((1, 2))}", f"{value} % 3, 9, 3")
        )
        counter = self._name("j")
        with self._block(f"for {counter} in range({stop}):", loops=True):
            self._line(f"{value} += {counter}")
            self.statements(depth - 1)
        if self._chance(4):
            with self._block("else:"):
                self.statements(0, 1, 1)

    def _while(self, depth: int) -> None:
        counter = self._name("w")
        self._line(f"{counter} = {self.value('l', 1)} % 6")
        with self._block(f"while {counter} > 0:", loops=True):
            self._line(f"{counter} -= {self._pick((1, 1, 2))}")
            self.statements(depth - 1)

    # -- statements of entire groups

    def together(self, depth: int, least: int = 1, most: int = 2) -> None:
        """Statements that all work-items of a group come to."""
        loops, self._loops = self._loops, 0  # a work-item does not leave a loop in which others wait for it
        for _ in range(self._random.randint(least, most)):
            self._together(depth)
        self._loops = loops

    def _together(self, depth: int) -> None:
        forms: list[Callable[[int], None]] = [self._exchange, self._exchange, self._collect, self._alone, self._agree]
        if depth:
            forms += [self._common_branch, self._common_loop, self._common_loop, self._common_while]
        if self._functions:
            forms += [self._call]
        if self._is_main:
            forms += [self._fill_bins, self._pass_on]
        if self._has_sub_groups and self._is_main:
            forms += [self._sub_group] * 5
        self._pick(forms)(depth)

    def _alone(self, depth: int) -> None:
        self.statements(self._random.randint(1, 2))

    def _barrier(self) -> None:
        self._line("kapi.group_barrier(group)")

    def _exchange(self, depth: int) -> None:
        """Local memory, read by all between two barriers."""
        tiles = ["tile", *(["ftile"] if self._is_main else [])]
        chosen = set(self._random.sample(tiles, self._random.randint(1, len(tiles))))
        self._barrier()
        self._shared |= chosen
        self.statements(self._random.randint(1, 2))
        if "tile" in chosen:
            self._line(f"{self._pick(self._variables['l'])} = {self._pick(self._tile_reads('tile'))}")
        self._shared -= chosen
        self._barrier()

    def _collect(self, depth: int) -> None:
        code = self._pick([code for code in "li" if self._variables[code]])
        name, value = self._pick(self._variables[code]), self.value(code)
        operator = self._pick(("plus", "minimum", "maximum", "bit_and", "bit_or", "bit_xor", "multiplies"))
        kind = self._pick(("reduce_over", "inclusive_scan_over", "exclusive_scan_over"))
        self._line(
            self._pick(
                (
                    f"{name} = kapi.{kind}_group(group, {value}, kapi.{operator})",
                    f"{name} = kapi.group_broadcast(group, {value}, {self.uniform()} % n)",
                )
            )
        )

    def _agree(self, depth: int) -> None:
        """A new value that all of a group have."""
        forms = [f"kapi.reduce_over_group(group, {self.value('l')}, kapi.{self._pick(('plus', 'maximum', 'bit_xor'))})"]
        forms += [f"kapi.group_broadcast(group, {self.value('l')}, {self.uniform()} % n)"]
        forms += [f"np.int64(kapi.{self._pick(('any', 'all', 'none'))}_of_group(group, {self.condition()}))"]
        if self._is_main:
            forms += [f"a[{self.uniform()} % count]"]
        self._line(f"{self._pick(self._common)} = {self._pick(forms)} % 7")

    def _common_branch(self, depth: int) -> None:
        with self._block(f"if {self.uniform_condition()}:"):
            self.together(depth - 1)
            if self._chance(6):
                self._line("return" if self._is_main else f"return {self._pick(self._variables['l'])}")
        if self._chance(2):
            with self._block("else:"):
                self.together(depth - 1)

    def _common_loop(self, depth: int) -> None:
        with self._block(f"for {self._name('j')} in range({self.uniform()}):"):
            self.together(depth - 1)
            self._leave_together(depth)

    def _common_while(self, depth: int) -> None:
        counter = self._name("w")
        self._line(f"{counter} = {self.uniform()} % 4 + 0")
        with self._block(f"while {counter} > 0:"):
            self._line(f"{counter} -= 1")
            self.together(depth - 1)
            self._leave_together(depth)

    def _leave_together(self, depth: int) -> None:
        if self._chance(3):
            with self._block(f"if {self.uniform_condition()}:"):
                self._line(self._pick(("break", "continue")))
            self.together(depth - 1, 1, 1)

    def _call(self, depth: int) -> None:
        call = f"{self._pick(self._functions)}(group, tile, k, n, {self.value('l')}, {self._pick(self._common)})"
        self._line(f"{self._pick(self._variables['l'])} = {call}")

    def _fill_bins(self, depth: int) -> None:
        counter = self._name("j")
        with self._block(f"for {counter} in range(k, {CELLS}, n):"):
            self._line(f"bins[{counter}] = {self._pick((0, 5, -1))}")
        self._barrier()
        self._bins = self._pick(UPDATES)
        self.statements(1)
        self._store(0)
        self._bins = ""
        self._barrier()
        self._line(f"{self._pick(self._variables['i'])} = bins[{self.index(str(CELLS))}]")
        self._barrier()

    def _pass_on(self, depth: int) -> None:
        """Global memory, read by others of the group between two barriers."""
        self._line(f"passed[i] = {self.value('l')}")
        self._barrier()
        self._line(f"{self._pick(self._variables['l'])} = passed[g * n + (k + {self.uniform()}) % n]")
        self._barrier()

    def _sub_group(self, depth: int) -> None:
        """The statements of a sub-group, now and then in a branch that only some of them take."""
        if depth and self._chance(2):
            with self._block(self._pick(("if s % 2 == 0:", "if s > 0:", f"for {self._name('j')} in range(s % 3):"))):
                for _ in range(self._random.randint(1, 2)):
                    self._sub_group(0)
                    self.statements(1, 0, 1)
            return
        code = self._pick("lidf")
        name, value = self._pick(self._variables[code]), self.value(code)
        operators = ("plus", "minimum", "maximum", *(("bit_or", "bit_xor") if code in "li" else ()))
        kinds = ("reduce", "inclusive_scan", "exclusive_scan")
        forms = [f"kapi.select_from_group(sub, {value}, (lane + {self.uniform()}) % width)"]
        forms += [f"kapi.group_broadcast(sub, {value}, {self.uniform()} % width)"]
        if code in "li":
            forms += [f"kapi.{kind}_over_group(sub, {value}, kapi.{self._pick(operators)})" for kind in kinds]
        self._line(f"{name} = {self._pick(forms)}")

    # -- the program

    def function(self) -> None:
        """A function of the kernel that has barriers."""
        name = self._name("converge")
        self._is_main = False
        self._lines.append("@kapi.device_func")
        with self._block(f"def {name}(group, tile, k, n, given, common):"):
            self._line("v = np.int64(given)")
            self._line("w = v * 3 - k")
            self._line("u = np.int64(common)")
            self._variables = {code: ["v", "w"] if code == "l" else [] for code in DTYPES}
            self._common = ["u"]
            self._uniform = ["u", "n", "1", "2"]
            self._line("tile[k] = v")
            self.together(1, 1, 2)
            self._line("return v + w")
        self._lines += ["", ""]
        self._is_main = True
        self._functions.append(name)

    def kernel(self) -> str:
        """The source."""
        if self._has_groups:
            for _ in range(self._pick((0, 0, 1, 2))):
                self.function()
        local = ", tile, ftile, bins" if self._has_groups else ""
        with self._block(f"def program(item, {', '.join(ARRAYS)}, passed, cells_l, cells_i, n0{local}):"):
            self._start()
            if self._has_groups:
                self.together(self._random.randint(1, 2), 1, 3)
                if self._has_sub_groups:
                    self._sub_group(1)
                self._end()
            self._may_return = True
            self.statements(1 if self._has_groups else 2)
            self._end()
        return PRELUDE + "\n\n" + "\n".join(self._lines) + "\n"

    def _start(self) -> None:
        self._line("count = a.shape[0]")
        if self._has_groups:
            self._line("group = item.get_group()")
            self._line("k, n = item.get_local_linear_id(), group.get_local_linear_range()")
            self._line("g = group.get_group_linear_id()")
            self._line("i = g * n + k")
        else:
            self._line("i = k = item.get_linear_id()")
        if self._has_sub_groups:
            self._line("sub = item.get_sub_group()")
            self._line("s, lane, width = sub.get_group_id(), sub.get_local_id(), sub.get_local_range()")
        self._line(f"p = kapi.PrivateArray({CELLS}, np.int64, fill_zeros=True)")
        self._variables = {code: [f"{code}0", f"{code}1"] for code in DTYPES}
        for names, array in zip(self._variables.values(), "abxy", strict=True):
            self._line(f"{names[0]}, {names[1]} = {array}[i], {array}[count - 1 - i]")
        self._common = ["u0", "u1"]
        self._line("u0, u1 = np.int64(n0), np.int64(2)")
        self._uniform = ["1", "2", "3", "n0", "u0", "u1", *(["g", "n"] if self._has_groups else [])]
        if self._has_groups:
            self._line("tile[k], ftile[k] = l0, f0")

    def _end(self) -> None:
        for code, names in self._variables.items():
            self._line(f"out_{code}[i] = out_{code}[i] * 3 + {names[0]} - {names[1]}")


def write(seed: int, has_groups: bool = True, has_sub_groups: bool = False) -> str:
    """Write a kernel `program`, and the functions that it calls.

    Parameters
    ----------
    seed : int
        Decides all.
    has_groups : bool
        Whether work-items synchronize; if not, the kernel is over a Range.
    has_sub_groups : bool
        Whether it uses sub-groups.
    """
    return Writer(seed, has_groups, has_sub_groups).kernel()
