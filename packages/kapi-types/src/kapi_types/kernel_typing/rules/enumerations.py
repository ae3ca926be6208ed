"""The types of users' enumerations in a kernel: members by name, equality, and values of one type."""

from __future__ import annotations

import enum
import functools
import operator
from typing import Any

from kapi_sim import AddressSpace, MemoryOrder, MemoryScope
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import ConstantType, EnumerationType, EnumMemberType
from kapi_types.kernel_typing.rules.promotion import is_scalar, unify_scalars
from kapi_types.weak import weak_bool, weak_int

__all__ = ["member_type", "registry"]

registry = templates.Registry()


_OF_THE_LANGUAGE = (MemoryOrder, MemoryScope, AddressSpace)


def member_type(member: enum.Enum) -> types.Type:
    """The type of a member: kapi's own are constants, those of an `IntEnum` are Python ints."""
    if isinstance(member, _OF_THE_LANGUAGE):
        return ConstantType(member)
    return weak_int if isinstance(member, int) else EnumMemberType(type(member))


@registry.register_attr
class _Members(templates.AttributeTemplate):
    key = EnumerationType

    def generic_resolve(self, enumeration: EnumerationType, name: str) -> types.Type | None:
        member = enumeration.enumeration.__members__.get(name)
        return None if member is None else member_type(member)


@registry.register_attr
class _Member(templates.AttributeTemplate):
    key = EnumMemberType

    def resolve_value(self, member: EnumMemberType) -> types.Type | None:
        found = [self.context.resolve_value_type(each.value) for each in member.enumeration]
        if not all(map(is_scalar, found)):
            return None
        return functools.reduce(lambda a, b: a and unify_scalars(a, b), found)


class _Equality(templates.AbstractTemplate):
    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if len(args) == 2 and isinstance(args[0], EnumMemberType) and args[0] == args[1]:
            return templates.signature(weak_bool, *args)
        return None


for _function in (operator.eq, operator.ne):
    registry.register_global(_function)(type(f"_Equality_{_function.__name__}", (_Equality,), {"key": _function}))
