"""Spellings that kernels may not have: the simulator and the device take the same ones, with the same numbers."""

from __future__ import annotations

import collections
import enum
import itertools
import linecache
import math

import numpy as np
import pytest

import kapi_runtime
import kapi_sim
from kapi_sim.errors import KapiError

ITEMS = 6


class Colour(enum.IntEnum):
    RED = 1
    FAR = 300


class Own(int):
    """A class of numbers that is nobody's but the user's."""


Pair = collections.namedtuple("Pair", "x y")
STEPS = (3, 300)
SERIALS = itertools.count()

TAKEN = (
    "o[0, i] = a[i].astype(np.int32)",
    "o[0, i] = a[i].astype(u.dtype)",
    "o[0, i] = a[i].astype(np.bool_)",
    "o[0, i] = b.dtype.type(a[i])",
    "kind = np.int32\no[0, i] = kind(a[i])",
    "kind = int\no[0, i] = kind(b[i]) + n",
    "r = range(b[i], 3 + i, 2)\no[0, i] = r.start\no[1, i] = r.stop\no[2, i] = r.step",
    "if a.dtype == np.float64:\n    o[0, i] = 1",
    "if a[i].dtype != b.dtype:\n    o[0, i] = 1",
    "o[0, i] = 1 if np.uint8 == u.dtype else 2",
    "o[0, i] = a.dtype.itemsize + o[0].size + a[i:].ndim",
    "p = Pair(1.0, a[i])\no[0, i] = p.x + p.y",
    "o[0, i] = b[i].real + b[i].item() + n.bit_length()",
    "t = (b[i], 2)\no[0, i] = (t < (1, 2, 3)) + 2 * (t >= (7,)) + 4 * (() < t)\no[1, i] = (0, 2, 0) > t",
    "t = ((n, 2), b[i])\n(p, q), r = t\no[0, i] = p + q * r",
    "for p, (q, r) in enumerate(((1, 2), (3, 4))):\n    o[1, i] += p * q - r",
    "global LIMIT\no[0, i] = LIMIT",
    "o[0, i] = (b[i] > 0) in range(1, 9)\no[1, i] = b[i] in range(-5, 2**62, 7)",
    "o[0, i] = np.clip(u[i], -5, 300) + np.float32(0.5)\no[1, i] = sum((u[i], 100, 100))",
    "k = 2**63\no[0, i] = k // 2 + a[0]\no[1, i] = (k > b[i]) + (k < u[i]) * 2",
    "h = 14695981039346656037\nfor k in range(3):\n    h = (h ^ np.uint64(u[k])) * 1099511628211\no[0, i] = h >> 40",
    "o[0, i] = np.uint64(b[i]) in range(-5, 8)\no[1, i] = b[i] not in range(2)",
    "o[0, i] = sum(a[:0], 1.5) * np.float32(0.1) + sum(a[:0])",
    "v = a[1:]\no[0, i] = v.size + v.ndim + v.shape[0]",
    "r = reversed(range(i - 2, 7 * i, 3))\no[0, i] = r.start\no[1, i] = r.stop + len(r)",
    "o[0, i] = reversed(range(9, b[i], -2)).step",
    "if n and 2**64:\n    o[0, i] = 1",
    "o[0, i] = 5 if 2**64 else b[i]",
    "if not 2**64 or i > 2:\n    o[0, i] = 2",
    "t = (1, 2)\nu = t + (b[i], 3)\no[0, i] = u[i % 4] * 2\no[1, i] = tuple(t)[i % 2]",
    "t = (1, 2) + (3,) * 2\no[0, i] = t[i % 4]",
    "t = (1, 2, 3)\nu = t[1:]\no[0, i] = u[i % 2] * range(3, 9)[i % 6]",
    "t = (1, 2.5, 3)\no[0, i] = t[-(i % 3) - 1] + ((1, 2), (3, 4))[-(i % 2) - 1][b[1]]\no[1, i] = t[np.int8(-n)]",
    "o[0, i] = all(range(1, 2**62)) + 2 * all(range(-4, 2**62, 3)) + 4 * any(range(-(2**63), 2**63 - 1))",
    "o[0, i] = round(a[i] / 3, ndigits=1)\nfor k, y in enumerate(iterable=b, start=2):\n    o[1, i] += k * y",
    "def f(y): return y + i\ng = f\no[0, i] = g(n)",
    "def apply(h, y): return h(y)\no[0, i] = apply(abs, b[i]) + apply(lambda y: y + 1, n)",
    "def f(y):\n    def g(z): return z * y\n    return g(2)\ny = 5\no[0, i] = f(n) + y",
    "f, k = (lambda y: y + n), 3\no[0, i] = f(k)",
    "def f(y): return y + 1\no[0, i] = f(n)\ndef f(y): return y + 2\no[1, i] = f(n)",
    "if b[i] > 1:\n    def f(y): return y + 1\n    o[0, i] = f(n)",
)
REFUSED = {
    "indexed-value": (
        "t = (1, 2)\nc = i > 2\no[0, i] = t[c]",
        "t = (1, 2)\no[0, i] = t[bool(n)]",
        "o[0, i] = a[i][()]",
        "t = (1, 2)\nc = bool(n)\nd = c\no[0, i] = t[d]",
        "t = (1, 2)\nif n:\n    c = i > 2\nelse:\n    c = i > 3\no[0, i] = t[c]",
        "t = (1, 2)\nc = all((n, i))\no[0, i] = t[c]",
        "t = (1, 2)\nc = math.isnan(1.5 * n)\no[0, i] = t[c]",
        "r = range(10)\nr = r[2:]\no[0, i] = r[0]",
        "for k in range(10)[:5]:\n    o[0, i] += k",
        "o[0, i] = len(range(n)[::2])",
    ),
    "operator-operands": (
        "t = (1, 2)\nt = t * 2\no[0, i] = t[0]",
        "t = (b[i], 2)\no[0, i] = (2 * t)[1]",
        "t = (1,)\nt *= n\no[0, i] = t[0]",
        "o[0, i] = ((1, 2) + (b[i],) * 2)[0]",
    ),
    "call-arguments": (
        "t = tuple(range(3))\no[0, i] = t[0]",
        "o[0, i] = tuple(a)[0]",
        "o[0, i] = math.hypot(3, 4, n)",
        "o[0, i] = math.gcd(n, b[i], 3)",
        "o[0, i] = math.lcm(n)",
        "o[0, i] = a[i].astype(int)",
        "o[0, i] = Colour(1)",
        "o[0, i] = round(number=a[i], ndigits=1)",
        "o[0, i] = divmod(n, y=2)[0]",
        "o[0, i] = np.where(condition=n, x=1, y=2)",
        "o[0, i] = np.clip(a[i], low=0, high=1)",
        "o[0, i] = np.floor_divide(a[i], y=2)",
        "o[0, i] = math.sqrt(x=2.0)",
    ),
    "function-passed": (
        "f = (lambda y: y + 1) if i > 3 else (lambda y: y + 2)\no[0, i] = f(n)",
        "def f(y): return y + 1\ndef g(y): return y + 2\no[0, i] = (f if i > 3 else g)(n)",
        "if i > 3:\n    def f(y): return y + 1\nelse:\n    def f(y): return y + 2\no[0, i] = f(n)",
        "t = (lambda y: y + 1, lambda y: y + 2)\no[0, i] = t[0](n)",
        "def f(y): return y\nt = (f, 2)\no[0, i] = t[0](n)",
        "f = g = lambda y: y + 1\no[0, i] = f(n) + g(n)",
        "o[0, i] = min(n, lambda y: y)",
    ),
    "local-function-order": (
        "def f(y): return y if y < 2 else f(y - 1)\no[0, i] = f(n)",
        "f = lambda y: y if y < 2 else f(y - 1)\no[0, i] = f(n)",
        "def f(y): return g(y)\ndef g(y): return y + 1\no[0, i] = f(n)",
        "def f(y): return y + late\nlate = 5\no[0, i] = f(n)",
    ),
    "unpacking": (
        "p, q = o[i % 3, :2]\no[0, i] = p",
        "for p, q in o[:, :2]:\n    o[0, i] = p",
        "for k, (p, q) in enumerate(o[:, :2]):\n    o[0, i] = p",
        "p, q = range(2)\no[0, i] = p",
        "(p, q), r = a[:2], 1\no[0, i] = p",
        "p, q = i\no[0, i] = p",
    ),
    "in-array": ("o[0, i] = a[i] in range(3)",),
    "number-unfit": (
        "o[0, i] = b[i] in range(2**63)",
        "o[0, i] = len(range(2**63 - 2, 2**63))",
        "o[0, i] = u[i] + Colour.FAR",
        "o[0, i] = u[i] + STEPS[1]",
        "o[0, i] = STEPS[-1] * u[i]",
        "u[i] = STEPS[1]",
        "k, m = STEPS\no[0, i] = u[i] + m",
        "p = Pair(300, 2.5)\no[0, i] = u[i] + p.x",
        "t = (300, 2)\no[0, i] = u[i] + t[0]",
        "k = 150\nk += 150\no[0, i] = u[i] + k",
        "k = 5\no[0, i] = u[i] + -k",
        "o[0, i] = max((u[i], 300))",
        "t = (-1, u[i])\no[0, i] = min(t)",
        "o[0, i] = sum((u[i], 300))",
        "o[0, i] = sum((100, 200, u[i]))",
        "o[0, i] = sum((u[i], u[i]), 300)",
        "o[0, i] = sum(u[:2], -1)",
        "o[0, i] = divmod(u[i], 300)[0]",
        "o[0, i] = divmod(-1, u[i] + 1)[1]",
        "o[0, i] = np.clip(u[i], 300, 400)",
        "o[0, i] = np.clip(u[i], -5, -1)",
        "k = 2**63\no[0, i] = b[i] * k",
        "k = 2**63 if i > 3 else -5\no[0, i] = u[i] + k",
    ),
    "outside-object": ("o[0, i] = a[i] * OWN", "o[0, i] = a[i] * (1, OWN)[1]"),
    "outside-text": ("o[0, i] = Colour['RED']",),
    "attribute-unknown": (
        "o[0, i] = Colour.RED.numerator",
        "c = Colour.RED\no[0, i] = c.value",
        "p = Pair(1.0, a[i])\nq = p._replace(x=5.0)\no[0, i] = q.x",
        "p = Pair(1.0, a[i])\no[0, i] = len(p._fields)",
        "t = (1, 2, 1)\no[0, i] = t.count(1)",
        "o[0, i] = a[i].round()",
        "o[0, i] = a[i].is_integer()",
        "o[0, i] = a[i].size",
        "v = a[i]\no[0, i] = v.size",
        "v = a[i]\no[0, i] = len(v.shape)",
        "o[0, i] = i.size",
        "o[0, i] = n.numerator",
        "o[0, i] = x.as_integer_ratio()[0]",
        "o[0, i] = a.dtype.num",
        "o[0, i] = n.__add__(2)",
    ),
}


def run(world, body):
    """Result of a kernel of this body in one of the worlds."""
    source = "def kernel(item, a, b, u, o, n, x):\n    i = item.get_id(0)\n"
    source += "".join(f"    {line}\n" for line in body.splitlines())
    filename = f"<spelling {next(SERIALS)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"np": np, "math": math, "Colour": Colour, "Pair": Pair, "LIMIT": 5}
    namespace |= {"STEPS": STEPS, "OWN": Own(3)}
    exec(compile(source, filename, "exec"), namespace)
    arrays = [
        np.array([0.0, 1.0, -2.5, np.inf, 300.0, -0.0]),
        np.array([0, 1, -2, 7, 100, -5], np.int32),
        np.array([0, 1, 2, 255, 128, 7], np.uint8),
        np.zeros((3, ITEMS)),
    ]
    world.call_kernel(world.kernel(namespace["kernel"]), world.Range(ITEMS), *arrays, 3, 2.5)
    return arrays[3]


@pytest.mark.parametrize("body", TAKEN)
def test_both_worlds_take_it_with_the_same_numbers(body):
    simulated = run(kapi_sim, body)
    np.testing.assert_array_equal(run(kapi_runtime, body), simulated)
    assert simulated.any()


@pytest.mark.parametrize(("code", "body"), [(code, body) for code, bodies in REFUSED.items() for body in bodies])
@pytest.mark.parametrize("world", [kapi_sim, kapi_runtime], ids=["simulator", "device"])
def test_both_worlds_refuse_it_by_one_code(world, code, body):
    with pytest.raises(KapiError) as refused:
        run(world, body)
    assert refused.value.code == code
