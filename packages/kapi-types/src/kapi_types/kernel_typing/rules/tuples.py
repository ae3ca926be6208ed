"""The types of tuples and named tuples in a kernel: members, slices, length, comparison, membership, concatenation."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import VecType
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.iteration import as_sequence
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType, RuleRegistry
from kapi_types.kernel_typing.rules.vectors import require_length
from kapi_types.weak import weak_bool, weak_int

__all__ = ["HOMOGENEOUS", "MAKE_NAMED_TUPLE", "NamedTupleClassType", "registry", "tuple_like"]

registry = RuleRegistry()

HOMOGENEOUS = (types.UniTuple, types.NamedUniTuple)
"""Tuples whose members are of one type, which may be indexed by what is known at run time only."""

MAKE_NAMED_TUPLE = "kapi.named_tuple"
"""The key under which back ends register the making of a named tuple."""


def tuple_like(like: types.BaseTuple, members: tuple[types.Type, ...]) -> types.BaseTuple:
    """The tuple type of `members`, named as `like` is, or a vector's as it is."""
    if isinstance(like, VecType):
        return VecType(members[0], len(members))
    if isinstance(like, types.BaseNamedTuple):
        return types.BaseTuple.from_types(members, like.instance_class)
    return types.Tuple(members)


class NamedTupleClassType(GenericCallableType):
    """A class of named tuples, which a kernel calls to make one."""

    def __init__(self, class_: type[tuple[Any, ...]]) -> None:
        self.class_ = class_
        super().__init__(f"named_tuple_class({class_.__module__}.{class_.__qualname__})")

    @property
    def key(self) -> type[tuple[Any, ...]]:
        """The class."""
        return self.class_

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of making one, each field given by position or name."""
        class_: Any = self.class_
        # Where a call of the class finds them: `_field_defaults` only says what they were when it was made.
        values = getattr(class_.__new__, "__defaults__", None) or ()
        defaults = dict(zip(class_._fields[len(class_._fields) - len(values) :], values, strict=True))
        names = inspect.Signature(
            [
                inspect.Parameter(
                    name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name, inspect.Parameter.empty)
                )
                for name in class_._fields
            ]
        )
        try:
            bound = names.bind(*args, **kws)
        except TypeError:
            given = ", ".join(map(spell_type, (*args, *kws.values())))
            fields = ", ".join(names.parameters)
            raise KernelTypeProblem(
                "call-arguments",
                f"{self.class_.__name__}() does not take these arguments in a kernel: ({given}); "
                f"it is {self.class_.__name__}({fields})",
            ) from None
        members = tuple(
            bound.arguments[name] if name in bound.arguments else context.resolve_value_type(defaults[name])
            for name in names.parameters
        )
        made = types.BaseTuple.from_types(members, self.class_)
        return templates.signature(made, *members).replace(pysig=names)

    def get_impl_key(self, sig: Any) -> str:
        """The same for all classes."""
        return MAKE_NAMED_TUPLE

    def __repr__(self) -> str:
        return self.class_.__name__


@registry.rule(operator.getitem)
def _computed_index(context: Any, container: types.Type, index: types.Type) -> Any:
    if not isinstance(container, types.BaseTuple) or not isinstance(index, types.Integer):
        return None
    if isinstance(container, HOMOGENEOUS):
        return templates.signature(container.dtype, container, index)
    # Whichever member it is, it goes to a variable, which has one type.
    as_one = as_sequence(context, container)
    return templates.signature(as_one.dtype, as_one, index) if as_one is not None else None


@registry.rule("static_getitem")
def _constant_index(context: Any, container: types.Type, index: Any) -> Any:
    """`tuple[constant]` and `tuple[1:]`, with the constant as a Python value."""
    if not isinstance(container, types.BaseTuple):
        return None
    if isinstance(index, slice) and isinstance(container, VecType):
        members = container.types[index]
        require_length(len(members))
        return templates.signature(tuple_like(container, members), container, index)
    if isinstance(index, slice):
        return templates.signature(types.Tuple(container.types[index]), container, index)
    if not isinstance(index, int) or not -len(container) <= index < len(container):
        return None
    return templates.signature(container.types[index], container, index)


@registry.register_attr
class _Fields(templates.AttributeTemplate):
    key = types.BaseNamedTuple

    def generic_resolve(self, tuple_: types.BaseNamedTuple, name: str) -> types.Type | None:
        return tuple_.types[tuple_.fields.index(name)] if name in tuple_.fields else None


@registry.rule(len)
def _length(context: Any, container: types.Type) -> Any:
    return templates.signature(weak_int, container) if isinstance(container, types.BaseTuple) else None


@registry.rule(tuple)
def _same(context: Any, members: types.Type = None) -> Any:
    """`tuple(members)`, which is also how Python spells `f(first, *rest)`."""
    if members is None:
        return templates.signature(types.Tuple(()))
    return templates.signature(types.Tuple(members.types), members) if isinstance(members, types.BaseTuple) else None


@registry.rule(operator.add, operator.iadd)
def _concatenation(context: Any, left: types.Type, right: types.Type) -> Any:
    if not _are_tuples(left, right):
        return None
    return templates.signature(types.Tuple((*left.types, *right.types)), left, right)


@registry.rule(operator.contains)
def _membership(context: Any, container: types.Type, value: types.Type) -> Any:
    """`x in (1, 2, 3)`: a chain of comparisons."""
    if not isinstance(container, types.BaseTuple):
        return None
    if not all(_are_comparable(context, operator.eq, member, value) for member in container.types):
        return None
    return templates.signature(weak_bool, container, value)


@registry.shared_rule(*COMPARISONS)
def _comparison(function: Any, context: Any, left: types.Type, right: types.Type) -> Any:
    """Member by member, as Python compares tuples."""
    if not _are_tuples(left, right):
        return None
    is_equality = function in (operator.eq, operator.ne)
    if is_equality and len(left) != len(right):
        return templates.signature(weak_bool, left, right)
    functions = (operator.eq,) if is_equality else (operator.eq, function)
    for pair in zip(left.types, right.types, strict=False):
        if not all(_are_comparable(context, each, *pair) for each in functions):
            return None
    return templates.signature(weak_bool, left, right)


def _are_tuples(left: types.Type, right: types.Type) -> bool:
    """Whether both are tuples whose operators are those of tuples, not of their elements."""
    return all(isinstance(each, types.BaseTuple) and not isinstance(each, VecType) for each in (left, right))


def _are_comparable(context: Any, function: Any, left: types.Type, right: types.Type) -> bool:
    return context.resolve_function_type(function, (left, right), {}) is not None


@registry.rule(sum)
def _sum(context: Any, container: types.Type, *start: types.Type) -> Any:
    """The sum of a tuple's members, one after the other, as `+` adds them to 0 or to what is given."""
    if len(start) > 1 or not isinstance(container, types.BaseTuple):
        return None
    total = start[0] if start else weak_int
    for member in container.types:
        total = context.resolve_function_type(operator.add, (total, member), {}).return_type
    return templates.signature(total, container, *start)


@registry.rule(any, all)
def _truth(context: Any, container: types.Type) -> Any:
    if not isinstance(container, types.BaseTuple) or not all(map(is_scalar, container.types)):
        return None
    return templates.signature(weak_bool, container)


@registry.shared_rule(min, max)
def _extreme_member(function: Any, context: Any, container: types.Type) -> Any:
    if not isinstance(container, types.BaseTuple) or len(container) == 0:
        return None
    members = tuple(container.types)
    found = members[0] if len(members) == 1 else context.resolve_function_type(function, members, {}).return_type
    return templates.signature(found, container)
