"""Cases of calls: every spelling of arguments, of each kind of function that a kernel calls.

How a call is spelled decides Python's bytecode, which is another in each version of Python.  What is expected of a
device function comes from Python, which calls the same function with the same text.
"""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from kapi_sim.testing.case import Case, kernel_from_source, output_case

__all__ = ["CASES"]

_COUNT = 4
_ABOVE = [f"p{number}" for number in range(34)]

# `deep` is a device function of a device function, and `many` has more parameters than one instruction names.
_FUNCTIONS = f"""
def mix(a, b=2, c=3):
    return a + 10 * b + 100 * c


def deep(value, *, scale=2):
    return mix(mix(value, c=scale), b=mix(a=1, c=scale, b=0))


def pair(first, second=5):
    return second, first


def many({", ".join(f"{name}={number}" for number, name in enumerate(_ABOVE))}):
    return {" + ".join(f"{1 + number % 7} * {name}" for number, name in enumerate(_ABOVE))}
"""

# Python has type parameters since 3.12.
_GENERIC_FUNCTION = """
def mixed_of[T: int](value: T, scale: int = 2) -> T:
    return mix(value, c=scale)
"""
_HAS_GENERICS = sys.version_info >= (3, 12)

# Name and expression of `i`, the work-item, and `n`, an argument.
_EXPRESSIONS = {
    "positional": "mix(i, n, 4)",
    "defaults": "mix(i)",
    "keywords": "mix(a=i, b=n, c=4)",
    "keywords-in-another-order": "mix(c=i, a=n, b=4)",
    "mixed": "mix(i, c=n)",
    "keyword-between-defaults": "mix(i, b=n)",
    "keyword-only": "deep(i, scale=n)",
    "keyword-only-default": "deep(value=i)",
    "nested-keywords": "mix(mix(a=i, b=mix(c=n, a=1)), c=mix(i, b=mix(a=n, b=i, c=2)))",
    "keyword-names-of-locals": "mix(c=i, b=n, a=i)",
    "same-names-twice": "mix(i, b=n, c=1) - mix(n, b=i, c=2)",
    "starred-tuple": "mix(*(i, n, 4))",
    "starred-rest": "mix(i, *(n, 4))",
    "starred-pair": "mix(i, *pair(n, second=3))",
    "conditional": "mix(i, c=n) if mix(a=i) < 323 else mix(c=i, a=n)",
    "short-circuit": "1 if mix(a=i, b=0) > 301 and mix(n, c=i) > n or not mix(i, c=0) else 2",
    "chained-comparison": "1 if mix(a=1, c=0) <= mix(i, c=0) < mix(a=3, c=0) else 2",
    "walrus": "(m := mix(i, b=n)) + mix(m, c=m)",
    "subscripted": "pair(i, second=n)[0] - pair(first=i)[1]",
    "member": "names.mix(i, c=n) + names.inner.mix(a=n)",
    "closure": "outer(i, b=n) + outer(a=n, c=i)",
    "many-positional": f"many({', '.join(f'i + {number}' for number in range(34))})",
    "many-keywords": f"many({', '.join(f'{name}=n + {number}' for number, name in enumerate(_ABOVE))})",
    "sixteen-keywords": f"many({', '.join(f'{name}=i' for name in _ABOVE[:16])})",
    "builtin-of-two": "min(mix(i, c=n), mix(a=n)) + max(mix(a=i), mix(c=0, a=n), 7)",
    "builtin-of-keywords": "int(round(i * 2.25 + 0.5, ndigits=1) * 10 + 0.5)",
    "math-of-keywords": "math.gcd(mix(i, c=n), mix(a=6)) + int(math.floor(mix(a=i) / 2))",
    "numpy-of-keywords": "int(np.int32(mix(i, c=n)) + np.maximum(mix(a=i), mix(n, b=i)))",
}

if _HAS_GENERICS:
    _EXPRESSIONS["generic-function"] = "mixed_of(i, scale=n) + mixed_of(n)"

# Statements that set `r`.
_STATEMENTS = {
    "loop": "r = 0\nfor k in range(mix(i, b=0, c=0), mix(a=9, b=n, c=0), mix(a=2, c=0, b=0)):\n    r += mix(k, c=n)",
    "while": "r = i\nwhile mix(a=r, c=0) < 100:\n    r = mix(a=r, b=1, c=0)",
    "branches": "if mix(a=i, c=0) > 21:\n    r = mix(i, c=n)\nelse:\n    r = mix(c=i, a=n)",
    "enumerate": "r = 0\nfor k, v in enumerate((i, n, 5), start=mix(a=1, c=0)):\n    r += mix(k, b=v)",
    "unpacked": "p, q = pair(i, second=n)\nr = mix(p, c=q)",
    "augmented": "r = mix(i, c=n)\nr *= mix(a=r, c=0)\nr -= mix(n, b=r)",
    "statement-call": "store(out, i, value=mix(i, c=n))\nstore(a=out, i=i, value=out[i] + 1)\nr = out[i]",
    "local-function": "def near(a, b=7):\n    return a - 2 * b\nr = near(i, b=n) + near(b=i, a=n) + near(i)",
    "local-lambda": "near = lambda a, b=7: a - 2 * b\nr = near(i, b=n) + near(b=i, a=n) + near(i)",
    "match": "match mix(a=i, b=0, c=0):\n    case 1 | 2:\n        r = mix(i, c=n)\n    case _:\n        r = mix(a=n)",
}

# The language's own functions and methods; expected are the values beside them for work-items 0 to 3.
_LANGUAGE: dict[str, tuple[str, list[int]]] = {
    "method-keyword": ("r = item.get_id(dim=0) + item.get_range(dim=0)", [4, 5, 6, 7]),
    "atomic-keywords": (
        "ref = kapi.AtomicRef(out, i, memory_order=kapi.MemoryOrder.RELAXED, memory_scope=kapi.MemoryScope.DEVICE)\n"
        "ref.store(7)\nr = ref.fetch_add(i) + ref.load()",
        [14, 15, 16, 17],
    ),
    "atomic-in-a-branch": (
        "r = i\nif i > n:\n"
        "    kapi.AtomicRef(out, i, memory_order=kapi.MemoryOrder.RELAXED).store(40 + i)\n    r = out[i]",
        [0, 1, 42, 43],
    ),
    "cell-keywords": (
        "cell = kapi.PrivateArray(shape=mix_size, dtype=np.int32)\n"
        "for k in range(mix_size):\n    cell[k] = mix(a=k, c=i)\nr = cell[2]",
        [22, 122, 222, 322],
    ),
}


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _source(body: str) -> str:
    return f"def kernel(item: kapi.Item, n, out):\n    i = item.get_id(0)\n{_indented(body)}\n    out[i] = r\n"


def _store(a: Any, i: Any, value: Any) -> None:
    a[i] = value


def _names() -> dict[str, Any]:
    """The names that the kernels see."""
    made: dict[str, Any] = {}
    exec(_FUNCTIONS + (_GENERIC_FUNCTION if _HAS_GENERICS else ""), made)
    mix = made["mix"]

    def around() -> Any:
        offset = 3

        def outer(a: Any, b: Any = 1, c: Any = 0) -> Any:
            return mix(a, b=b, c=c) + offset

        return outer

    names = {name: value for name, value in made.items() if name != "__builtins__"}
    members = SimpleNamespace(mix=mix, inner=SimpleNamespace(mix=mix))
    return names | {"names": members, "outer": around(), "store": _store, "math": math, "np": np, "mix_size": 5}


_NAMES = _names()


def _called(body: str, n: int) -> list[int]:
    """Run the statements in Python for each work-item."""
    out = np.zeros(_COUNT, np.int64)
    for i in range(_COUNT):
        scope = {**_NAMES, "i": i, "n": n, "out": out}
        exec(body, scope)
        out[i] = scope["r"]
    return out.tolist()


def _case(name: str, body: str, wanted: list[int], n: int) -> Case:
    return output_case(
        f"calls/{name}", kernel_from_source(_source(body), **_NAMES), ((_COUNT,),), [n], wanted, np.int64
    )


_BODIES = {name: f"r = {expression}" for name, expression in _EXPRESSIONS.items()} | _STATEMENTS

CASES: tuple[Case, ...] = (
    *(_case(name, body, _called(body, 2), 2) for name, body in _BODIES.items()),
    *(_case(name, body, wanted, 1) for name, (body, wanted) in _LANGUAGE.items()),
)
