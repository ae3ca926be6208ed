"""The types of the kernel language's own functions, methods and `math`, read from the intrinsic table."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import kapi_sim
from kapi_sim.spec.intrinsics import INTRINSICS, Intrinsic
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import (
    ConstantType,
    EnumerationType,
    GroupType,
    ItemType,
    KernelApiType,
    NdItemType,
    SubGroupType,
)
from kapi_types.kernel_typing.promotion import is_scalar, resolve_loop
from kapi_types.weak import is_weak, weak_bool, weak_float, weak_int

__all__ = ["intrinsic_function", "registry"]

registry = templates.Registry()

_OWNERS: dict[str, type[KernelApiType]] = {
    "Item": ItemType,
    "NdItem": NdItemType,
    "Group": GroupType,
    "SubGroup": SubGroupType,
}
_METHODS = {(row.owner, row.name): row for row in INTRINSICS if row.owner in _OWNERS}


def intrinsic_function(row: Intrinsic) -> Any:
    """The Python function or, in `math`, builtin that a row of kind "function" is about."""
    return getattr(math if row.owner == "math" else kapi_sim, row.name)


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


@registry.register_attr
class _EnumerationAttributes(templates.AttributeTemplate):
    key = EnumerationType

    def generic_resolve(self, enumeration: EnumerationType, name: str) -> types.Type | None:
        member = enumeration.enumeration.__members__.get(name)
        return None if member is None else ConstantType(member)


class _Mathematics(templates.AbstractTemplate):
    """A `math` function: the strong float type of its operands, float64 for strong integers, else weak."""

    row: Intrinsic

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != len(self.row.parameters) or not all(_is_real(arg) for arg in args):
            return None
        common = _common_float(args)
        if self.row.returns in ("weak int", "weak bool", "bool"):
            return templates.signature(_returned(self.row.returns, None), *[common] * len(args))
        return templates.signature(common, *[common] * len(args))


def _is_real(type_: types.Type) -> bool:
    return is_scalar(type_) and not isinstance(type_, types.Complex)


def _common_float(args: tuple[types.Type, ...]) -> types.Type:
    if all(is_weak(arg) for arg in args):
        return weak_float
    strong_float = [arg for arg in args if isinstance(arg, types.Float) and not is_weak(arg)]
    if len(args) == 1:
        return strong_float[0] if strong_float else types.float64
    # NumPy's own binary float functions decide between float widths; integers alone give float64.
    loop = resolve_loop(np.arctan2, args) if strong_float else None
    return loop.result if loop else types.float64


def _register() -> None:
    for owner in _OWNERS.values():
        registry.register_attr(type(f"_{owner.owner}Attributes", (_KernelApiAttributes,), {"key": owner}))
    for row in INTRINSICS:
        if row.owner == "math":
            function: Callable[..., Any] = intrinsic_function(row)
            registry.register_global(function)(
                type(f"_math_{row.name}", (_Mathematics,), {"key": function, "row": row})
            )


_register()
