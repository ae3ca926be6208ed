"""Numba's own number types in the body of a loop, for functions of NumPy arrays that a device context offloads.

Numba's numbers are strong and 64 bits wide: integers of fewer bits become int64 in arithmetic, a float literal is a
float64. The kernel language follows NumPy 2 instead, so the widening is written out.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["NumbaNumbers", "strong_numbers"]

_STRONG = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def strong_numbers(values: Sequence[Any]) -> list[Any]:
    """The values, Python's own numbers as NumPy's of 64 bits."""
    return [_STRONG[type(each)](each) if type(each) in _STRONG else each for each in values]


class NumbaNumbers(ast.NodeTransformer):
    """Writes the widening out.

    Parameters
    ----------
    arrays : mapping
        The arrays by the names that the body has for them.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._wide = {
            name: "int64" if array.dtype.kind == "i" else "uint64"
            for name, array in arrays.items()
            if array.dtype.kind in "iu" and array.dtype.itemsize < 8
        }

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A float literal is a float64."""
        return _converted(node, "float64") if type(node.value) is float else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """An integer that is read has 64 bits."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id in self._wide:
            return _converted(node, self._wide[node.value.id])
        return node


def _converted(node: ast.expr, dtype: str) -> ast.expr:
    function = ast.Attribute(ast.Name("kapi_np", ast.Load()), dtype, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, [node], []), node))
