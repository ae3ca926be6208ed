"""The Numba types of the kernel language's own values: Item, NdItem, Group, SubGroup, AtomicRef."""

from __future__ import annotations

from enum import Enum
from typing import Any

from kapi_sim import MemoryOrder, MemoryScope, Vec
from kapi_types._numba_compat import types
from kapi_types.arrays import ArrayType

__all__ = [
    "AtomicRefType",
    "ConstantType",
    "EnumMemberType",
    "EnumerationType",
    "GroupType",
    "ItemType",
    "KernelApiType",
    "NdItemType",
    "SubGroupType",
    "VecType",
    "tuple_of",
]


class _OfEnumeration(types.Type):
    """A type that depends on an enumeration's class: two of one name, as after a module is loaded again, are two."""

    enumeration: type[Enum]

    @property
    def key(self) -> type[Enum]:
        """The class."""
        return self.enumeration


class EnumMemberType(_OfEnumeration):
    """A member of a user's `enum.Enum`, of which a kernel asks whether it is another, and its value.

    Members of an `IntEnum` are weak ints instead.

    - `enumeration`: the `enum.Enum` class.
    """

    def __init__(self, enumeration: type[Enum]) -> None:
        self.enumeration = enumeration
        super().__init__(f"enum_member({enumeration.__module__}.{enumeration.__qualname__})")


class VecType(types.UniTuple):
    """`Vec`: a tuple of numbers of one type, whose operators work element by element.

    - `dtype`: type of the elements.
    - `count`: how many there are.
    """


def tuple_of(value: tuple[Any, ...], members: tuple[types.Type, ...]) -> types.BaseTuple:
    """The type of a tuple, named or not, or of a vector, whose members have these types."""
    if isinstance(value, Vec):
        return VecType(members[0], len(members))
    if hasattr(value, "_fields"):
        return types.BaseTuple.from_types(members, type(value))
    return types.Tuple(members)


class KernelApiType(types.Type):
    """A value that exists in a kernel only; `owner` names its rows of the intrinsic table.

    Parameters
    ----------
    ndim : int
        Dimensions of the index space, 1 to 3.
    """

    owner: str

    def __init__(self, ndim: int) -> None:
        if ndim not in (1, 2, 3):
            raise ValueError(f"ndim must be 1, 2 or 3, got {ndim}")
        self.ndim = ndim
        super().__init__(f"{self.owner}({ndim}d)")


class ItemType(KernelApiType):
    """`Item`: one work-item of a `Range` launch."""

    owner = "Item"


class NdItemType(KernelApiType):
    """`NdItem`: one work-item of an `NdRange` launch, which has a work-group."""

    owner = "NdItem"


class GroupType(KernelApiType):
    """`Group`: the work-group of an `NdItem`."""

    owner = "Group"


class SubGroupType(KernelApiType):
    """`SubGroup`: the sub-group of an `NdItem`."""

    owner = "SubGroup"


class AtomicRefType(types.Type):
    """`AtomicRef`: one element of an array, with the order and scope of each operation on it.

    Parameters
    ----------
    array : ArrayType
        The array that the element is of.
    order : MemoryOrder
        How each operation orders the memory operations around it.
    scope : MemoryScope
        Among whom.
    """

    owner = "AtomicRef"

    def __init__(self, array: ArrayType, order: MemoryOrder, scope: MemoryScope) -> None:
        self.array, self.order, self.scope = array, order, scope
        super().__init__(f"AtomicRef({array}, {order.name}, {scope.name})")

    @property
    def dtype(self) -> types.Type:
        """Type of the element."""
        return self.array.dtype


class ConstantType(types.Type):
    """One constant of the kernel language, such as `MemoryScope.WORK_GROUP`; the type alone says which.

    - `value`: the hashable constant.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(f"constant({value})")

    @property
    def key(self) -> Any:
        """The class and value of the constant."""
        return type(self.value), self.value


class EnumerationType(_OfEnumeration):
    """A class of constants, such as `MemoryScope`, of which a kernel takes members by name.

    - `enumeration`: the `enum.Enum` class.
    """

    def __init__(self, enumeration: type[Enum]) -> None:
        self.enumeration = enumeration
        super().__init__(f"enumeration({enumeration.__name__})")
