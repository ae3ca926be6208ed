"""The Numba types of the kernel language's own values: Item, NdItem, Group."""

from __future__ import annotations

from enum import Enum
from typing import Any

from kapi_types._numba_compat import types

__all__ = ["ConstantType", "EnumerationType", "GroupType", "ItemType", "KernelApiType", "NdItemType"]


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


class ConstantType(types.Type):
    """One constant of the kernel language, such as `MemoryScope.WORK_GROUP`; the type alone says which.

    Parameters
    ----------
    value : object
        The hashable constant.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__(f"constant({value})")

    @property
    def key(self) -> Any:
        """The class and value of the constant."""
        return type(self.value), self.value


class EnumerationType(types.Type):
    """A class of constants, such as `MemoryScope`, of which a kernel takes members by name.

    Parameters
    ----------
    enumeration : type
        The `enum.Enum` class.
    """

    def __init__(self, enumeration: type[Enum]) -> None:
        self.enumeration = enumeration
        super().__init__(f"enumeration({enumeration.__name__})")
