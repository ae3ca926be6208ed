"""Comprehensions, lambdas and Python's functions of numbers, which Python runs: integers in them are Numba's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.kinds import ANY
from kapi_numba_offload.analysis.operations import ELEMENTWISE, IN_PLACE, OPERATORS, operator_operands
from kapi_numba_offload.analysis.syntax import indices_of
from kapi_numba_offload.elements.numbers import NumberOperation, is_narrow
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.python_values import elements
from kapi_numba_offload.run.python_numbers import element

__all__ = ["ItemUpdate", "PythonCode", "number_function"]

_HelperCall = Callable[..., ast.Call]

_add, _power = NumberOperation("add"), NumberOperation("power")
_quotient, _remainder = NumberOperation("floor_divide"), NumberOperation("remainder")


def _total(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    for each in iterable:
        start = _add(start, each)
    return start


def _raised(base: Any, exponent: Any, modulus: Any = None) -> Any:
    return _power(base, exponent) if modulus is None else pow(base, exponent, modulus)


def _divided(dividend: Any, divisor: Any) -> tuple[Any, Any]:
    return _quotient(dividend, divisor), _remainder(dividend, divisor)


_FUNCTIONS: dict[Any, tuple[str, Callable[..., Any]]] = {
    sum: ("sum", _total), pow: ("pow", _raised), divmod: ("divmod", _divided),
    **{
        row.apply: (f"number_{name}", NumberOperation(name))
        for name, row in ELEMENTWISE.items() if row.apply is not None and name != "absolute"
    },
}  # fmt: skip


def number_function(function: Any) -> tuple[str, Callable[..., Any]] | None:
    """Name and object of what stands for one of Python's functions of numbers; None for other values.

    They are `sum`, `pow`, `divmod` and those of `operator`; `abs`, `min`, `max` and `round` compute nothing that wraps
    where Numba's does not.
    """
    try:
        return _FUNCTIONS.get(function)
    except TypeError:  # not hashable
        return None


class ItemUpdate:
    """The value of `owner[index] op= value`, from the one before: of a list, a dictionary or an object.

    - `name`: a key of `IN_PLACE`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._in_place, self._of_numbers = IN_PLACE[name], NumberOperation(name)

    def __call__(self, before: Any, value: Any) -> Any:
        """The value that is stored."""
        # Numba's lists of narrow integers keep their type; Python's numbers have 64 bits.
        is_number = isinstance(before, (int, float)) or (isinstance(before, np.generic) and not is_narrow(before.dtype))
        return (self._of_numbers if is_number else self._in_place)(before, value)


class PythonCode(ast.NodeTransformer):
    """Rewrites expressions of which Python has the variables, so that no kind of theirs is known.

    - `iterated`: identities of expressions that may be arrays which Python iterates over.
    - `helper_call`: makes a call of a helper, for its name, object, arguments and the node for which it stands.
    """

    def __init__(self, facts: FunctionInfo, iterated: set[int], helper_call: _HelperCall) -> None:
        self._facts, self._iterated, self._helper_call = facts, iterated, helper_call
        # The scope has no parameters of functions within.
        self._parameters = {each.arg for each in ast.walk(facts.definition) if isinstance(each, ast.arg)}

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node and those below it."""
        identity = id(node)
        made = self._rewritten(node)
        if identity in self._iterated:
            return self._helper_call("elements", elements, [made], made)
        return made

    def _rewritten(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Name, ast.Attribute)):
            found = self.function(node)
            return self.generic_visit(node) if found is None else found
        is_element = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        is_element = is_element and self._facts.kinds.is_element(node)  # type: ignore[arg-type]
        is_operator = isinstance(node, (ast.BinOp, ast.UnaryOp)) and self._facts.has_narrow_integers
        made = self.generic_visit(node)
        if is_element:
            return self._helper_call("element", element, [made], made)
        operation = operator_operands(made) if is_operator else None  # type: ignore[arg-type]
        if operation is None or all(isinstance(each, ast.Constant) for each in operation[1]):
            return made
        name, operands = operation
        return self._helper_call(f"number_{name}", NumberOperation(name), operands, made)

    def updates_item(self, statement: ast.AugAssign) -> bool:
        """Whether it may change an item of a list or dictionary, or an attribute, by an operator of numbers."""
        target = statement.target
        if not self._facts.has_narrow_integers or not isinstance(target, (ast.Subscript, ast.Attribute)):
            return False
        has_slices = isinstance(target, ast.Subscript) and not all(map(_is_index, indices_of(target)))
        return self._facts.kinds.kind(target.value) == ANY and type(statement.op) in OPERATORS and not has_slices

    def function(self, node: ast.expr) -> ast.expr | None:
        """The name of what stands for a function of numbers; None for other expressions."""
        is_parameter = isinstance(node, ast.Name) and node.id in self._parameters
        if is_parameter or not self._facts.has_narrow_integers:
            return None
        found = number_function(self._facts.names.value(node))
        if found is None:
            return None
        return self._helper_call(*found, [], node).func


def _is_index(node: ast.expr) -> bool:
    return not isinstance(node, ast.Slice) and not (isinstance(node, ast.Constant) and node.value in (None, Ellipsis))
