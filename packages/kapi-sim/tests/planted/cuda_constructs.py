"""Constructs that numba.cuda's compiler refuses or takes.

What each row says was found with the compilers of Numba 0.68 and numba-cuda 0.30; what one of them takes is among what
runs. ``benchmarks/numba_cuda_constructs.py`` asks the compiler of an environment again.
"""

from __future__ import annotations

import textwrap

DEVICE = "@cuda.jit(device=True)\n"

AROUND = """
import cmath, enum, math, random, time
from collections import namedtuple
import numpy as np

class Settings:
    rate = 3.0

class Colour(enum.IntEnum):
    Red = 3

def plain(x):
    return x + 1

@cuda.jit(device=True)
def shift(x):
    return x + 1

@cuda.jit(device=True)
def scale(x):
    return x * 2

@cuda.jit
def other(x):
    x[0] = 1

settings = Settings()
point = namedtuple("Point", "x y")(3, 4)
numbers, names, table, counted = [1.0, 2.0], {1, 2}, {1: 2.0}, range(3)
nested, mixed = ([1.0], 2.0), (1, 2.0)
rates = np.array([1.0, 2.0, 3.0])
huge, COUNT, SIZE, SHAPE, wide_size = 2**70, 1, 4, (2, 3), np.int64(4)
DEBUG, MODE, SCALE = False, "fast", 2.0
"""
"""Around each kernel; `cuda` is given."""


def source_of(body: str, before: str = "") -> str:
    """Return the source of a kernel with this body."""
    return f"{AROUND}{before}\ndef kernel(a, m, whole, n):\n{textwrap.indent(body, '    ')}\n"


REFUSED = {
    # Collections
    "dict-in-kernel": ["d = {1: 2.0}", "d = dict()", "a[0] = {}.get(1)"],
    "set-in-kernel": ["if a[0] in {1.0, 2.0}:\n    a[0] = 1", "s = set((1, 2))"],
    "list-in-kernel": [
        "l = [1.0, 2.0]\na[0] = l[1]",
        "l = []\nl.append(1.0)",
        "a[0] = len([1, 2])",
        "l = list(range(3))",
        "l = [0.0] * 3",
        "l = [1, 2]\nfor x in l:\n    a[0] = x",
        "x = ([1, 2], 3)",
        "l = sorted((2, 1))",
    ],
    "comprehension": ["l = [i for i in range(3)]", "l = {i for i in range(3)}", "l = {i: i for i in range(3)}"],
    "generator": ["a[0] = sum(i for i in range(3))", "if any(x > 1 for x in a):\n    a[0] = 1"],
    # Strings
    "text-in-kernel": [
        "s = str(3)",
        "s = 'abc'.upper()",
        "s = '{}'.format(3)",
        "s = 'x %d' % 3",
        "s = f'{a[0]} and {a[1]}'",
        "s = f'{a[0]:.2f}'",
        "s = 'abc'\nt = s + s[0]",
        "s = chr(65)",
    ],
    "number-text": ["a[0] = int('3')"],
    "print-call": ["print('x', 3, sep=',')", "print('x', end='')"],
    "print-value": [
        "print(a)",
        "print(None)",
        "print(1j)",
        "print('a' if a[0] > 1 else 'b')",
        "s = 'a'\nif a[0] > 1:\n    s = 'b'\nprint(s)",
        "print(f'{a[0]}')",
    ],
    # Statements
    "try-in-kernel": [
        "try:\n    a[0] = 1\nexcept ValueError:\n    a[0] = 2",
        "try:\n    a[0] = 1\nfinally:\n    a[1] = 2",
    ],
    "with-in-kernel": ["with open('x'):\n    a[0] = 1"],
    "del-in-kernel": ["x = 1\ndel x", "del a[0]"],
    "yield-or-await": ["yield a[0]"],
    "import-in-kernel": ["import math\na[0] = math.pi", "from math import pi\na[0] = pi"],
    "class-in-kernel": ["class Inner:\n    pass"],
    "starred-name": ["x, *y = 1, 2, 3"],
    "match-pattern": ["match (1, 2):\n    case (1, y):\n        a[0] = y\n    case _:\n        a[0] = 0"],
    "return-value": ["return a[0]", "return 1, 2", "if a[0] > 1:\n    return 1\na[0] = 2", "return a"],
    "raise-value": [
        "if a[0] > 9:\n    raise ValueError(a[0])",
        "assert a[0] < 9, a[0]",
        "if a[0] > 9:\n    raise ValueError(x=1)",
    ],
    "raise-from": ["if a[0] > 9:\n    raise ValueError('no') from None"],
    "call-star": ["a[0] = max(**{'x': 1})"],
    # Names from outside
    "name-undefined": ["a[0] = nothing_like_it", "if a[0] > 9:\n    nothing_like_it()"],
    "function-unknown": [
        "a[0] = plain(a[0])",
        "x = plain",
        "a[0] = random.random()",
        "a[0] = time.time()",
        "a[0] = any((1, 2))",
        "for x in reversed((1, 2)):\n    a[0] = x",
        "for x in map(abs, (1, 2)):\n    a[0] = x",
        "exec('a[0] = 1')",
        "x = id(a)",
        "x = hash(a[0])",
        "x = vars()",
        "x = callable(abs)",
        "a[0] = np.exp(a[0])",
        "a[0] = np.sqrt(a[0])",
        "x = np.zeros(3)",
        "x = np.array([1.0, 2.0])",
        "x = np.empty_like(a)",
        "a[0] = np.dot(a, a)",
        "a[0] = np.where(a[0] > 1, 1.0, 2.0)",
        "np.add(a, a, a)",
        "a[0] = math.gcd(4, 6)",
        "a[0] = math.factorial(3)",
        "a[0] = math.fsum((1.0, 2.0))",
        "x = cuda.to_device(a)",
        "cuda.synchronize()",
    ],
    "call-arguments": [
        "a[0] = math.log(a[0], 2.0)",
        "a[0] = pow(3, 2, 5)",
        "np.sin(a, out=a)",
        "cuda.atomic.add(ary=a, idx=0, val=1.0)",
        "a[0] = cmath.sinh(a[0]).real",
    ],
    "outside-collection": [
        "a[0] = numbers[0]",
        "a[0] = len(numbers)",
        "for x in numbers:\n    a[0] = x",
        "a[0] = table[1]",
        "a[0] = 1 in names",
        "for i in counted:\n    a[0] = i",
        "a[0] = nested[0][0]",
    ],
    "outside-object": ["a[0] = settings.rate", "x = settings", "a[0] = Settings.rate", "x = Settings()"],
    "integer-too-wide": ["a[0] = 1180591620717411303424", "a[0] = huge"],
    "module-attribute": ["a[0] = math.sinn(a[0])"],
    "no-enum-member": ["a[0] = Colour.Green.value"],
    "global-changed": ["global COUNT\nCOUNT = 3"],
    "outside-array-stored": ["rates[0] = 1", "x = rates\nx[0] = 1", "c = cuda.const.array_like(rates)\nc[0] = 1"],
    "kernel-in-kernel": ["other[1, 1](a)"],
    # Arrays
    "shape-unknown": [
        "x = cuda.local.array(a.size, np.float64)",
        "x = cuda.local.array(a.shape, np.float64)",
        "x = cuda.local.array(len(a), np.float64)",
        "x = cuda.local.array(n, np.float64)",
        "x = cuda.local.array((2, n), np.float64)",
        "x = cuda.shared.array(shape=n, dtype=np.float64)",
        "x = cuda.shared.array((cuda.blockDim.x, 2), np.float64)",
        "x = cuda.local.array(SIZE + 1, np.float64)",
        "x = cuda.local.array((SIZE, 2 * SIZE), np.float64)",
        "x = cuda.local.array(wide_size, np.float64)",
        "x = cuda.local.array(3.0, np.float64)",
        "x = cuda.local.array(Colour.Red, np.float64)",
        "x = cuda.local.array(point.x, np.float64)",
        "x = cuda.local.array(max(2, 3), np.float64)",
        "k = 3\nif a[0] > 1:\n    k = 4\nx = cuda.local.array(k, np.float64)",
        "k = 3 if a[0] > 1 else 4\nx = cuda.local.array(k, np.float64)",
        "k = 3\nk += 1\nx = cuda.local.array(k, np.float64)",
        "for k in range(1, 3):\n    x = cuda.local.array(k, np.float64)",
        "k = 3\nfor i in range(2):\n    x = cuda.local.array(k, np.float64)\n    k = 4",
    ],
    "array-shape": [
        "x = cuda.local.array(0, np.float64)",
        "x = cuda.local.array(-1, np.float64)",
        "x = cuda.shared.array((0, 3), np.float64)",
    ],
    "array-dtype": [
        "x = cuda.local.array(3, float)",
        "x = cuda.local.array(3, int)",
        "x = cuda.local.array(3, 7)",
        "x = cuda.shared.array(3, a)",
    ],
    "dim-out-of-range": ["x = cuda.grid(4)", "x = cuda.grid(n)", "x = cuda.gridsize(n)"],
    "whole-array": ["x = np.sin(a)", "a[:2] = a[2:4]", "m[0] = m[1]", "x = tuple(a)"],
    "index-type": ["x = a[1.0]", "x = a[a[0]]", "x = a['x']", "x = a[a]", "x = a[n > 1]", "x = a[1j]"],
    "too-many-indices": ["x = a[0, 0]", "x = m[0, 0, 0]"],
    "ellipsis": ["x = a[...]"],
    "stored-value": ["a[0] = None", "a[0] = (1, 2)", "a[0] = 'x'", "a[0] = cuda.grid", "a[0] = np.float32"],
    "attribute-assigned": ["a.shape = (2, 2)"],
    "array-attribute": ["x = a.flags"],
    "attribute-unknown": [
        "x = a[0].astype(np.float32)",
        "x = a[0].dtype",
        "x = n.bit_length()",
        "x = a[0].is_integer()",
        "x = cuda.threadIdx.w",
        "x = (1, 2).count(1)",
        "x = a.dtype.itemsize",
    ],
    "indexed-value": ["x = n[0]", "x = range(3)[1]", "x = cuda.threadIdx[0]"],
    "called-value": ["x = n(1)", "x = a(1)"],
    # Types of variables
    "variable-types": [
        "x = 1\nif a[0] > 1:\n    x = a\ny = x",
        "x = 1\nif a[0] > 1:\n    x = (1, 2)\ny = x",
        "x = (1,)\nif a[0] > 1:\n    x = (1, 2)\ny = x",
        "x = ()\nfor i in range(3):\n    x = x + (i,)",
        "x = a\nif a[0] > 1:\n    x = whole\nx[0] = 1",
        "x = a\nif a[0] > 1:\n    x = m\ny = x",
        "x = 1\nif a[0] > 1:\n    x = 'a'\ny = x",
        "x = a if a[0] > 1 else 1\ny = x",
        "f = math.sin\nif a[0] > 1:\n    f = math.cos\na[0] = f(1.0)",
        "f = shift\nif a[0] > 1:\n    f = scale\na[0] = f(1.0)",
        "t = np.float32\nif a[0] > 1:\n    t = np.float64\na[0] = t(1)",
        "x, y = a, whole\nfor i in range(2):\n    x, y = y, x\nx[0] = 1",
    ],
    "variable-unset": ["a[0] = x\nx = 1", "x += 1", "for i in range(3):\n    if i > 0:\n        a[i] = x\n    x = i"],
    "tuple-index": ["t = (1, 2.0)\na[0] = t[n]", "a[0] = mixed[n]", "t = (1, 2)\na[0] = t[5]"],
    "tuple-changed": ["t = (1, 2)\nt[0] = 3"],
    "unpacking": [
        "x, y = cuda.grid(1)",
        "x, y = cuda.grid(3)",
        "x, y = a.shape",
        "x, y = 'ab'",
        "x, y, z = cuda.threadIdx",
    ],
    "loop-over": [
        "for x in (1, 2.0):\n    a[0] = x",
        "for x in (1, a):\n    a[0] = 1",
        "for f in (shift, scale):\n    a[0] = f(a[0])",
        "for x in n:\n    a[0] = x",
        "for i, x in enumerate((1, 2.0)):\n    a[0] = x",
    ],
    "operator-operands": [
        "x = None\nif a[0] > 1:\n    x = 1\nif x:\n    a[0] = 1",
        "if cuda.threadIdx == cuda.blockIdx:\n    a[0] = 1",
    ],
    # Functions
    "local-function-order": [
        "def g(y):\n    return g(y - 1) if y > 0 else 0\na[0] = g(3)",
        "def g(y):\n    return y + z\nz = 3\na[0] = g(1)",
    ],
    "local-function-parameters": ["def g(*y):\n    return y[0]\na[0] = g(1)"],
}
"""By the code of what is said of them, bodies of kernels that do not compile."""

RUNS = [
    # Collections and strings
    ("s = 0.0\nfor x in [1.0, 2.0]:\n    s += x\na[0] = s", 3),
    ("if a[0] in [0.5, 2.0]:\n    a[0] = 7", 7),
    ("[x, y] = 1.0, 2.0\na[0] = x + y", 3),
    ("unused = [1, 2]\na[0] = 1", 1),
    ("t = (1, 2) + (3,)\na[0] = t[2]", 3),
    ("t = (1, 2, 3)\na[0] = t[n]", 2),
    ("t = (1, 2.5)\na[0] = t[1]", 2.5),
    ("t = (1, 2)\nu = (*t, 3)\na[0] = u[2]", 3),
    ("x, y = 1, 2\nx, y = y, x\na[0] = x", 2),
    ("a[0], a[1] = a[1], a[0]", 1.5),
    ("a[0] = (1, 2).index(2)", 1),
    ("for x, y in ((1, 2), (3, 4)):\n    a[0] = x + y", 7),
    ("if 'fast' == MODE:\n    a[0] = 3", 3),
    ("s = 'a' 'b'\nprint(s, 3, a[0], True)\na[0] = 1", 1),
    ("print(cuda.threadIdx, (1, 2))\na[0] = 1", 1),
    ("print(f'constant')\na[0] = 1", 1),
    # Statements
    ("assert a[0] < 9, 'too large'\na[0] = 1", 1),
    ("if a[0] > 9:\n    raise ValueError('too large', 3)\na[0] = 1", 1),
    ("match n:\n    case 1 | 2:\n        a[0] = 5\n    case y:\n        a[0] = y", 5),
    ("for i in range(3):\n    if i == 5:\n        break\nelse:\n    a[0] = 6", 6),
    ("i = 0\nwhile i < 3:\n    i += 1\nelse:\n    a[0] = i", 3),
    ("x: int = 3\na[0] = x", 3),
    ("a[0] = 1\nreturn\nl = [1]\nl.append(2)", 1),
    ("return None", 0.5),
    # What a constant condition leaves out is not compiled
    ("if DEBUG:\n    l = [1]\n    l.append(2)\na[0] = 1", 1),
    ("if not DEBUG:\n    a[0] = 1\nelse:\n    print(f'{a[0]} {n}')", 1),
    ("if DEBUG and a[0] > 1:\n    plain(1)\na[0] = 1", 1),
    ("if MODE == 'fast':\n    a[0] = 1\nelse:\n    x = {1: 2}", 1),
    ("if SCALE > 1.0:\n    a[0] = 1\nelse:\n    x = settings", 1),
    ("if a.ndim == 2:\n    a[0, 0] = 1\nelse:\n    a[0] = 1", 1),
    ("k = 3\nif k > 4:\n    x = [i for i in range(3)]\na[0] = 1", 1),
    ("if DEBUG:\n    try:\n        a[0] = 2\n    finally:\n        a[0] = 3\na[0] = 1", 1),
    ("while DEBUG:\n    x = str(3)\na[0] = 1", 1),
    # Arrays
    ("x = cuda.local.array(SIZE, np.float64)\nx[3] = 3\na[0] = x[-1]", 3),
    ("x = cuda.local.array(SHAPE, np.float64)\nx[1, 2] = 3\na[0] = x[-1, -1]", 3),
    ("x = cuda.local.array(SHAPE[1], np.float64)\nx[2] = 3\na[0] = x[2]", 3),
    ("x = cuda.local.array((SIZE, 2), np.float64)\nx[3, 1] = 3\na[0] = x[3, 1]", 3),
    ("k = 3\nx = cuda.local.array(k, np.float64)\nx[2] = 3\na[0] = x[2]", 3),
    ("k, j = 2, 3\nx = cuda.local.array((k, j), np.float64)\nx[1, 2] = 3\na[0] = x[1, 2]", 3),
    ("k = 2\nk = 3\nx = cuda.local.array(k, np.float64)\nx[2] = 3\na[0] = x[2]", 3),
    ("x = cuda.local.array(2 * 3 + 1, np.float64)\nx[6] = 3\na[0] = x[6]", 3),
    ("x = cuda.local.array(a.ndim, np.float64)\nx[0] = 3\na[0] = x[0]", 3),
    ("if n > 0:\n    k = 3\nelse:\n    k = 3\nx = cuda.local.array(k, np.float64)\nx[2] = 3\na[0] = x[2]", 3),
    ("k = 3 if not DEBUG else 4\nx = cuda.local.array(k, np.float64)\nx[2] = 3\na[0] = x[2]", 3),
    ("x = cuda.local.array(dtype='f8', shape=3)\nx[2] = 3\na[0] = x[2]", 3),
    ("x = cuda.local.array(3, a.dtype)\nx[2] = 3\na[0] = x[2]", 3),
    ("t = np.float32\nx = cuda.shared.array(3, t)\nx[2] = 3\na[0] = x[2]", 3),
    ("x = cuda.shared.array(0, np.float64)\na[0] = x.size", 0),
    ("x = a[1:]\nx[0] = 3\na[0] = a[1]", 3),
    ("x = a[::2]\na[0] = x[1]", 2.5),
    ("x = m[1]\nx[:] = 4\na[0] = m[1, 2]", 4),
    ("x = a[:, np.newaxis]\na[0] = x[2, 0]", 2.5),
    ("i = (0, 1)\nm[i] = 3\na[0] = m[0, 1]", 3),
    ("a[...] = 3", 3),
    ("a.fill(3)", 3),
    ("a.flat[1] = 4\nfor x in m.flat:\n    a[0] = x + a.flat[1]", 5),
    ("np.sin(a, a)\na[0] = a[1] - math.sin(1.5)", 0),
    ("np.greater(a, 1.0, whole)\na[0] = whole[1]", 1),
    ("a[0] = np.minimum(a[1], 9.0) + np.hypot(3.0, 4.0)", 6.5),
    ("a[0] = rates[1] + rates.shape[0]", 5),
    ("a[Colour.Red] = 9\na[0] = a[3] + Colour.Red.value", 12),
    # Types of variables
    ("x = None\nif a[0] > 0:\n    x = 3\nif x is not None:\n    a[0] = x", 3),
    (
        "x = None\nfor i in range(3):\n    if x is None:\n        x = a[i]\n    elif a[i] > x:\n        x = a[i]\n"
        "a[0] = x",
        2.5,
    ),
    ("x = 1\nif a[0] > 0:\n    x = 2.5\na[0] = x", 2.5),
    ("x = 1\na[0] = x\nx = a\nx[0] = 3", 3),
    ("if a[0] > 1:\n    x = 1\n    a[0] = x\nelse:\n    x = a\n    x[0] = 2", 2),
    ("x = 1\nif a[0] > 9:\n    x = a\na[0] = 3", 3),
    ("x = (1, 2)\nif a[0] > 0:\n    x = (1, 2.5)\na[0] = x[1]", 2.5),
    ("x = a\nif a[0] > 0:\n    x = a[1:]\na[0] = x[0]", 1.5),
    ("x = cuda.local.array(4, np.float64)\nx[0] = 1\nif a[0] > 9:\n    x = a\na[0] = x[0]", 1),
    ("f = math.sin\na[0] = f(0.0)", 0),
    ("f = shift\na[0] = f(1.0)", 2),
    ("fs = (shift, scale)\na[0] = fs[1](a[1])", 3),
    ("a[0] = (lambda y: y + 1)(a[1])", 2.5),
    ("z = a[1]\ndef g(y, w=2):\n    return y + z + w\na[0] = g(1)", 4.5),
    ("def g(y):\n    def h(x):\n        return x + 1\n    return h(y)\na[0] = g(1) + g(0.5)", 3.5),
    ("def unused(x):\n    return [x]\na[0] = 1", 1),
    ("a[0] = n.item() + a[1].item() + (1.0).view(np.int64)", 1 + 1.5 + 0x3FF0000000000000),
    ("a[0] = complex(a[1], 2.0).real + (3).conjugate()", 4.5),
    ("a[0] = isinstance(a[0], float) + hasattr(a, 'size')", 2),
    ("p = type(point)(1, 2)\na[0] = p.y + point.x", 5),
]
"""Bodies of kernels that compile, with what the first element is then."""

IN_DEVICE_FUNCTIONS = {
    "private-array-returned": [
        "def part(x):\n    return x[1:]",
        "def part(x):\n    y = cuda.local.array(3, np.float64)\n    return y",
        "def part(x):\n    y = x\n    return y",
        "def part(x):\n    return x.reshape(2, 2)",
        "def part(x):\n    return rates",
    ],
    "return-types": [
        "def part(x):\n    if x[0] > 1:\n        return 1\n    return (1, 2)",
        "def part(x):\n    if x[0] > 1:\n        return (1,)\n    return (1, 2)",
        "def part(x):\n    if x[0] > 1:\n        return 'a'\n    return 1",
    ],
    "shape-unknown": [
        "def part(x):\n    y = cuda.local.array(x.shape[0], np.float64)\n    return y[0]",
    ],
    "function-parameters": [
        "def part(x, **more):\n    return 1",
        "def part(x, *, k=1):\n    return k",
    ],
    "function-unknown": ["def part(x):\n    return np.exp(x[0])"],
    "dict-in-kernel": ["def part(x):\n    return {1: 2}"],
}
"""By the code, device functions that do not compile."""
