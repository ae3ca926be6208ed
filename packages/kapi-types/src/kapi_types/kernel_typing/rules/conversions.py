"""The types of explicit conversions, such as `int(x)`, `numpy.float32(x)` and `round(x)`, and of numbers' methods."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from kapi_sim.language.promotion import complex_operand
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.library.number_functions import (
    bit_count,
    bit_length,
    round_float,
    round_integer,
    round_weak_float,
)
from kapi_types.kernel_typing.library.parts import make_complex
from kapi_types.kernel_typing.rules.promotion import (
    as_operand,
    from_operand,
    is_number,
    is_real,
    is_scalar,
    unify_scalars,
)
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType, RuleRegistry
from kapi_types.weak import is_weak, weak_bool, weak_complex, weak_float, weak_int

__all__ = ["PYTHON_CONVERSIONS", "RoundType", "complex_of", "part_of", "registry"]

registry = RuleRegistry()


def complex_of(real: types.Type) -> types.Type:
    """The complex type whose parts are of a float type; float16, which has none, gives complex64."""
    return from_operand(complex_operand(as_operand(real)))


def part_of(number: types.Type) -> types.Type:
    """The type of a number's real and imaginary parts; a Python bool's are ints."""
    if isinstance(number, types.Complex):
        return number.underlying_float
    return weak_int if number == weak_bool else number


PYTHON_CONVERSIONS = {int: weak_int, float: weak_float, bool: weak_bool}
"""Python's number types, each with the weak type that calling it gives."""


@registry.shared_rule(*PYTHON_CONVERSIONS)
def _python_conversion(class_: Any, context: Any, *args: types.Type) -> Any:
    if len(args) > 1 or not all(map(is_scalar if class_ is bool else is_real, args)):
        return None
    return templates.signature(PYTHON_CONVERSIONS[class_], *args)


@registry.rule(complex)
def _complex(context: Any, *args: types.Type) -> Any:
    """`complex(x)` and `complex(real, imag)`, a Python complex whatever they are given."""
    if not ((len(args) <= 1 and all(map(is_scalar, args))) or (len(args) == 2 and all(map(is_real, args)))):
        return None
    return templates.signature(weak_complex, *(args if len(args) <= 1 else (weak_float, weak_float)))


@registry.rule(make_complex)
def _make_complex(context: Any, real: types.Type, imag: types.Type) -> Any:
    part = unify_scalars(real, imag)
    return templates.signature(complex_of(part), part, part)


class _BitMethodType(types.BoundFunction):
    """`bit_count()` or `bit_length()` of an integer, a function of the library."""

    def __init__(self, function: Callable[[Any], Any], this: types.Type) -> None:
        self._function = function
        super().__init__(type(function.__name__, (templates.AbstractTemplate,), {"key": function.__name__}), this)

    def copy(self, this: types.Type) -> _BitMethodType:
        """The same method of an integer of another type."""
        return type(self)(self._function, this)

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, which takes nothing."""
        if args or kws:
            return None
        return templates.signature(context.type_device_function(self._function, (self.this,)), recvr=self.this)

    def get_impl_key(self, sig: Any) -> Any:
        """The key of the compiled function in the registry."""
        return self._function, sig.args


class _IntegerMethods(templates.AttributeTemplate):
    """Methods of Python's and NumPy's integers that count bits."""

    key = types.Integer

    def resolve_bit_count(self, number: types.Integer) -> types.Type:
        return _BitMethodType(bit_count, number)

    def resolve_bit_length(self, number: types.Integer) -> types.Type | None:
        return _BitMethodType(bit_length, number) if is_weak(number) else None


class _Parts(templates.AttributeTemplate):
    """`real`, `imag` and `conjugate()` of any number; `dtype`, `astype(type)` and `item()` of NumPy's."""

    def resolve_real(self, number: types.Type) -> types.Type:
        return part_of(number)

    resolve_imag = resolve_real

    def resolve_conjugate(self, number: types.Type) -> types.Type:
        return types.BoundFunction(_Conjugate, number)

    def resolve_dtype(self, number: types.Type) -> types.Type | None:
        return None if is_weak(number) else types.DType(number)

    def resolve_astype(self, number: types.Type) -> types.Type | None:
        return None if is_weak(number) else types.BoundFunction(_AsType, number)

    def resolve_item(self, number: types.Type) -> types.Type | None:
        return None if is_weak(number) else types.BoundFunction(_Item, number)


class _Conjugate(templates.AbstractTemplate):
    key = "number.conjugate"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        number = weak_int if self.this == weak_bool else self.this
        return None if args or kws else templates.signature(number, recvr=self.this)


class _AsType(templates.AbstractTemplate):
    key = "number.astype"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        if kws or len(args) != 1:
            return None
        strong = args[0].dtype if isinstance(args[0], types.DType) else getattr(args[0], "instance_type", None)
        if strong is None or not (is_scalar if isinstance(strong, types.Complex) else is_real)(self.this):
            return None
        return templates.signature(strong, *args, recvr=self.this)


_WEAK_KINDS = {types.Complex: weak_complex, types.Float: weak_float, types.Boolean: weak_bool, types.Integer: weak_int}


class _Item(templates.AbstractTemplate):
    """The number as Python's."""

    key = "number.item"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        weak = next(weak for kind, weak in _WEAK_KINDS.items() if isinstance(self.this, kind))
        return None if args or kws else templates.signature(weak, recvr=self.this)


@registry.register_attr
class _NumberClassAttributes(templates.AttributeTemplate):
    """Calling a NumPy scalar type, and `dtype.type`."""

    key = types.NumberClass

    def resolve___call__(self, class_type: types.NumberClass) -> types.Type:
        strong = class_type.instance_type

        def typer(value: types.Type) -> types.Type | None:
            # Of a complex number only whether it is zero can be told in a real type.
            takes = is_scalar if isinstance(strong, (types.Complex, types.Boolean)) else is_real
            return strong if takes(value) else None

        return types.Function(templates.make_callable_template(key=class_type, typer=typer))


@registry.register_attr
class _DTypeAttributes(templates.AttributeTemplate):
    """`array.dtype.type` and `array.dtype.itemsize`."""

    key = types.DType

    def resolve_type(self, dtype: types.DType) -> types.Type:
        return types.NumberClass(dtype.dtype)

    def resolve_itemsize(self, dtype: types.DType) -> types.Type:
        return weak_int


@registry.rule(operator.eq, operator.ne)
def _same_dtype(context: Any, left: types.Type, right: types.Type) -> Any:
    """Equality of a dtype with another, or with a type of NumPy's: known when the kernel is compiled."""
    are_types = all(isinstance(each, (types.DType, types.NumberClass)) for each in (left, right))
    is_one_dtype = are_types and (isinstance(left, types.DType) or isinstance(right, types.DType))
    return templates.signature(weak_bool, left, right) if is_one_dtype else None


class RoundType(GenericCallableType):
    """`round(x)`, a weak int, and `round(x, ndigits)`, of the type of `x`: halves go to the even neighbour."""

    _parameters = inspect.Signature(
        [
            inspect.Parameter("number", inspect.Parameter.POSITIONAL_ONLY),
            inspect.Parameter("ndigits", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
        ]
    )

    def __init__(self) -> None:
        super().__init__("function(round)")

    @property
    def typing_key(self) -> Any:
        """The function that messages name."""
        return round

    @property
    def key(self) -> Any:
        """The function: there is one."""
        return round

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call; rounding to digits is a function of the library."""
        try:
            given = tuple(self._parameters.bind(*args, **kws).arguments.values())
        except TypeError:
            return None
        if given and given[0] == weak_bool:
            given = (weak_int, *given[1:])
        if not given or not is_number(given[0]) or isinstance(given[0], types.Complex):
            return None
        if len(given) == 1:
            return None if kws else templates.signature(weak_int, *given)
        if isinstance(given[1], types.NoneType):
            return templates.signature(weak_int, *given).replace(pysig=self._parameters)
        if not isinstance(given[1], types.Integer):
            return None
        given = (given[0], weak_int)
        return templates.signature(context.type_device_function(_rounding(given[0]), given), *given).replace(
            pysig=self._parameters
        )

    def get_impl_key(self, sig: Any) -> Any:
        """The key of the code in the back end."""
        to_digits = len(sig.args) == 2 and isinstance(sig.args[1], types.Integer)
        return (_rounding(sig.args[0]), sig.args) if to_digits else round


def _rounding(number: types.Type) -> Any:
    if isinstance(number, types.Float):
        return round_weak_float if is_weak(number) else round_float
    return round_integer


registry.register_global(round, RoundType())
registry.register_attr(_IntegerMethods)
for _class in (types.Number, types.Boolean):
    registry.register_attr(type(f"_{_class.__name__}Parts", (_Parts,), {"key": _class}))
