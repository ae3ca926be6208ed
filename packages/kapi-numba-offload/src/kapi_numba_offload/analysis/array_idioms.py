"""Desugaring of array idioms into the forms that the partition knows: views, and operations on them."""

from __future__ import annotations

import ast
from typing import Any

from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind, Kinds
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import located

__all__ = ["desugar_array_idioms"]


def desugar_array_idioms(definition: ast.FunctionDef, names: Scope, kinds: Kinds) -> None:
    """Desugar outer products of vectors to products of a column and a row, and `len(a.flat)` to `a.size`.

    Parameters
    ----------
    definition : ast.FunctionDef
        The function, changed in place.
    names : Scope
        What its names mean.
    kinds : Kinds
        The kinds of its expressions; those of what is written out are added.
    """
    forms = _Forms(names, kinds)
    definition.body = [forms.visit(each) for each in definition.body]


class _Forms(ast.NodeTransformer):
    def __init__(self, names: Scope, kinds: Kinds) -> None:
        self._names, self._kinds = names, kinds

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        function = self._names.value(node.func)
        if node.keywords:
            return node
        if function is len and len(node.args) == 1:
            return self._length(node, node.args[0])
        if len(node.args) == 2 and numpy_name(function) == "outer" and all(map(self._is_vector, node.args)):
            return self._product(node, *node.args)
        return node

    def _length(self, node: ast.Call, value: ast.expr) -> ast.expr:
        is_flat = isinstance(value, ast.Attribute) and value.attr == "flat"
        kind = self._kinds.kind(value.value) if is_flat else None  # type: ignore[attr-defined]  # it is an attribute
        if not isinstance(kind, ArrayKind) or not kind.usm:
            return node
        return self._noted(ast.Attribute(value.value, "size", ast.Load()), SCALAR, node)  # type: ignore[attr-defined]

    def _is_vector(self, node: ast.expr) -> bool:
        return self._kinds.kind(node) == ArrayKind(True, 1)

    def _product(self, node: ast.Call, column: ast.expr, row: ast.expr) -> ast.expr:
        index = ast.Tuple([ast.Slice(), ast.Constant(None)], ast.Load())
        matrix = ArrayKind(True, 2)
        upright = self._noted(ast.Subscript(column, index, ast.Load()), matrix, node)
        return self._noted(ast.BinOp(upright, ast.Mult(), row), matrix, node)

    def _noted(self, made: ast.expr, kind: Any, where: ast.expr) -> ast.expr:
        self._kinds.note(made, kind)
        return located(made, where)
