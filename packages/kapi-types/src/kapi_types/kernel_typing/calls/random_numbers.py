"""The types of random numbers, which a function in the kernel language computes."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import kapi_sim
from kapi_sim.language.intrinsics.random_numbers import IMPLEMENTATIONS
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType
from kapi_types.kernel_typing.library.random_functions import philox

__all__ = ["RandomFunctionType", "computed_by", "registry"]

registry = templates.Registry()


def computed_by(row: Intrinsic, signature: Any) -> tuple[FunctionType, tuple[types.Type, ...]]:
    """The function that computes a call of a row, and the types of the arguments that it takes."""
    if row.name == "philox":
        return philox, signature.args  # type: ignore[return-value]  # a function, whatever else is callable
    dtype = str(signature.return_type) if row.returns == "float type" else ""
    numbers = tuple(arg for arg in signature.args if isinstance(arg, types.Integer))
    return IMPLEMENTATIONS[row.name, dtype], numbers


class RandomFunctionType(LanguageFunctionType):
    """A function of `kapi.random`."""

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, whose function is compiled."""
        signature = super().get_call_type(context, args, kws)
        context.type_device_function(*computed_by(self.row, signature))
        return signature


for _row in rows(family="random"):
    registry.register_global(getattr(kapi_sim.random, _row.name), RandomFunctionType(_row))
