"""Kinds of values: what statements are made of, with the edge values of each."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "DTYPES",
    "EDGES",
    "ITEMS",
    "LITERALS",
    "STRONG",
    "WEAK",
    "inputs",
    "is_literal",
    "kind_of",
    "prelude",
    "unify",
]

STRONG = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
DTYPES = {code: np.dtype(code).name for code in STRONG}
WEAK = {"wb": ("bool", "?"), "wi": ("int", "i8"), "wf": ("float", "f8"), "wc": ("complex", "c16")}
"""Python's numbers at run time: what makes one, and of which array's element."""

LITERALS: dict[str, tuple[str, ...]] = {
    "lb": ("True", "False"),
    "li": ("3", "0", "-1", "1", "2", "-2", "7", "100", "127", "-128", "128", "255", "300", "-3", "65535", "-32769",
           "2147483647", "4294967296", "9223372036854775807", "5"),
    "lf": ("0.5", "2.0", "-1.0", "0.0", "-0.0", "3.75", "-2.5", "1e-3", "300.25", "1e300"),
    "lc": ("1j", "(2-1.5j)", "(-0.0+3j)", "0j"),
}  # fmt: skip
"""Python's numbers as they are written; each statement has one of them."""

ITEMS, EDGES = 192, 14
_KIND_OF_PYTHON = {bool: "wb", int: "wi", float: "wf", complex: "wc"}
_AS_STRONG = {"wb": "?", "wi": "i8", "wf": "f8", "wc": "c16"}
_SAMPLE: dict[str, Any] = {"wb": True, "wi": 1, "wf": 1.0, "wc": 1j}


def is_literal(kind: str) -> bool:
    """Whether values of the kind are written in the kernel."""
    return kind in LITERALS


def kind_of(value: Any) -> str:
    """The kind of a value of plain Python over NumPy's scalars; "tuple" for several."""
    if isinstance(value, np.generic):
        return "?" if value.dtype.kind == "b" else f"{value.dtype.kind}{value.dtype.itemsize}"
    return _KIND_OF_PYTHON.get(type(value), "tuple")


def unify(kinds: set[str]) -> str:
    """The kind of a variable that is given values of all these kinds; Python's numbers take NumPy's."""
    strong = [kind for kind in kinds if kind not in _SAMPLE]
    weak = [kind for kind in kinds if kind in _SAMPLE]
    if not strong:
        return max(weak, key=list(_SAMPLE).index)
    values = [np.dtype(kind) for kind in strong]
    plain = [np.dtype("?") if kind == "wb" else _SAMPLE[kind] for kind in weak]
    return kind_of(np.result_type(*values, *plain).type(0))


def as_strong(kind: str) -> str:
    """The dtype's code that holds values of the kind."""
    return _AS_STRONG.get(kind, kind)


def _edges(code: str) -> Any:
    dtype = np.dtype(code)
    if code == "?":
        values: list[Any] = [False, True] * 7
    elif dtype.kind == "i":
        ends = np.iinfo(dtype)
        values = [0, 1, -1, 2, 3, -2, 7, 8, 63, 100, ends.min, ends.max, ends.min + 1, ends.max - 1]
    elif dtype.kind == "u":
        last = np.iinfo(dtype).max
        values = [0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, last, last - 1, last // 2 + 1]
    elif dtype.kind == "f":
        ends = np.finfo(dtype)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 300.25, np.nan, np.inf, -np.inf]
        values += [ends.smallest_subnormal, ends.max, -ends.tiny]
    else:
        values = [0j, 1, -1, 1j, -1j, 0.5 + 2j, -2.5 - 0.5j, 3 + 4j, complex(-0.0, 1), 2, 100 - 7j, complex(2, np.nan)]
        values += [complex(np.nan, 1), complex(np.inf, 0)]
    return np.array(values, dtype)


def _small(code: str) -> Any:
    """Numbers that powers, shifts and factorials of Python's ints can take."""
    dtype = np.dtype(code)
    if code == "?":
        return _edges(code)
    if dtype.kind in "iu":
        values = [0, 1, 2, 3, 5, 7, 8, 9, 12, 15, 4, 6, 10, 11]
        if dtype.kind == "i":
            values[9:12] = [-1, -2, -7]
        return np.array(values, dtype)
    if dtype.kind == "f":
        return np.array([0, 1, 2, 3, 0.5, 1.5, -1, -2, 4, -0.5, 0.25, 7, 8, 2.5], dtype)
    return np.array([0, 1, -1, 1j, -1j, 2, 1 + 1j, 2 - 1j, 0.5, 0.5j, -2, 3j, 1 - 1j, 2j], dtype)


def inputs() -> dict[str, Any]:
    """The arrays that statements read, by name: some work-item has each pair of edge values."""
    arrays = {}
    numbers = np.arange(ITEMS)
    for code in STRONG:
        name = code.replace("?", "b1")
        for letter, values in (("", _edges(code)), ("s", _small(code))):
            arrays[f"x{letter}_{name}"] = values[numbers % EDGES]
            arrays[f"y{letter}_{name}"] = values[(numbers // EDGES + numbers % EDGES) % EDGES]
    return arrays


def prelude(name: str) -> tuple[str, str]:
    """The expression of a variable, such as "x_wi", and the array that it is read from."""
    letters, kind = name.split("_")
    made, code = WEAK.get(kind, ("", kind))
    array = f"a{letters}_{code.replace('?', 'b1')}"
    return f"{made}({array}[i])" if made else f"{array}[i]", array
