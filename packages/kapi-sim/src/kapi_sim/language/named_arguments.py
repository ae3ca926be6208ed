"""Functions of numbers that take arguments by name: two of Python's, and none of NumPy's and `math`."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from kapi_sim.errors import Finding
from kapi_sim.language.table.intrinsics import INTRINSICS

__all__ = ["named_arguments"]

_OF_BUILTINS = {"enumerate": ("iterable", "start"), "round": ("ndigits",)}
_MODULES = {"math": math, "cmath": cmath, "numpy": np}
_OF_TABLE: dict[Hashable, str] = {
    getattr(_MODULES[row.owner], row.name): row.key
    for row in INTRINSICS
    if row.kind == "function" and row.owner in _MODULES and hasattr(_MODULES[row.owner], row.name)
}


def named_arguments(node: ast.Call, called: Any, name: str = "") -> Finding | None:
    """Return what is said of arguments that are given by name, where a kernel's function does not take them so.

    Parameters
    ----------
    node : ast.Call
        The call.
    called : object
        What is called.
    name : str
        Of a function of Python's own, its name; else it is one of the table or none of these.
    """
    if not name:
        name = _OF_TABLE.get(called, "") if node.keywords and isinstance(called, Hashable) else ""
    known = _OF_BUILTINS.get(name, ())
    unknown = [each.arg or "**" for each in node.keywords if each.arg not in known] if name else []
    if not unknown:
        return None
    given = ", ".join(f"{each}=" if each != "**" else each for each in unknown)
    return Finding("call-arguments", f"{name}() does not take these arguments in a kernel: {given}")
