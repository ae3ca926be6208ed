"""The types of making, taking apart, loading and storing small vectors, and of their geometry."""

from __future__ import annotations

import functools
from typing import Any

import kapi_sim
from kapi_sim.language.table.intrinsics import rows
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_api import VecType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.calls.intrinsic_calls import LanguageFunctionType, LanguageMethodType
from kapi_types.kernel_typing.calls.intrinsic_types import ACCEPTED, Call
from kapi_types.kernel_typing.library import vector_functions
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem
from kapi_types.kernel_typing.rules.vectors import element_of, lengths_differ, require_length, swizzled

__all__ = ["GeometryType", "VecClassType", "registry"]

registry = templates.Registry()

_ROWS = {row.key: row for row in rows(family="vector")}


class VecClassType(LanguageFunctionType):
    """The class `Vec`, which a kernel calls to make a vector, and whose `load` it calls."""

    def __init__(self) -> None:
        super().__init__(_ROWS["Vec"])

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call: elements become the one type that holds them all."""
        if kws:
            raise KernelTypeProblem("call-arguments", f"Vec() takes no argument by name, got {', '.join(kws)}")
        for each in args:
            ACCEPTED["elements"](Call(self.row, None, {}), "elements", each)
        length = sum(len(each) if isinstance(each, VecType) else 1 for each in args)
        require_length(length)
        element = functools.reduce(context.unify_numbers, map(element_of, args))
        taken = (VecType(element, len(each)) if isinstance(each, VecType) else element for each in args)
        return templates.signature(VecType(element, length), *taken)


class GeometryType(LanguageFunctionType):
    """A function of entire vectors, such as `dot`, which one in the kernel language computes."""

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, whose function is compiled."""
        given = super().get_call_type(context, args, kws).args
        if differ := lengths_differ(given):
            raise KernelTypeProblem(*differ)
        return self._function.get_call_type(context, given, {})

    def get_impl_key(self, sig: Any) -> Any:
        """The key of the compiled function in the registry."""
        return self._function.get_impl_key(sig)

    @functools.cached_property
    def _function(self) -> DeviceFunctionType:
        return DeviceFunctionType(getattr(vector_functions, self.row.name))


registry.register_global(kapi_sim.Vec, VecClassType())
registry.register_global(kapi_sim.Vec.load, LanguageFunctionType(_ROWS["Vec.load"]))
for _name in vector_functions.__all__:
    registry.register_global(getattr(kapi_sim, _name), GeometryType(_ROWS[_name]))


@registry.register_attr
class _ClassAttributes(templates.AttributeTemplate):
    key = VecClassType

    def resolve_load(self, class_: VecClassType) -> types.Type:
        return LanguageFunctionType(_ROWS["Vec.load"])


@registry.register_attr
class _VectorAttributes(templates.AttributeTemplate):
    """Elements by their letters, and the methods of vectors."""

    key = VecType

    def resolve_store(self, vector: VecType) -> types.Type:
        return LanguageMethodType(_ROWS["Vec.store"], vector)

    def resolve_astype(self, vector: VecType) -> types.Type:
        return types.BoundFunction(_AsType, vector)

    def generic_resolve(self, vector: VecType, name: str) -> types.Type | None:
        positions = swizzled(vector, name)
        if positions is None:
            return None
        return vector.dtype if len(positions) == 1 else VecType(vector.dtype, len(positions))


class _AsType(templates.AbstractTemplate):
    """Each element converted."""

    key = "Vec.astype"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != 1 or not isinstance(args[0], (types.DType, types.NumberClass)):
            return None
        is_real = isinstance(args[0].dtype, types.Complex) or not isinstance(self.this.dtype, types.Complex)
        return templates.signature(VecType(args[0].dtype, len(self.this)), *args, recvr=self.this) if is_real else None
