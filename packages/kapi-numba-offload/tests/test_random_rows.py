"""Bodies of `prange` loops over rows, written at random: a work-group's iteration leaves what Python leaves.

All numbers are integers in float64, so that sums are exact in any order.
"""

import linecache
import os
import random
import re
import warnings

import dpnp
import numba
import numpy as np
import pytest

BLOCKS, EACH = 60, 4

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")

ROWS = ("x[i]", "y[i]", "w[i, :]", "c[:, i]", "v")
ELEMENTS = ("x[i, k]", "y[i, k]", "w[i, k]", "v[k]", "k", "s", "t")
REDUCTIONS = ("np.sum({})", "np.max({})", "np.min({})", "{}.sum()", "np.argmax({})", "np.argmin({})",
              "np.count_nonzero({} > 1)", "np.any({} > 2)", "np.mean({} * n)")  # fmt: skip


def _without(name, text):
    """An expression with another variable in the place of one."""
    return re.sub(rf"\b{name}\b", "k", text)


class Writer:
    """Writes the body of one loop; it names what it assigns before it reads it."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def pick(self, *items):
        return self.draw.choice(items)

    def number(self):
        """A number of an iteration."""
        return self.pick("s", "t", "x[i, 0]", "y[i, 1]", "w[i, n - 1]", "1.0", "2.0", "x[0, 2]", "v[i]", "p")

    def row(self):
        """An expression of a row."""
        one = self.pick(*ROWS)
        return self.pick(
            one, f"{one} - {self.number()}", f"{one} + {self.pick(*ROWS)}", f"np.abs({one})", f"{one} * 2.0"
        )

    def element(self):
        """A number of an inner iteration."""
        one, other = self.pick(*ELEMENTS), self.pick(*ELEMENTS)
        return self.pick(
            one, f"{one} + {other}", f"{one} - {other}", f"abs({one})", f"{one} + d", f"x[i, {self.other()}]"
        )

    def other(self):
        return self.pick("n - 1 - k", "k - 1", "(k + 1) % n", "0")

    def inner(self, depth):
        """Lines of the body of an inner loop over `k`."""
        lines = [f"d = {_without('d', self.element())}"]
        for _ in range(self.draw.randint(1, 3)):
            value = self.element()
            lines += self.pick(
                [f"s += {_without('s', value)}"],
                [f"t = t - {_without('t', value)}"],
                [f"y[i, k] = {value}"],
                [f"w[i, k] += {value}"],
                [f"w[i, {self.pick('k', 'n - 1 - k', 'k')}] = d"],
                [f"if d {self.pick('<', '>', '<=', '>=')} m:", "    m = d", "    p = k"],
                [f"m = {self.pick('max', 'min')}(m, d)"],
                [f"if {value} > 2:", f"    {self.pick('continue', 'q = k', 's += 1', 'y[i, k] = 3.0')}"],
                [f"q = {value}"],
                ["for h in range(3):", f"    d = d + {self.pick('x[i, h]', 'h', 'w[i, k]')}"],
            )
        return lines

    def statement(self, depth=0):
        """Lines of a statement of an iteration."""
        row, number = self.row(), self.number()
        kinds = [
            lambda: [f"{self.pick('s', 't', 'p')} = {self.pick(*REDUCTIONS).format(f'({row})')}"],
            lambda: [f"{self.pick('y', 'w')}[i] = {row}"],
            lambda: [f"{self.pick('y', 'w')}[i] += {row}"],
            lambda: [f"y[i, {self.pick('0', '1', 'n - 1')}] = {number}"],
            lambda: [f"{self.pick('s', 't')} = {number} + {self.number()}"],
            lambda: self.output(row),
            lambda: self.loop(depth),
            lambda: self.loop(depth),
        ]
        if depth < 2:
            kinds += [
                lambda: [
                    f"if {number} > {self.number()}:",
                    *self.nested(depth),
                    *self.pick([], ["else:", *self.nested(depth)]),
                ],
                lambda: [f"for j{depth} in range({self.pick('2', '3')}):", *self.nested(depth)],
            ]
        return self.draw.choice(kinds)()

    def output(self, row):
        """Lines that store a row by the output of a function, between an expression of rows and its use."""
        function, one, other = self.pick("add", "subtract", "maximum"), self.pick("r", *ROWS), self.pick("r", *ROWS)
        target = self.pick("y[i]", "w[i]", "y[i, :]", "out=w[i]")
        return [f"r = {row}", f"np.{function}({one}, {other}, {target})", f"s = np.sum(r) + {self.pick('r[1]', 't')}"]

    def nested(self, depth):
        lines = [line for _ in range(self.draw.randint(1, 2)) for line in self.statement(depth + 1)]
        return [f"    {line}" for line in lines]

    def loop(self, depth):
        bounds = self.pick("n", "n", "1, n", "i, n", "0, n, 2", "1, n - 1", "n - n")
        return [f"for k in range({bounds}):", *(f"    {line}" for line in self.inner(depth))]

    def written(self):
        """The program."""
        body = ["s, t, p, q, m = 0.0, 1.0, 0, 0.0, x[i, 0]"]
        for _ in range(self.draw.randint(2, 5)):
            body += self.statement()
            if self.draw.random() < 0.1:
                body += [f"if {self.number()} > 3:", "    continue"]
        body += ["o[i, 0] = s + t", "o[i, 1] = p", "o[i, 2] = m", "o[i, 3] = q"]
        total = self.pick([], ["total += s"], ["total += np.max(x[i])", "total -= t"])
        lines = ["total = 0.0", "n = x.shape[1]", "for i in prange(x.shape[0]):"]
        lines += [f"    {line}" for line in (*body, *total)]
        return "\n".join(["def program(x, y, w, c, v, o):", *(f"    {line}" for line in (*lines, "return total"))])


def made(source, seed):
    name = f"<random rows {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np, "prange": numba.prange, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)
    return scope["program"]


def arguments(seed):
    random_ = np.random.default_rng(seed)
    x, y, w, c = (random_.integers(-3, 4, shape).astype("float64") for shape in ((5, 70), (5, 70), (5, 70), (70, 5)))
    return [x, y, w, c, random_.integers(-3, 4, 70).astype("float64"), np.zeros((5, 4))]


def outcome(function, values):
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*values)
    except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
        return repr(error)
    return [np.asarray(each.asnumpy() if isinstance(each, dpnp.ndarray) else each) for each in (result, *values)]


@pytest.mark.nightly(one_in=BLOCKS // 4)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_work_group_leaves_what_python_leaves(block):
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * 10_000 + block * EACH
    for seed in range(first, first + EACH):
        source = Writer(seed).written()
        function = made(source, seed)
        expected = outcome(function, arguments(seed))
        found = outcome(numba.njit(function), [dpnp.asarray(each) for each in arguments(seed)])
        assert not isinstance(expected, str), f"{expected}\n{source}"
        assert not isinstance(found, str), f"{found}\n{source}"
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}\n{source}")
