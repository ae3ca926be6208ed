"""Ways to change a kernel's meaning from outside of it, each as source: what there is, the change, an expression of it.

`CASES` maps a name to (before, change, expression): the first is run where the kernel is made, the second after its
first launch, or before it in a process of its own.  The expression stands in a kernel; Python says what it is worth.
"""

from __future__ import annotations

import linecache
import math
import warnings
from typing import Any

import numpy as np

__all__ = ["CASES", "expected", "made"]

_IN_MODULE = "import types\nM = types.ModuleType('m')\nM.N = types.ModuleType('n')\n"
_CLOSURE = """
def around():
    {name} = {before}
    def change(value):
        nonlocal {name}
        {name} = value
    @kapi.device_func
    def inner(x):
        return {body}
    return inner, change
inner, change = around()
"""
_HELPER = "@kapi.device_func\ndef helper(x, s=2):\n    return x * s\n"
_PLAIN = "def helper(x, s=2):\n    return x * s\n"
_DEEP = (
    "G = 2\n@kapi.device_func\ndef second(x):\n    return x * G\n"
    "@kapi.device_func\ndef first(x):\n    return second(x) + 1\n"
)
_OTHER = "def other(x, s=3):\n    return x + 100 * s\n"

CASES: dict[str, tuple[str, str, str]] = {
    # globals, and the types of what they hold
    "a global": ("G = 2", "G = 3", "x * G"),
    "an integer becomes a bool": ("G = 2", "G = True", "x * G"),
    "an integer becomes a float": ("G = 2", "G = 2.0", "np.int32(7) // 2 * G / 3"),
    "a weak float becomes a float64": ("G = 3.0", "G = np.float64(3.0)", "np.float32(0.1) * G"),
    "a float32 becomes a float64": ("G = np.float32(0.1)", "G = np.float64(np.float32(0.1))", "G * np.float32(3)"),
    "an int32 becomes an int64": ("G = np.int32(2**30)", "G = np.int64(2**30)", "G * np.int32(4) / 2"),
    "a zero gets a sign": ("G = 0.0", "G = -0.0", "math.copysign(1.0, G)"),
    "a zero of NumPy gets a sign": ("G = np.float64(0.0)", "G = np.float64(-0.0)", "math.copysign(1.0, G)"),
    "a number becomes a nan": ("G = 1.0", "G = math.nan", "1.0 if math.isnan(G) else x"),
    "a nan becomes infinite": ("G = math.nan", "G = math.inf", "1.0 if math.isnan(G) else 2.0"),
    "a complex number": ("G = 1 + 2j", "G = 1 - 2j", "G.imag"),
    "a zero's imaginary sign": ("G = complex(1, 0.0)", "G = complex(1, -0.0)", "math.copysign(1.0, G.imag)"),
    "a large integer": ("G = 2**40", "G = 2**41", "x + G"),
    "a tuple": ("G = (1, 2)", "G = (2, 1)", "x * 10 + G[0]"),
    "a nested tuple": ("G = ((1, 2), 3)", "G = ((1, 4), 3)", "x + G[0][1]"),
    "a tuple gets longer": ("G = (1, 2)", "G = (1, 2, 3)", "x + len(G)"),
    "an array": ("G = np.array([2.0, 5.0])", "G = np.array([2.0, 7.0])", "x * G[1]"),
    "an element of an array": ("G = np.array([2, 5])", "G[1] = 7", "x * G[1]"),
    "a zero's sign in an array": ("G = np.zeros(2)", "G[0] = -0.0", "math.copysign(1.0, G[0])"),
    "an array's dtype": ("G = np.ones(2, np.int32) * 2**30", "G = G.astype(np.int64)", "G[0] * np.int32(4) / 2"),
    "an array's dtype in place": ("G = np.ones(2, np.int32)", "G.dtype = np.float32", "x + G[0] * 2.0**149"),
    "an array's shape": ("G = np.arange(6.0)", "G = G.reshape(6, 1)[:3]", "x + len(G)"),
    "an array becomes a tuple": ("G = np.array([2.0, 5.0])", "G = (2.0, 7.0)", "x * G[1]"),
    "a module's array": (_IN_MODULE + "M.v = np.arange(3.0)", "M.v[1] = 6", "x * M.v[1]"),
    "an object's array": ("import types\nO = types.SimpleNamespace(v=np.arange(3.0))", "O.v += 1", "x * O.v[1]"),
    "a dtype": ("G = np.float32", "G = np.float64", "G(0.1)"),
    "a name of Python's own": ("", "def abs(x):\n    return x + 50", "abs(x)"),
    "a name of Python's own comes back": ("def abs(x):\n    return x + 50", "del abs", "abs(-x)"),
    "a global of all modules": (
        "import builtins\nbuiltins.kapi_test_global = 2",
        "builtins.kapi_test_global = 7",
        "x * kapi_test_global",
    ),
    # functions that Python comes with
    "math becomes cmath": ("from math import sqrt", "from cmath import sqrt", "abs(sqrt(x - 2.0 * x))"),
    "pow becomes math.pow": ("power = pow", "power = math.pow", "power(np.int32(3000), 3) // 2"),
    "a module is swapped": ("m = math", "m = np", "m.floor(x) / np.int8(2)"),
    "NumPy's function becomes math's": ("from numpy import floor", "from math import floor", "floor(x + 0.5) / 2"),
    "an operator becomes another": (
        "from operator import add as op", "from operator import mul as op", "op(x, 3.0)"
    ),
    # modules, classes and objects of the user's own
    "a module's attribute": (_IN_MODULE + "M.v = 2", "M.v = 3", "x * M.v"),
    "a module's module's attribute": (_IN_MODULE + "M.N.v = 2", "M.N.v = 3", "x * M.N.v"),
    "a module in a module": (
        _IN_MODULE + "M.N.v = 2", "M.N = types.ModuleType('o')\nM.N.v = 5", "x * M.N.v"
    ),
    "a module's function": (
        _IN_MODULE + "def one(x):\n    return x + 1\nM.f = one", "def two(x):\n    return x + 2\nM.f = two", "M.f(x)"
    ),
    "an attribute by getattr": ("class C:\n    v = 2", "C.v = 3", "x * getattr(C, 'v')"),
    "a class's attribute": ("class C:\n    v = 2", "C.v = 3", "x * C.v"),
    "a base class's attribute": ("class B:\n    v = 2\nclass C(B):\n    pass", "B.v = 3", "x * C.v"),
    "an attribute hides a base class's": ("class B:\n    v = 2\nclass C(B):\n    pass", "C.v = 3", "x * C.v"),
    "an object's attribute": ("import types\nO = types.SimpleNamespace(v=2)", "O.v = 3", "x * O.v"),
    "an object's attribute hides its class's": ("class C:\n    v = 2\nO = C()", "O.v = 3", "x * O.v"),
    "an object within an object": (
        "import types\nO = types.SimpleNamespace(p=types.SimpleNamespace(v=2))", "O.p.v = 3", "x * O.p.v"
    ),
    "a slot": ("class C:\n    __slots__ = ('v',)\nO = C()\nO.v = 2", "O.v = 3", "x * O.v"),
    # enumerations and named tuples
    "an enumeration": (
        "import enum\nclass E(enum.IntEnum):\n    A = 2", "class E(enum.IntEnum):\n    A = 3", "x * E.A"
    ),
    "a member of an enumeration": (
        "import enum\nclass E(enum.IntEnum):\n    A = 2\n    B = 3\nG = E.A", "G = E.B", "x * G"
    ),
    "a named tuple's defaults": (
        "import collections\nP = collections.namedtuple('P', 'x y', defaults=(2.0,))",
        "P = collections.namedtuple('P', 'x y', defaults=(5.0,))",
        "P(x).y",
    ),
    "a named tuple's defaults in place": (
        "import collections\nP = collections.namedtuple('P', 'x y', defaults=(2.0,))",
        "P.__new__.__defaults__ = (5.0,)",
        "P(x).y",
    ),
    "a named tuple's order": (
        "import collections\nP = collections.namedtuple('P', 'x y')",
        "P = collections.namedtuple('P', 'y x')",
        "P(x, 2.0 * x).y",
    ),
    # closures
    "a closure's value": (_CLOSURE.format(name="g", before="2", body="x * g"), "change(3)", "inner(x)"),
    "a closure's type": (
        _CLOSURE.format(name="g", before="3.0", body="np.float32(0.1) * g"), "change(np.float64(3.0))", "inner(x)"
    ),
    "a closure's function": (
        "def one(x):\n    return x + 1\ndef two(x):\n    return x + 2\n"
        + _CLOSURE.format(name="g", before="one", body="g(x)"),
        "change(two)",
        "inner(x)",
    ),
    # functions that are called
    "a device function": (_HELPER, "@kapi.device_func\ndef helper(x):\n    return x + 7", "helper(x)"),
    "a plain function": (_PLAIN, "def helper(x):\n    return x + 7", "helper(x)"),
    "a plain function becomes a device function": (
        _PLAIN, "@kapi.device_func\ndef helper(x):\n    return x + 7", "helper(x)"
    ),
    "a device function's code": (_HELPER + _OTHER, "helper.py_func.__code__ = other.__code__", "helper(x)"),
    "a device function's defaults": (_HELPER, "helper.py_func.__defaults__ = (5,)", "helper(x)"),
    "a device function's own function": (_HELPER + _OTHER, "helper.py_func = other", "helper(x)"),
    "a plain function's code": (_PLAIN + _OTHER, "helper.__code__ = other.__code__", "helper(x)"),
    "a plain function's defaults": (_PLAIN, "helper.__defaults__ = (5,)", "helper(x)"),
    "defaults by name": (
        "def helper(x, *, s=2):\n    return x * s", "helper.__kwdefaults__ = {'s': 5}", "helper(x)"
    ),
    "defaults by name in place": (
        "def helper(x, *, s=2):\n    return x * s", "helper.__kwdefaults__['s'] = 5", "helper(x)"
    ),
    "a global two functions down": (_DEEP, "G = 5", "first(x)"),
    "a function two functions down": (_DEEP, "@kapi.device_func\ndef second(x):\n    return x - 1", "first(x)"),
    "a function's code two functions down": (
        _DEEP + "def other(x):\n    return x - 70", "second.py_func.__code__ = other.__code__", "first(x)"
    ),
    "a device function in a tuple": (
        "def one(x):\n    return x + 1\ndef two(x):\n    return x + 2\nG = (one, two)", "G = (two, one)", "G[0](x)"
    ),
    # the kernel itself
    "the kernel's code": (
        "def other(item, a, out):\n    out[item.get_id(0)] = a[item.get_id(0)] * 77.0",
        "kernel.py_func.__code__ = other.__code__",
        "x * 1.0",
    ),
}  # fmt: skip


def made(name: str, kapi: Any, is_changed: bool) -> tuple[dict[str, Any], str]:
    """Return the namespace in which a case's kernel was made, and the source of the change."""
    before, change, expression = CASES[name]
    source = (
        f"import math\nimport numpy as np\n{before}\n"
        "@kapi.kernel\n"
        "def kernel(item: kapi.Item, a, out):\n"
        "    x = a[item.get_id(0)]\n"
        f"    out[item.get_id(0)] = {expression}\n"
    )
    names = {"kapi": kapi, "__name__": "outside"}
    _run(source, f"<before: {name}, {kapi.__name__}>", names)
    if is_changed:
        _run(change, f"<change: {name}, {kapi.__name__}>", names)
    return names, change


def change(name: str, names: dict[str, Any]) -> None:
    """Make a case's change."""
    _run(CASES[name][1], f"<later change: {name}, {names['kapi'].__name__}>", names)


def expected(name: str, names: dict[str, Any]) -> float:
    """Python's value of the expression, where x is 2.0."""
    if name == "the kernel's code" and names["kernel"].py_func.__code__ is names["other"].__code__:
        return 2.0 * 77.0
    try:
        with np.errstate(all="ignore"):
            return float(eval(CASES[name][2], names | {"x": np.float64(2.0)}))
    except ValueError:  # of `math`; kernels give nan, as NumPy does
        return math.nan


def _run(source: str, file: str, names: dict[str, Any]) -> None:
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5's, of an array's dtype that is set
        exec(compile(source, file, "exec"), names)
