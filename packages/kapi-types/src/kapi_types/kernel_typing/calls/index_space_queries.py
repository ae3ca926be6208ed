"""The types of index-space queries: methods of items and groups, read from the intrinsic table."""

from __future__ import annotations

import inspect
from typing import Any

from kapi_sim.language.table.intrinsics import INTRINSICS, Intrinsic
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import ConstantType, GroupType, ItemType, KernelApiType, NdItemType, SubGroupType
from kapi_types.weak import weak_bool, weak_int

__all__ = ["registry"]

registry = templates.Registry()

_OWNERS: dict[str, type[KernelApiType]] = {
    "Item": ItemType,
    "NdItem": NdItemType,
    "Group": GroupType,
    "SubGroup": SubGroupType,
}
_METHODS = {(row.owner, row.name): row for row in INTRINSICS if row.owner in _OWNERS}


def _returned(word: str, receiver: KernelApiType | None) -> types.Type:
    """The Numba type for a type word of the table's `returns` column."""
    if word in _OWNERS and receiver is not None:
        return _OWNERS[word](receiver.ndim)
    return {"weak int": weak_int, "bool": weak_bool, "weak bool": weak_bool, "none": types.none}[word]


def _bind(
    names: inspect.Signature, args: tuple[types.Type, ...], kws: dict[str, types.Type]
) -> tuple[types.Type, ...] | None:
    """Types in the order of the parameters; None if the arguments do not fit them."""
    try:
        bound = names.bind(*args, **kws)
    except TypeError:
        return None
    return tuple(
        bound.arguments[name] if name in bound.arguments else ConstantType(parameter.default)
        for name, parameter in names.parameters.items()
    )


class _Method(templates.AbstractTemplate):
    """Types one method of the index space: dimensions are integers."""

    row: Intrinsic
    this: KernelApiType

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        names = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name, *_ in self.row.parameters]
        )
        bound = _bind(names, args, kws)
        if bound is None or not all(isinstance(arg, types.Integer) for arg in bound):
            return None
        result = _returned(self.row.returns, self.this)
        return templates.signature(result, *[weak_int] * len(bound), recvr=self.this).replace(pysig=names)


class _KernelApiAttributes(templates.AttributeTemplate):
    def generic_resolve(self, receiver: KernelApiType, name: str) -> types.Type | None:
        row = _METHODS.get((receiver.owner, name))
        if row is None:
            return None
        if row.kind == "property":
            return _returned(row.returns, receiver)
        return types.BoundFunction(_method_template(row), receiver)


def _method_template(row: Intrinsic) -> Any:
    return type(f"_{row.owner}_{row.name}", (_Method,), {"key": row.key, "row": row})


def _register() -> None:
    for owner in _OWNERS.values():
        registry.register_attr(type(f"_{owner.owner}Attributes", (_KernelApiAttributes,), {"key": owner}))


_register()
