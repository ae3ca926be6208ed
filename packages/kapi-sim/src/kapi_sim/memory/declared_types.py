"""Device functions with signatures: what kernels give them, and what they return, is converted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.items.items import SimItem, SimNdItem
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.launchables.declared_signatures import (
    Signature,
    array_parameter,
    best_signature,
    described_value,
    signatures_of,
)
from kapi_sim.language.launchables.signature_parser import ParameterType, parameter_type
from kapi_sim.memory.views import View
from kapi_sim.numbers.arithmetic import conversion

__all__ = ["ENTER", "convert_around", "converting", "declared_conversions"]

ENTER, _LEAVE = "_kapi_declared", "_kapi_declared_result"


def convert_around(tree: ast.FunctionDef) -> None:
    """Let a function convert its arguments by a call of `ENTER`, and its results by what that gives first."""
    names = [each.arg for each in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    targets = ", ".join([_LEAVE, *names])
    start = ast.parse(f"({targets},) = {ENTER}({', '.join(names)})").body
    end = ast.parse(f"return {_LEAVE}(None)").body
    for statement, position in ((start[0], tree.body[0]), (end[0], tree.body[-1])):
        for part in ast.walk(statement):
            ast.copy_location(part, position)
    tree.body = [*start, *map(_Returns().visit, tree.body), *end]


class _Returns(ast.NodeTransformer):
    """Converts what the statements of a function return; functions in it return what is their own."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        given = node.value or ast.copy_location(ast.Constant(None), node)
        node.value = ast.copy_location(
            ast.Call(ast.copy_location(ast.Name(_LEAVE, ast.Load()), node), [given], []), node
        )
        return node


def declared_conversions(tree: ast.FunctionDef, function: Callable[..., Any]) -> dict[str, Any]:
    """Change the source of a device function that has signatures, and return what its new names mean."""
    signatures = signatures_of(function)
    if not signatures:
        return {}
    convert_around(tree)
    return {ENTER: partial(_entered, function.__name__, signatures)}


def converting(function: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """Return what converts as the signatures of a function say, and calls `made`; that itself, if there are none."""
    signatures = signatures_of(function)
    if not signatures:
        return made

    def called(*args: Any, **named: Any) -> Any:
        bound = signature(function).bind(*args, **named)
        bound.apply_defaults()
        convert, *given = _entered(function.__name__, signatures, *bound.args, *bound.kwargs.values())
        return convert(made(*given))

    return called


def _entered(name: str, signatures: Sequence[Signature], *args: Any) -> tuple[Any, ...]:
    """Return what converts the function's result, and the arguments as the best signature has them."""
    given = [described_value(value, _array_or_item) for value in args]
    found = best_signature(signatures, given, is_call=True)
    if found is None:
        listed = " or ".join(map(str, signatures))
        texts = ", ".join(each.text if each else "an object" for each in given)
        raise KernelCompilationError(
            f"arguments of device function `{name}` must be those of a signature, {listed}, got ({texts}): convert "
            "them, or leave the signatures out",
            code="call-arguments",
        )
    values = [_converted(wanted, value) for wanted, value in zip(found.parameters, args, strict=True)]
    return (partial(_left, name, found.result), *values)


def _left(name: str, wanted: ParameterType | None, value: Any) -> Any:
    """Return the result of a function as one of its declared type."""
    if wanted is None or (wanted.kind == "none" and value is None):
        return value
    if wanted.kind == "none" or value is None or isinstance(value, (tuple, View)):
        got = "no value" if value is None else "a value"
        raise KernelCompilationError(
            f"result of device function `{name}` must be {wanted.text}, as its signature says, got {got}",
            code="return-types",
        )
    return _converted(wanted, value)


def _array_or_item(value: Any) -> ParameterType | None:
    if isinstance(value, (SimItem, SimNdItem)):
        return parameter_type(f"{'nd_' * isinstance(value, SimNdItem)}item{value.dimensions}")
    array = value.array if isinstance(value, View) else value
    if not isinstance(array, np.ndarray):
        return None
    layout = "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"
    return array_parameter(array.dtype, array.ndim, layout, not array.flags.writeable)


def _converted(wanted: ParameterType, value: Any) -> Any:
    if wanted.kind != "scalar" or wanted.dtype is None or value.__class__ is Undefined:
        return value
    kind: type[np.generic] = wanted.dtype.type
    return conversion(kind)(value) if wanted.dtype.kind in "iuf" else kind(value)
