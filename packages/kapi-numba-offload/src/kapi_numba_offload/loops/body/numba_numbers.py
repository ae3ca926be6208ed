"""Numba's own floats in the body of a loop, for functions of NumPy arrays that a device context offloads.

Numba's numbers are strong: a float literal is a float64. The kernel language follows NumPy 2 instead, so the literals
are converted. Integers of loops are Numba's wherever they run (`kapi_types.kernel_typing.numba_integers`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["NumbaFloats", "strong_numbers"]

_STRONG = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def strong_numbers(values: Sequence[Any]) -> list[Any]:
    """The values, Python's own numbers as NumPy's of 64 bits."""
    return [_STRONG[type(each)](each) if type(each) in _STRONG else each for each in values]


class NumbaFloats(ast.NodeTransformer):
    """Makes float literals float64."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A float literal is a float64."""
        if type(node.value) is not float:
            return node
        function = ast.Attribute(ast.Name("kapi_np", ast.Load()), "float64", ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Call(function, [node], []), node))
