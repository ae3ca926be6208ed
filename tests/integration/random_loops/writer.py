"""Writes a loop over elements as people write them, around it what may keep it from being compiled apart."""

from __future__ import annotations

import random

__all__ = ["written"]

HELPERS = """
@njit
def bent(v):
    if v < 0.25:
        return 0.5 * v
    return v - 0.25


@njit
def picked(a, i):
    return 0.5 * a[i]


@njit
def of_row(row):
    s = 0.0
    for v in row:
        s += v
    return 0.25 * s


@njit
def two(v, w):
    return 0.5 * v, v - 0.5 * w


@njit
def stores(a, i, v):
    a[i] = 0.5 * v


@njit
def swept(a, b, index):
    for k in range(len(a)):
        b[index[k]] = 0.5 * (a[k] + b[k])
    return b[0]
"""
"""Functions that programs call: of numbers, of arrays and indices, of rows, one that stores, one that is the loop."""

PARAMETERS = "x, y, m, p, q, t, f, n, k, s"
"""Two arrays of numbers, one of rows of three; a permutation and small integers; (x, y); a function; three numbers."""


class Writer:
    """Draws from one generator."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._lines: list[str] = []
        self._values: list[str] = []  # numbers that the loop variable names
        self._rows: list[str] = []
        self._index: str | None = None
        self._is_parallel = False
        self._count = 0
        self._set = {"acc"}

    def _chance(self, of: int) -> bool:
        return self._rng.randrange(of) == 0

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _line(self, text: str, depth: int = 1) -> None:
        self._lines.append("    " * depth + text)

    # ------------------------------------------------------------------------------------------- expressions

    def _read(self) -> str:
        """A number, mostly an element."""
        i = self._index
        found = [*self._values, *self._values]
        of_rows = "{}[0]", "{}[-1]", "{}.sum()", "np.sum({})", "of_row({})", "np.max({})"
        found += [text.format(row) for row in self._rows for text in of_rows]
        if i is not None:
            found += [
                f"x[{i}]", f"x[{i}]", f"x[-{i}]", f"x[{i} // 2]", f"x[p[{i}]]", f"x[{i} % len(x)]", f"m[{i}, 1]",
                f"m[{i}][2]", f"t[0][{i}]", f"picked(x, {i})", f"picked(w, {i})", f"of_row(m[{i}])", f"m[{i}].sum()",
                f"np.sum(m[{i}])", f"np.dot(m[{i}], m[0])", f"m[{i}, q[{i}] % 3]", f"w[{i}]", f"x[{i}:{i} + k].sum()",
                f"local({i})", f"m[{i}, :2].max()", f"float(q[{i}])",
            ]  # fmt: skip
            if not self._is_parallel:
                found += [f"y[{i}]", f"y[p[{i}]]", f"t[1][{i}]", f"y[max(0, {i} - 1)]", f"z[{i}]", f"h[q[{i}]]"]
        return self._rng.choice(found or ["s"])

    def _number(self, depth: int = 0) -> str:
        if depth > 1 or self._chance(3):
            return self._read()
        left, right = self._number(depth + 1), self._number(depth + 1)
        return self._rng.choice([
            f"0.5 * {left}", f"f({left})", f"bent({left})", f"np.sqrt(abs({left}))", f"min({left}, {right})",
            f"max({left}, s)", f"0.5 * ({left} + {right})", f"({left} if {right} > s else 0.25)", f"two({left}, s)[1]",
            f"{left} - 0.5 * {right}", f"np.tanh({left})", f"math.cos({left})", f"np.float64({left})", f"g({left})",
        ])  # fmt: skip

    def _condition(self) -> str:
        left = self._read()
        i = self._index
        tests = [f"{left} > s", f"{left} < {self._read()}", f"np.isfinite({left}) and {left} < s"]
        if i is not None:
            tests += [f"{i} % 2 == 0", f"q[{i}] > k", f"p[{i}] < len(x) // 2"]
        return self._rng.choice(tests)

    # -------------------------------------------------------------------------------------------- statements

    def _statement(self, depth: int) -> None:
        i, e = self._index, self._number()
        kinds = ["acc", "local", "if"]
        if i is not None:
            kinds += ["store", "store", "hist", "scaled", "row", "helper"]
        if not self._is_parallel:
            kinds += ["max", "exit", "continue", "last", "fill", "two"]
            if i is not None:
                kinds += ["swap", "alias", "append", "rowcopy", "choice", "slice"]
        kind = self._rng.choice(kinds)
        if kind == "acc":
            self._line(f"acc += {e}", depth)
        elif kind == "max":
            self._line(self._rng.choice([f"acc = max(acc, {e})", f"acc = 0.5 * acc + {e}", f"acc -= {e}"]), depth)
        elif kind == "local":
            name = self._name("v")
            self._line(f"{name} = {e}", depth)
            self._values.append(name)
        elif kind == "two":
            name, other = self._name("v"), self._name("v")
            self._line(f"{name}, {other} = two({e}, {self._read()})", depth)
            self._values += [name, other]
        elif kind == "if":
            self._line(f"if {self._condition()}:", depth)
            known = len(self._values), len(self._rows)
            self._statement(depth + 1)
            del self._values[known[0] :], self._rows[known[1] :]
            if self._chance(2):
                self._line("else:", depth)
                self._statement(depth + 1)
                del self._values[known[0] :], self._rows[known[1] :]
        elif kind in ("exit", "continue"):
            self._line(f"if {self._condition()} and acc > 1e6:", depth)
            exits = ["break", "return acc"] if kind == "exit" else ["continue"]
            self._line(self._rng.choice(exits) if not self._is_while else "break", depth + 1)
        elif kind == "store":
            own = ["y[{}]", "z[{}]"]
            any_element = [*own, "t[1][{}]", "y[p[{}]]", "w[{}]", "m[{}, 0]", "y[{} - 1]"]
            target = self._rng.choice(own if self._is_parallel else any_element)
            self._line(f"{target.format(i)} {self._rng.choice(['=', '=', '+='])} {e}", depth)
        elif kind == "hist":
            self._line(f"h[q[{i}]] += {self._rng.choice(['1', '1.0', e])}", depth)
        elif kind == "scaled":
            self._line(f"{self._rng.choice(['y', 'z'])}[p[{i}]] *= {self._rng.choice(['2', '0.5', 's'])}", depth)
        elif kind == "row":
            name = self._name("r")
            self._line(f"{name} = m[{i}]{self._rng.choice(['', '', '[:2]', '.copy()', ' * 0.5', '[::-1]'])}", depth)
            self._rows.append(name)
        elif kind == "rowcopy":
            self._line(self._rng.choice([f"m[{i}] = m[{i} // 2]", f"m[{i}, :] = {e}", f"m[{i}] *= 0.5",
                                         f"m[{i}] = m[{i}] + m[0]", f"m[{i}, 1:] += s"]), depth)  # fmt: skip
        elif kind == "helper":
            self._line(f"stores({'z' if self._is_parallel else self._rng.choice(['y', 'z'])}, {i}, {e})", depth)
        elif kind == "swap":
            self._line(f"x[{i}], y[{i}] = y[{i}], x[{i}]", depth)
        elif kind == "alias":
            name = self._name("a")
            self._line(f"{name} = x if {self._condition()} else y", depth)
            self._line(f"acc += {name}[{i}]", depth)
        elif kind == "choice":
            self._line(f"acc += (x, y)[{i} % 2][{i}]", depth)
        elif kind == "slice":
            self._line(f"y[{i}:{i} + k] *= 0.5", depth)
        elif kind == "append":
            self._line(f"kept.append({e})", depth)
        elif kind == "last":
            self._line(f"last = {e}", depth)
            self._set.add("last")
        elif kind == "fill":
            self._line(f"y[0] += 0.5 * {self._read()}", depth)

    # -------------------------------------------------------------------------------------------- the loop

    _is_while = False

    def _loop(self, depth: int) -> None:
        heads: list[tuple[str, str | None, list[str], list[str]]] = [
            ("for i in range(len(x)):", "i", [], []),
            ("for i in range(x.shape[0]):", "i", [], []),
            ("for i in range(n):", "i", [], []),
            ("for i in range(1, x.size - 1):", "i", [], []),
            ("for i in range(len(x) - 1, 0, -1):", "i", [], []),
            ("for i, v in enumerate(x):", "i", ["v"], []),
            ("for v in x:", None, ["v"], []),
            ("for v, u in zip(x, y):", None, ["v", "u"], []),
            ("for i, (v, u) in enumerate(zip(x, y)):", "i", ["v", "u"], []),
            ("for row in m:", None, [], ["row"]),
            ("for i, row in enumerate(m):", "i", [], ["row"]),
            ("for i in p:", "i", [], []),
            ("for i in np.arange(len(x)):", "i", [], []),
            ("for i, v in np.ndenumerate(q):", None, ["v"], []),
            ("for i in range(n - 1, -1, -1):", "i", [], []),
            ("for v in x.flat:", None, ["v"], []),
            ("for i in prange(len(x)):", "i", [], []),
            ("for i in prange(n):", "i", [], []),
            ("while i < len(x) - 1:", "i", [], []),
            ("while i < n - 1 and y[i] < 1e9:", "i", [], []),
            ("while True:", "i", [], []),
        ]
        head, self._index, self._values, self._rows = self._rng.choice(heads)
        self._is_parallel, self._is_while = "prange" in head, head.startswith("while")
        if self._is_while:
            self._line("i = 0", depth)
        self._line(head, depth)
        if self._is_while:
            self._line("i += 1", depth + 1)
            if "True" in head:
                self._line("if i >= n:", depth + 1)
                self._line("break", depth + 2)
        for _ in range(self._rng.randrange(1, 5)):
            self._statement(depth + 1)
        if self._index is not None and self._chance(4):
            inner = "for j in range(3):", "for j in range(m.shape[1]):", f"for j in range(q[{self._index}] % 3):"
            self._line(self._rng.choice(inner), depth + 1)
            self._values.append(f"m[{self._index}, j]")
            for _ in range(self._rng.randrange(1, 3)):
                self._statement(depth + 2)

    def source(self) -> str:
        """The text of a program."""
        before = [
            "w = x", "w = x[::-1]", "w = t[0]", "w = m[:, 1]", "w = x.copy()", "w = 0.5 * x", "w = x if s > 0 else y",
            "w = m.reshape(-1)[:n]", "w = np.sort(x)", "w = x[x > -9]", "w = np.concatenate((x, y))[:n]",
        ]  # fmt: skip
        self._line("acc = 0.0")
        self._line("kept = [0.0]")
        self._line(self._rng.choice(before))
        self._line(self._rng.choice(["h = np.zeros(10)", "h = np.zeros(10, np.float64)", "h = 0.0 * x[:10]"]))
        self._line(self._rng.choice(["z = np.zeros(n)", "z = np.empty_like(x)\n    z[:] = 1.0", "z = y.copy()",
                                     "z = np.zeros(len(x))", "z = np.ones(x.shape)"]))  # fmt: skip
        local = self._rng.choice(["local = lambda at: x[at]", "local = lambda at: 0.5 * s"])
        inner = self._rng.choice(["return 0.5 * v", "return v * s", "return v - x[0]"])
        first = len(self._lines)
        if self._chance(6):
            self._line("acc += swept(x, y, p)")
        if self._chance(3):
            self._line("y[:] = 0.5 * y + x")
        depth = 1
        if self._chance(4):
            self._line(self._rng.choice(["for step in range(2):", "while acc < 1e-9:", "if n > 3:"]))
            if "while" in self._lines[-1]:
                self._line("acc += 1e-3", 2)
            depth = 2
            if self._chance(2):
                self._line("x[:] = 0.5 * x", 2)
        self._loop(depth)
        if self._chance(3):
            self._loop(1)
        if self._chance(3):
            self._line("y[:] = y * 0.5")
        # Numba refuses local functions that nothing calls.
        loops = "".join(self._lines[first:])
        names = [f"    {local}"] if "local(" in loops else []
        names += ["    def g(v):", f"        {inner}"] if " g(" in loops or "(g(" in loops else []
        results = ["acc", "acc", "h[0]", "len(kept)", "h", "kept[-1]", "z", "x[0] + y[0]"]
        returned = f"return {', '.join(self._rng.sample(results, self._rng.randrange(1, 4)))}, acc"
        lines = [*self._lines[:first], *names, *self._lines[first:], f"    {returned}"]
        text = "\n".join([HELPERS, "", f"def program({PARAMETERS}):", *lines]) + "\n"
        return text.replace("return acc\n", f"{returned}\n")


def written(seed: int) -> str:
    """The text of a program: a function `program` of `PARAMETERS`, and what it calls."""
    return Writer(seed).source()
