"""The types of enumerations in a kernel: members by name, equality, and values of one type."""

from __future__ import annotations

import enum
import functools
import operator
from typing import Any

from kapi_sim import AddressSpace, MemoryOrder, MemoryScope
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import ConstantType, EnumerationType, EnumMemberType
from kapi_types.kernel_typing.rules.promotion import is_scalar, unify_scalars
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.weak import weak_bool, weak_int

__all__ = ["member_type", "registry"]

registry = RuleRegistry()


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


@registry.rule(operator.eq, operator.ne)
def _equality(context: Any, left: types.Type, right: types.Type) -> Any:
    is_one = isinstance(left, EnumMemberType) and left == right
    return templates.signature(weak_bool, left, right) if is_one or _are_of_the_language(left, right) else None


def _are_of_the_language(left: types.Type, right: types.Type) -> bool:
    """Whether these are members of one enumeration of kapi's own."""
    if not (isinstance(left, ConstantType) and isinstance(right, ConstantType)):
        return False
    return isinstance(left.value, _OF_THE_LANGUAGE) and type(left.value) is type(right.value)
