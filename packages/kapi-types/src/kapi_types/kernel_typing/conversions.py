"""The types of explicit conversions: `int(x)`, `float(x)`, `bool(x)`, `complex(x)`, `numpy.float32(x)`, `round(x)`."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.library.parts import make_complex
from kapi_types.kernel_typing.promotion import as_strong, is_number, is_real, is_scalar, unify_scalars
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int

__all__ = ["PYTHON_CONVERSIONS", "complex_of", "part_of", "registry"]

registry = templates.Registry()


def complex_of(real: types.Type) -> types.Type:
    """The complex type whose parts are of a float type; float16, which has none, gives complex64."""
    if is_weak(real):
        return weak_complex
    return types.complex128 if as_strong(real) == types.float64 else types.complex64


def part_of(number: types.Type) -> types.Type:
    """The type of a number's real and imaginary parts; a Python bool's are ints."""
    if isinstance(number, types.Complex):
        return number.underlying_float
    return weak_int if number == weak_bool else number


PYTHON_CONVERSIONS = {int: weak_int, float: weak_float, bool: weak_bool}
"""Python's number types, each with the weak type that calling it gives."""


class _PythonConversion(templates.AbstractTemplate):
    result: types.Type

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != 1 or not (is_real if self.result in (weak_int, weak_float) else is_scalar)(args[0]):
            return None
        return templates.signature(self.result, args[0])


@registry.register_global(complex)
class _Complex(templates.AbstractTemplate):
    """`complex(x)` and `complex(real, imag)`, a Python complex whatever they are given."""

    key = complex

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or not ((len(args) == 1 and is_scalar(args[0])) or (len(args) == 2 and all(map(is_real, args)))):
            return None
        return templates.signature(weak_complex, *(args if len(args) == 1 else (weak_float, weak_float)))


@registry.register_global(make_complex)
class _MakeComplex(templates.AbstractTemplate):
    key = make_complex

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        part = unify_scalars(*args)
        return templates.signature(complex_of(part), part, part)


class _Parts(templates.AttributeTemplate):
    """`real`, `imag` and `conjugate()` of any number."""

    def resolve_real(self, number: types.Type) -> types.Type:
        return part_of(number)

    resolve_imag = resolve_real

    def resolve_conjugate(self, number: types.Type) -> types.Type:
        return types.BoundFunction(_Conjugate, number)


class _Conjugate(templates.AbstractTemplate):
    key = "number.conjugate"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        number = weak_int if self.this == weak_bool else self.this
        return None if args or kws else templates.signature(number, recvr=self.this)


@registry.register_attr
class _NumberClassAttributes(templates.AttributeTemplate):
    """Calling a NumPy scalar type, and `dtype.type`."""

    key = types.NumberClass

    def resolve___call__(self, class_type: types.NumberClass) -> types.Type:
        strong = class_type.instance_type

        def typer(value: types.Type) -> types.Type | None:
            return strong if (is_scalar if isinstance(strong, types.Complex) else is_real)(value) else None

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


for _class in (types.Number, types.Boolean):
    registry.register_attr(type(f"_{_class.__name__}Parts", (_Parts,), {"key": _class}))
for _function, _result in PYTHON_CONVERSIONS.items():
    registry.register_global(_function)(
        type(f"_To_{_function.__name__}", (_PythonConversion,), {"key": _function, "result": _result})
    )
