"""The types of explicit conversions in a kernel: `int(x)`, `float(x)`, `bool(x)`, `numpy.float32(x)`, `round(x)`."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.promotion import is_number, is_scalar
from kapi_types.weak import weak_bool, weak_float, weak_int

__all__ = ["PYTHON_CONVERSIONS", "registry"]

registry = templates.Registry()

PYTHON_CONVERSIONS = {int: weak_int, float: weak_float, bool: weak_bool}
"""Python's number types, each with the weak type that calling it gives."""


class _PythonConversion(templates.AbstractTemplate):
    result: types.Type

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if len(args) != 1 or not is_scalar(args[0]):
            return None
        return templates.signature(self.result, args[0])


@registry.register_attr
class _NumberClassAttributes(templates.AttributeTemplate):
    """Calling a NumPy scalar type, and `dtype.type`."""

    key = types.NumberClass

    def resolve___call__(self, class_type: types.NumberClass) -> types.Type:
        strong = class_type.instance_type

        def typer(value: types.Type) -> types.Type | None:
            return strong if is_scalar(value) else None

        return types.Function(templates.make_callable_template(key=class_type, typer=typer))


@registry.register_attr
class _DTypeAttributes(templates.AttributeTemplate):
    """`array.dtype.type` and `array.dtype.itemsize`."""

    key = types.DType

    def resolve_type(self, dtype: types.DType) -> types.Type:
        return types.NumberClass(dtype.dtype)

    def resolve_itemsize(self, dtype: types.DType) -> types.Type:
        return weak_int


@registry.register_global(round)
class _Round(templates.AbstractTemplate):
    """`round(x)` without a number of digits: to the even neighbour, as a weak int."""

    key = round

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if len(args) != 1 or not is_number(args[0]) or isinstance(args[0], types.Complex):
            return None
        return templates.signature(weak_int, args[0])


for _function, _result in PYTHON_CONVERSIONS.items():
    registry.register_global(_function)(
        type(f"_To_{_function.__name__}", (_PythonConversion,), {"key": _function, "result": _result})
    )
