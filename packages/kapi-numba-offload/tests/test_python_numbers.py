"""Elements that Python computes with, however they reach it, have the integers that Numba gives NumPy's arrays."""

import functools
import linecache
import operator

import dpnp
import numba
import numpy as np
import pytest

DTYPES = ("int8", "uint8", "int16", "uint32", "uint64", "bool")

ARITHMETIC = (
    "({x} + {y}, {x} - {y}, {x} * {y}, {x} // {y}, {x} % {y}, {x} / {y}, {x} ** 2, {x} << 3, {x} >> 1, {x} & {y}, "
    "{x} | {y}, {x} ^ {y}, {x} + 1, 3 * {x}, {x} - 200, +{x}, {x} < {y}, {x} == {y}, {x} > -1, int({x}), float({x}), "
    "pow({x}, 2), divmod({x}, {y}), min({x}, {y}) * 2, max({x}, {y}) * 2, abs({x}) * 2)"
)
BOOLEAN = (
    "({x} + {y}, {x} * {y}, {x} - {y}, {x} & {y}, {x} | {y}, {x} + 1, 3 * {x}, {x} < {y}, not {x}, int({x}), -{x})"
)
"""Numba has no quotient of bools."""

SOURCES = {
    "comprehension": "[{E(x, y)} for x, y in zip(a, b)]",
    "positions": "[{E(a[i], b[i])} for i in range(a.shape[0])]",
    "nested": "[{E(x, y)} for x in a for y in b]",
    "comprehension in another": "[[{E(x, y)} for x in a][0] for y in b]",
    "enumerate": "[{E(x, b[k])} for k, x in enumerate(a)]",
    "loop": "out = []\nfor x, y in zip(list(a), list(b)):\n    out.append({E(x, y)})\nout",
    "lambda": "g = lambda x, y: {E(x, y)}\ng(a[0], b[0])",
    "local function": "def g(x, y):\n    return {E(x, y)}\ng(a[0], b[0])",
    "element": "{E(a[0], b[0])}",
    "element of a list": "l = list(a)\n{E(l[0], l[1])}",
    "pop": "l, k = list(a), list(b)\nx, y = l.pop(), k.pop()\n{E(x, y)}",
    "next": "x, y = next(iter(a)), next(iter(b))\n{E(x, y)}",
    "tuple": "t = (a[0], b[0])\nx, y = t\n{E(x, y)}, {E(t[0], t[1])}",
    "sorted": "{E(sorted(list(a))[0], b[0])}",
    "flat": "[{E(x, y)} for x, y in zip(a.flat, b)]",
    "extrema": "{E(max(a), min(b))}",
    "item": "{E(a[:1].item(), b[0])}",
    "row": "[{E(r[0], r[1])} for r in m]",
    "choice": "x = a[0] if a[1] > b[0] else b[1]\n{E(x, b[0])}",
}
"""Sources of the elements that are computed with: statements, and an expression."""

OTHERS = {
    "sum": "sum(a), sum(list(b)), sum([x for x in a]), sum((a[0], a[1])), sum(a, 5), [sum(a) * x for x in b]",
    "map": "list(map(lambda x: x * 2, a)), list(map(lambda x, y: x + y, a, b))",
    "parameters named as functions": "g = lambda pow, sum: pow * sum\ng(a[0], b[0])",
    "function of a loop": (
        "g = lambda x: x * 2 + x\nc = np.zeros(3)\n"
        "for i in range(3):\n    c[i] = g(a[i]) + np.random.randint(0, 1)\nc, g(b[0])"
    ),
    "reduce": "reduce(lambda x, y: x + y, list(a)), reduce(lambda x, y: x * y, list(b), 1)",
    "filter": "list(filter(lambda x: x + x + x > 250, a))",
    "condition": "[x for x in a if x + x + x > 250]",
    "operators": "operator.add(a[0], a[1]), [operator.mul(x, x) for x in a], operator.sub(a[0], b[0])",
    "dictionary": "d = {k: x * x + x for k, x in enumerate(a)}\nd[0], d[1], d[2]",
    "in place": "s, p, q = 0, a[0], b[0]\nfor x in list(a):\n    s += x\n    p *= x\n    q -= x\ns, p, q",
    "items": "l, d = [0, 1], {0: 0}\nfor x in list(a):\n    l[0] += x\n    l[1] *= x\n    d[0] += x\nl, d[0]",
    "items of elements": "l = [a[0], a[1]]\nl[0] += a[1]\nl[1] *= a[0]\nl",
    "array of numbers": "np.array([x * 2 for x in a]), np.array([x for x in a])",
    "conversions": "[np.uint8(x) * 2 for x in a], [np.int16(x) * 300 for x in a], np.int8(a[0]) * 2",
    "complement": "[~x for x in list(a)], [~(x + 1) for x in a], [-(x + 1) for x in a]",
    "kept elements": "l, k = [a[i] for i in range(3)], [[x for x in a][0] for y in b]\na += a\nl, k",
    "kept elements of flat": "l = [x for x in a.flat]\na += a\nl",
}
"""Functions that are whole; Numba's quotients and powers of bools are left out."""


def compiled(name, text, dtype):
    """The function whose last line is what it returns; a loop over a list keeps it in Python."""
    operations = BOOLEAN if dtype == "bool" else ARITHMETIC
    while "{E(" in text:
        before, _, rest = text.partition("{E(")
        operands, _, after = rest.partition(")}")
        x, _, y = operands.partition(", ") if operands.count(", ") == 1 else operands.rpartition(", ")
        text = before + operations.format(x=x, y=y) + after
    *lines, returned = text.split("\n")
    lines = ["t = 0", "for w in list(a):", "    t += w", *lines, f"return t, {returned}"]
    source = "\n".join(["def function(a, b, m):", *(f"    {line}" for line in lines)])
    filename = f"<{name} {dtype}>"
    linecache.cache[filename] = (len(source), None, [f"{line}\n" for line in source.split("\n")], filename)
    space = {"np": np, "operator": operator, "reduce": functools.reduce, "__name__": "numbers_of_tests"}
    exec(compile(source, filename, "exec"), space)
    return numba.njit(space["function"])


def arguments(dtype):
    if dtype == "bool":
        values = [True, False, True], [True, True, False]
    else:
        most = int(np.iinfo(dtype).max) if np.dtype(dtype).itemsize < 4 else 2**31 + 5
        values = [most, 3, most - 1], [most - 4, 5, 7]
    a, b = (np.array(each, dtype) for each in values)
    return a, b, np.stack([a, b])


def same(found, expected, where):
    """Compare values and types: those of Python's numbers, and the dtypes of arrays.

    Integers of `uint64` and others are signed to Numba or not, by whether the other is a literal: their bits count.
    """
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected), where
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{where}, {number}")
    elif isinstance(expected, np.ndarray):
        found = dpnp.asnumpy(found) if isinstance(found, dpnp.ndarray) else found
        unsigned = found.dtype == np.uint64
        assert found.dtype == expected.dtype or (unsigned and expected.dtype == np.int64), where
        np.testing.assert_array_equal(found, expected, where)
    elif type(found) is int and found >= 2**63:
        assert found == expected % 2**64, where
    else:
        assert (type(found), found) == (type(expected), expected), where


@pytest.mark.nightly(one_in=6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*SOURCES, *OTHERS])
def test_numbers_in_python_equal_numba(name, dtype, in_context):
    function = compiled(name, (SOURCES | OTHERS)[name], dtype)
    expected = function(*arguments(dtype))
    same(function(*(dpnp.asarray(each) for each in arguments(dtype))), expected, "device")
    same(in_context(function, *arguments(dtype), device="cpu"), expected, "context")
