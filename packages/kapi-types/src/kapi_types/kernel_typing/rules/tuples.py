"""The types of tuples and named tuples in a kernel: members, slices, length, comparison, membership, concatenation."""

from __future__ import annotations

import inspect
import operator
from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.iteration import as_sequence
from kapi_types.kernel_typing.rules.operators import COMPARISONS
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.weak import weak_bool, weak_int

__all__ = ["HOMOGENEOUS", "MAKE_NAMED_TUPLE", "NamedTupleClassType", "registry", "tuple_like"]

registry = templates.Registry()

HOMOGENEOUS = (types.UniTuple, types.NamedUniTuple)
"""Tuples whose members are of one type, which may be indexed by what is known at run time only."""

MAKE_NAMED_TUPLE = "kapi.named_tuple"
"""What back ends register the making of a named tuple under."""


def tuple_like(like: types.BaseTuple, members: tuple[types.Type, ...]) -> types.BaseTuple:
    """The tuple type of `members`, named as `like` is."""
    if isinstance(like, types.BaseNamedTuple):
        return types.BaseTuple.from_types(members, like.instance_class)
    return types.Tuple(members)


class NamedTupleClassType(types.Callable, types.Opaque):
    """A class of named tuples, which a kernel calls to make one.

    Parameters
    ----------
    class_ : type
        What `collections.namedtuple` or `typing.NamedTuple` made.
    """

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
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=defaults.get(name, inspect.Parameter.empty),
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

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """No fixed signatures: fields may be of any type."""
        return (), True

    def get_impl_key(self, sig: Any) -> str:
        """The same for all classes."""
        return MAKE_NAMED_TUPLE

    def __repr__(self) -> str:
        return self.class_.__name__


@registry.register_global(operator.getitem)
class _ComputedIndex(templates.AbstractTemplate):
    key = operator.getitem

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        container, index = args
        if not isinstance(container, types.BaseTuple) or not isinstance(index, types.Integer):
            return None
        if isinstance(container, HOMOGENEOUS):
            return templates.signature(container.dtype, container, index)
        # Whichever member it is, it goes to a variable, which has one type.
        as_one = as_sequence(self.context, container)
        return templates.signature(as_one.dtype, as_one, index) if as_one is not None else None


@registry.register
class _ConstantIndex(templates.AbstractTemplate):
    """`tuple[constant]` and `tuple[1:]`, with the constant as a Python value."""

    key = "static_getitem"

    def generic(self, args: tuple[Any, ...], kws: dict[str, types.Type]) -> Any:
        container, index = args
        if not isinstance(container, types.BaseTuple):
            return None
        if isinstance(index, slice):
            return templates.signature(types.Tuple(container.types[index]), *args)
        if not isinstance(index, int) or not -len(container) <= index < len(container):
            return None
        return templates.signature(container.types[index], *args)


@registry.register_attr
class _Fields(templates.AttributeTemplate):
    key = types.BaseNamedTuple

    def generic_resolve(self, tuple_: types.BaseNamedTuple, name: str) -> types.Type | None:
        return tuple_.types[tuple_.fields.index(name)] if name in tuple_.fields else None


@registry.register_global(len)
class _Length(templates.AbstractTemplate):
    key = len

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        is_one = len(args) == 1 and isinstance(args[0], types.BaseTuple)
        return templates.signature(weak_int, *args) if is_one else None


@registry.register_global(tuple)
class _Same(templates.AbstractTemplate):
    """`tuple(members)`, which is also how Python spells `f(first, *rest)`."""

    key = tuple

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) > 1 or not all(isinstance(arg, types.BaseTuple) for arg in args):
            return None
        return templates.signature(types.Tuple(args[0].types if args else ()), *args)


class _Concatenation(templates.AbstractTemplate):
    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if not all(isinstance(arg, types.BaseTuple) for arg in args):
            return None
        return templates.signature(types.Tuple((*args[0].types, *args[1].types)), *args)


for _function in (operator.add, operator.iadd):
    registry.register_global(_function)(
        type(f"_Concatenation_{_function.__name__}", (_Concatenation,), {"key": _function})
    )


@registry.register_global(operator.contains)
class _Membership(templates.AbstractTemplate):
    """`x in (1, 2, 3)`: a chain of comparisons."""

    key = operator.contains

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        container, value = args
        if not isinstance(container, types.BaseTuple):
            return None
        if not all(_are_comparable(self.context, operator.eq, member, value) for member in container.types):
            return None
        return templates.signature(weak_bool, container, value)


class _Comparison(templates.AbstractTemplate):
    """Member by member, as Python compares tuples."""

    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        left, right = args
        if not (isinstance(left, types.BaseTuple) and isinstance(right, types.BaseTuple)):
            return None
        is_equality = self.function in (operator.eq, operator.ne)
        if is_equality and len(left) != len(right):
            return templates.signature(weak_bool, left, right)
        functions = (operator.eq,) if is_equality else (operator.eq, self.function)
        for pair in zip(left.types, right.types, strict=False):
            if not all(_are_comparable(self.context, function, *pair) for function in functions):
                return None
        return templates.signature(weak_bool, left, right)


def _are_comparable(context: Any, function: Any, left: types.Type, right: types.Type) -> bool:
    return context.resolve_function_type(function, (left, right), {}) is not None


for _function in COMPARISONS:
    _members = {"key": _function, "function": staticmethod(_function)}
    registry.register_global(_function)(type(f"_Comparison_{_function.__name__}", (_Comparison,), _members))


@registry.register_global(sum)
class _Sum(templates.AbstractTemplate):
    """Of a tuple's members, one after the other, as `+` adds them to 0 or to what is given."""

    key = sum

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) not in (1, 2) or not isinstance(args[0], types.BaseTuple):
            return None
        total = args[1] if len(args) == 2 else weak_int
        for member in args[0].types:
            total = self.context.resolve_function_type(operator.add, (total, member), {}).return_type
        return templates.signature(total, *args)


class _Truth(templates.AbstractTemplate):
    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != 1 or not isinstance(args[0], types.BaseTuple) or not all(map(is_scalar, args[0].types)):
            return None
        return templates.signature(weak_bool, *args)


class _ExtremeMember(templates.AbstractTemplate):
    function: Any

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != 1 or not isinstance(args[0], types.BaseTuple) or len(args[0]) == 0:
            return None
        members = args[0].types
        if len(members) == 1:
            return templates.signature(members[0], *args)
        return templates.signature(
            self.context.resolve_function_type(self.function, tuple(members), {}).return_type, *args
        )


for _truth in (any, all):
    registry.register_global(_truth)(type(f"_Truth_{_truth.__name__}", (_Truth,), {"key": _truth}))
for _extreme in (min, max):
    _members = {"key": _extreme, "function": staticmethod(_extreme)}
    registry.register_global(_extreme)(type(f"_Extreme_{_extreme.__name__}", (_ExtremeMember,), _members))
