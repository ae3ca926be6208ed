"""The types of the language's own functions, and of the methods of its values: what the intrinsic table says of a call.

Numba's function templates swallow the reason for which they do not fit; these report it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import kapi_sim
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_types._numba_compat import from_dtype, templates, types
from kapi_types.kernel_api import ConstantType
from kapi_types.kernel_typing.calls.intrinsic_types import ACCEPTED, RETURNED, Call
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType
from kapi_types.weak import weak_int

__all__ = ["Demand", "LanguageFunctionType", "LanguageMethodType", "parameters_of", "registry"]

Demand = Callable[[Call], None]
"""Raises a `KernelTypeProblem` where a call asks for what the words of its parameters do not rule out."""


def parameters_of(row: Intrinsic) -> inspect.Signature:
    """The parameters of a function or method of the table, with their defaults."""
    owner = kapi_sim if row.owner is None else getattr(kapi_sim, row.owner)
    names = inspect.signature(getattr(owner, row.name))
    given = [each for each in names.parameters.values() if each.name != "self"]
    return inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in given])


def _call(
    row: Intrinsic,
    parameters: inspect.Signature,
    receiver: Any,
    demand: Demand | None,
    args: tuple[types.Type, ...],
    kws: dict[str, types.Type],
) -> Any:
    """The signature of a call, or the problem with it."""
    try:
        bound = parameters.bind(*args, **kws)
    except TypeError as error:
        raise KernelTypeProblem("call-arguments", f"{row.key}(): {error}") from None
    given = {
        name: bound.arguments[name] if name in bound.arguments else _type_of_default(parameter.default)
        for name, parameter in parameters.parameters.items()
    }
    call = Call(row, receiver, given)
    wanted = tuple(ACCEPTED[word](call, name, given[name]) for name, word, _default in row.parameters)
    if demand is not None:
        demand(call)
    result = RETURNED[row.returns](call)
    return templates.signature(result, *wanted, recvr=receiver).replace(pysig=parameters)


def _type_of_default(default: Any) -> types.Type:
    if isinstance(default, type):
        return types.NumberClass(from_dtype(np.dtype(default)))
    return weak_int if type(default) is int else ConstantType(default)


class LanguageFunctionType(GenericCallableType):
    """A function of the kernel language, or a class that is called like one.

    - `demand`: a requirement on calls in addition to the types of their parameters.
    """

    def __init__(self, row: Intrinsic, demand: Demand | None = None) -> None:
        self.row, self.demand, self.parameters = row, demand, parameters_of(row)
        super().__init__(f"{row.name}()")

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call."""
        return _call(self.row, self.parameters, None, self.demand, args, kws)

    def get_impl_key(self, sig: Any) -> str:
        """The row's key, which the lowering is registered under."""
        return self.row.key


class LanguageMethodType(types.BoundFunction):
    """A method of a value of the kernel language.

    - `this`: type of the value.
    - `demand`: a requirement on calls in addition to the types of their parameters.
    """

    def __init__(self, row: Intrinsic, this: types.Type, demand: Demand | None = None) -> None:
        self.row, self.demand, self.parameters = row, demand, parameters_of(row)
        super().__init__(type(row.key, (templates.AbstractTemplate,), {"key": row.key}), this)

    def copy(self, this: types.Type) -> LanguageMethodType:
        """The same method of a value of another type."""
        return type(self)(self.row, this, self.demand)

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call."""
        return _call(self.row, self.parameters, self.this, self.demand, args, kws)


registry = templates.Registry()
"""Functions whose rows say all: barriers, group algorithms, bits, and a work-item's own arrays."""

for _family in ("convergence", "group", "bits", "memory"):
    for _row in rows(family=_family):
        registry.register_global(getattr(kapi_sim, _row.name), LanguageFunctionType(_row))
