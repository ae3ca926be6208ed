"""`math`, `cmath` and NumPy's functions as kernels see them.

A strong number keeps its type, no domain is an error, and integers are not divided by zero.  The rewritten kernel
gets what stands here in place of the modules' own functions, by the rows of the intrinsic table.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.promotion import common_float, complex_operand, operand_of_class, scalar_class
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_sim.numbers.arithmetic import checked_ring, floor_divide, fused_to_odd, remainder, too_wide
from kapi_sim.numbers.builtin_functions import BUILTINS
from kapi_sim.numbers.choices import ARRAY_FUNCTIONS
from kapi_sim.numbers.fitting import counted
from kapi_sim.numbers.operator_functions import FUNCTIONS as OPERATOR_FUNCTIONS
from kapi_sim.numbers.vectors import Vec, elementwise, of_elements
from kapi_sim.short_repr import short_repr

__all__ = ["MATH", "SUBSTITUTES"]

_INTEGERS = (int, np.integer, np.bool_)


def _gamma_beyond(x: float) -> float:
    if x == 0.0:
        return math.copysign(math.inf, x)
    return math.nan if x == math.floor(x) and x < 0.0 else math.copysign(math.inf, x)


# What IEEE 754 gives where Python's function raises ValueError, OverflowError or ZeroDivisionError.
_BEYOND: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": lambda x, *base: np.log(x) / np.log(base[0]) if base else np.log(x),
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "pow": np.float_power,
    "hypot": np.hypot,
    "fmod": np.fmod,
    "remainder": lambda x, y: math.nan,
    "ldexp": lambda x, i: math.copysign(math.inf, x),
    "fma": fused_to_odd,
    "gamma": _gamma_beyond,
    "lgamma": lambda x: math.inf,
    "rect": lambda r, phi: complex(r * np.cos(phi), r * np.sin(phi)),
    "polar": lambda z: (np.abs(z), np.angle(z)),
}
_IS_FAR: dict[str, Callable[..., bool]] = {
    "factorial": lambda n: n > 20,
    "perm": lambda n, k: n >= k > 20,
    "comb": lambda n, k: min(k, n - k) > 33,
}
"""Whether a function of integers is certain to need more than 64 bits; Python would work out as many as there are."""
_OF_ANY_COUNT = ("gcd", "lcm", "hypot")
"""Functions that take two numbers in a kernel, and any count of them in Python."""


def _common_float(*numbers: Any) -> type:
    """The class of a function's float result."""
    return _float_class(tuple(number.__class__ for number in numbers))


@functools.cache
def _float_class(kinds: tuple[type, ...]) -> type:
    return scalar_class(common_float(*map(operand_of_class, kinds)))


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math` for vectors as well, and not for NumPy's complex numbers, of which Python takes a part."""
    seen: set[tuple[type, ...]] = set()

    def checked(*numbers: Any) -> Any:
        kinds = tuple(number.__class__ for number in numbers)
        if kinds not in seen:
            if Vec in kinds:
                return of_elements(checked, *numbers)
            for kind in kinds:
                if issubclass(kind, np.complexfloating):
                    raise TypeError(f"argument of a function of math must be a real number, got {kind.__name__}")
            seen.add(kinds)
        return function(*numbers)

    return checked


def _of_two_numbers(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def of_two(*numbers: Any) -> Any:
        if len(numbers) != 2:
            raise KernelCompilationError(
                f"{name}() takes two numbers in a kernel, got {len(numbers)}", code="call-arguments"
            )
        return function(*numbers)

    return of_two


def _integral(value: Any) -> int:
    """An integer as Python's; a float is none, even a whole one."""
    if not isinstance(value, _INTEGERS):
        raise TypeError(f"argument must be an integer, got {short_repr(value)}: write int(...)")
    return int(value)


def _common(kind: type, numbers: tuple[Any, ...]) -> Any:
    """Numbers of which Python's have taken the float type of the strong ones, as in NumPy's own functions."""
    if len(numbers) == 1 or kind is float or kind is np.float64:
        return numbers
    return [number if isinstance(number, np.generic) else _plain(kind, number) for number in numbers]


def _common_complex(*numbers: Any) -> type:
    return scalar_class(complex_operand(operand_of_class(_common_float(*numbers))))


def _caught(module: ModuleType, name: str) -> Callable[..., Any]:
    """A module's function, which gives what lies beyond its domain instead of raising an error."""
    function: Callable[..., Any] = attribute_of(module, name)
    beyond = _BEYOND.get(name, function)
    wide = complex if module is cmath and name != "rect" else float

    def caught(*numbers: Any) -> Any:
        try:
            return function(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError):
            return beyond(*(wide(each) for each in numbers))

    return caught


def _ulp(x: Any) -> Any:
    size = abs(x)
    if not np.isfinite(size):
        return size
    kind = size.__class__
    following = np.nextafter(size, kind(np.inf))
    return following - size if np.isfinite(following) else size - np.nextafter(size, kind(0))


_NEIGHBOURS: dict[str, Callable[..., Any]] = {"nextafter": np.nextafter, "ulp": _ulp}


def _plain(cast: type, value: Any) -> Any:
    return cast(value)


def _function_of(row: Intrinsic, module: ModuleType) -> Callable[..., Any]:
    """The replacement of one function in a kernel."""
    function: Callable[..., Any] = attribute_of(module, row.name)
    if row.returns == "bool":
        return elementwise(function) if module is cmath else _real(function)
    words = row.returns.split(", ")
    caught = _caught(module, row.name)
    is_far = _IS_FAR.get(row.name)
    has_floats = any(word != "integer" for _, word, _ in row.parameters)

    def part_of(*numbers: Any) -> type:
        # Complex numbers have no parts of float16.
        kind = _common_float(*numbers)
        return np.float32 if module is cmath and kind is np.float16 else kind

    def of_floats(*numbers: Any) -> Any:
        kind = part_of(*numbers)
        return _plain(kind, caught(*_common(kind, numbers)))

    def fused(*numbers: Any) -> Any:
        # The bound is no error at all, so a weak number has to become what it is on a device first.
        kind = _common_float(*numbers)
        x, y, z = (float(_plain(kind, number)) for number in numbers)
        return _plain(kind, caught(x, y, z) if kind in (float, np.float64) else fused_to_odd(x, y, z))

    def scaled(x: Any, i: Any) -> Any:
        return _plain(_common_float(x), caught(x, _integral(i)))

    def on_positions(*numbers: Any) -> Any:
        # Which floats are neighbours is a question of their type.
        kind = _common_float(*numbers)
        positions = (_plain(np.float64 if kind is float else kind, number) for number in numbers)
        return _plain(kind, _NEIGHBOURS[row.name](*positions))

    def of_complex(*numbers: Any) -> Any:
        return _plain(_common_complex(*numbers), caught(*_common(_common_float(*numbers), numbers)))

    def of_two(*numbers: Any) -> Any:
        kind = part_of(*numbers)
        first, second = caught(*numbers)
        return _plain(kind, first), second if words[1] == "weak int" else _plain(kind, second)

    def of_integers(*numbers: Any) -> Any:
        given = [_integral(number) for number in numbers]
        if is_far is not None and is_far(*given):
            raise too_wide(f"math.{row.name}({', '.join(map(short_repr, given))})")
        return checked_ring(int(function(*given)))

    def to_integer(x: Any) -> int:
        value: int = checked_ring(int(x) if isinstance(x, _INTEGERS) else int(function(float(x))))
        return value

    if len(words) == 2:
        made: Callable[..., Any] = of_two
    elif words[0] == "weak int":
        made = to_integer if has_floats else of_integers
    else:
        by_name = {"nextafter": on_positions, "ulp": on_positions, "ldexp": scaled, "fma": fused}
        made = of_complex if words[0] == "argument complex" else by_name.get(row.name, of_floats)
    made = _real(made) if module is math or row.name == "rect" else elementwise(made)
    if row.name in _OF_ANY_COUNT:
        made = _of_two_numbers(made, f"math.{row.name}")
    made.__name__ = made.__qualname__ = row.name
    return made


class _KernelModule(ModuleType):
    """Stands for a module in a kernel; what the table lacks is the module's own."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(
            module.__name__, f"Python's {module.__name__} as kernels see it: strong numbers keep their type."
        )
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)


def _checked(check: Callable[[Any, Any], Any], function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def divide(x: Any, y: Any) -> Any:
        if not y and isinstance(y, _INTEGERS) and isinstance(x, _INTEGERS):
            check(x, y)
        return function(x, y)

    return divide


def _reciprocal(x: Any) -> Any:
    if not x and isinstance(x, _INTEGERS):
        floor_divide(1, x)
    return np.reciprocal(x)


def _power(x: Any, y: Any) -> Any:
    """A power as an array's: of one exponent for all, NumPy takes the root, which is another of -inf and -0.0."""
    found = np.power(x, y)
    if isinstance(found, np.floating) and y == 0.5 and (x == 0 or x == -np.inf):
        return abs(found.__class__(x))
    return found


def _log1p(z: Any) -> Any:
    """log1p as the device has it: NumPy loses all digits of complex numbers near 0."""
    found = np.log1p(z)
    if not isinstance(found, np.complexfloating) or not 0.5 < abs(np.exp(found.real)) < 2:
        return found
    x, y = float(z.real), float(z.imag)
    return found.__class__(complex(math.log1p(x * (2 + x) + y * y) / 2, float(found.imag)))


def _exact(compare: Any) -> Callable[[Any, Any], Any]:
    def compared(x: Any, y: Any) -> Any:
        is_wide = any(type(each) is int and each >= 2**63 for each in (x, y))
        return compare(counted(x), counted(y)) if is_wide else compare(x, y)

    return compared


_NUMPY: dict[Any, Any] = {
    **{each: _exact(each) for each in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)},
    np.log1p: _log1p,
    np.power: _power,
    **ARRAY_FUNCTIONS,
    np.divmod: _checked(floor_divide, np.divmod),
    np.fmod: _checked(remainder, np.fmod),
    np.floor_divide: _checked(floor_divide, np.floor_divide),
    np.remainder: _checked(remainder, np.remainder),
    np.reciprocal: _reciprocal,
}
_NUMPY |= {function: elementwise(substitute) for function, substitute in _NUMPY.items()}
"""NumPy's functions that kernels do not get as they are."""


def _module(module: ModuleType) -> tuple[ModuleType, dict[int, Any]]:
    """The replacements of a module and, by `id`, of each of its functions."""
    made = _KernelModule(module)
    by_id: dict[int, Any] = {id(module): made}
    for row in rows(module.__name__):
        function = _function_of(row, module)
        setattr(made, row.name, function)
        by_id[id(attribute_of(module, row.name))] = function
    return made, by_id


MATH, _OF_MATH = _module(math)
"""The replacement of the module `math` in a kernel."""
_, _OF_CMATH = _module(cmath)

SUBSTITUTES: dict[int, Any] = {
    **_OF_MATH,
    **_OF_CMATH,
    **{id(function): substitute for function, substitute in (_NUMPY | BUILTINS | OPERATOR_FUNCTIONS).items()},
}
"""The replacement in a kernel of the object with this `id`; the originals live as long as their modules."""
