"""The types of small vectors: operators and functions on them are those of their elements."""

from __future__ import annotations

from typing import Any

from kapi_sim.errors import Finding
from kapi_sim.language.table.row import VECTOR_LENGTHS
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import VecType
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, INPLACE, UNARY, negative_power
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry

__all__ = [
    "ELEMENTWISE",
    "element_of",
    "elementwise",
    "holds_vector",
    "lengths_differ",
    "registry",
    "require_length",
    "swizzled",
]

registry = RuleRegistry()

ELEMENTWISE = frozenset({*BINARY, *UNARY, *COMPARISONS, *INPLACE, abs, negative_power})
"""The operators and Python's functions that work element by element; all of the table's functions do."""


def holds_vector(args: tuple[Any, ...]) -> bool:
    """Whether a vector is among the types of arguments."""
    return any(isinstance(each, VecType) for each in args)


def element_of(type_: types.Type) -> types.Type:
    """The type of a vector's elements; other types stay as they are."""
    return type_.dtype if isinstance(type_, VecType) else type_


def lengths_differ(args: tuple[Any, ...]) -> Finding | None:
    """The problem with vectors of different lengths as arguments; None if they have one."""
    lengths = [len(each) for each in args if isinstance(each, VecType)]
    if len(set(lengths)) <= 1:
        return None
    got = " and ".join(map(str, lengths))
    return Finding("vector-lengths", f"vectors of one operation must have as many elements as each other, got {got}")


def elementwise(context: Any, function: Any, args: tuple[types.Type, ...]) -> Any:
    """The signature of an operation on numbers with a vector among its arguments; None if there is none."""
    elements = tuple(map(element_of, args))
    if not holds_vector(args) or not all(map(is_scalar, elements)) or lengths_differ(args):
        return None
    length = next(len(each) for each in args if isinstance(each, VecType))
    of_elements = context.resolve_function_type(function, elements, {})
    if not is_scalar(of_elements.return_type):
        return None  # of several results there is no vector
    taken = (
        VecType(element, length) if isinstance(given, VecType) else element
        for given, element in zip(args, of_elements.args, strict=True)
    )
    return templates.signature(VecType(of_elements.return_type, length), *taken)


@registry.shared_rule(*ELEMENTWISE - {negative_power})
def _operation(function: Any, context: Any, *args: types.Type) -> Any:
    return elementwise(context, function, args)


@registry.rule(negative_power)
def _negative_power(context: Any, base: types.Type, exponent: types.Type) -> Any:
    # Of integers Python alone examines the exponent, which a vector's own operator has no other form of.
    is_integer = isinstance(element_of(base), types.Integer)
    return None if is_integer else elementwise(context, negative_power, (base, exponent))


def require_length(given: Any) -> None:
    """Raise a `KernelTypeProblem` unless vectors may have so many elements."""
    if given not in VECTOR_LENGTHS:
        raise KernelTypeProblem("vector-length", f"a Vec must have 2, 3, 4, 8 or 16 elements, got {given}")


def swizzled(vector: VecType, name: str) -> list[int] | None:
    """The indices of the elements that an attribute names, such as `zyx`; None if it is no such name."""
    positions = ["xyzw".find(letter) for letter in name]
    return (
        positions if 1 <= len(positions) <= 4 and all(0 <= position < len(vector) for position in positions) else None
    )
