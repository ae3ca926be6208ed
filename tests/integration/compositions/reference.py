"""Plain Python over NumPy's scalars: what a statement means, with the rules of docs/model/numbers.md where it has any.

The rules are: a float that becomes an integer is held to its range, and nan is 0; functions of `math` and `cmath` give
infinity or nan beyond their domain, in the type of their strong operands; storing converts as NumPy's assignment does;
complex numbers are ordered as in NumPy's arrays; their powers and logarithms are computed in wider floats.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from compositions.kinds import kind_of, unify
from kapi_sim.language.table.intrinsics import rows

__all__ = ["NAMESPACE", "compiled", "converted", "updated"]

_PRECISE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
_PRECISE |= {"atanh": "arctanh", "atan2": "arctan2", "pow": "power", "fabs": "absolute", "remainder": ""}
_PRECISE |= {"gcd": "", "lcm": "", "floor": "", "ceil": "", "trunc": "", "ldexp": "", "frexp": "", "modf": ""}


def _held(value: Any, dtype: np.dtype[Any]) -> int:
    """A float's integer part, held to the range of an integer dtype."""
    if math.isnan(value):
        return 0
    ends = np.iinfo(dtype)
    if math.isinf(value):
        return int(ends.max if value > 0 else ends.min)
    return min(max(int(value), int(ends.min)), int(ends.max))


def converted(value: Any, code: str) -> Any:
    """Convert a value to an element of a dtype, as NumPy's assignment does.

    Raises
    ------
    OverflowError
        If a Python int does not fit.
    TypeError
        If an imaginary part would be lost.
    """
    dtype = np.dtype(code)
    if isinstance(value, (tuple, np.ndarray)):
        raise TypeError("several values are no element")
    is_complex = isinstance(value, (complex, np.complexfloating))
    if is_complex and dtype.kind not in "cb":
        raise TypeError("an imaginary part would be lost")
    if dtype.kind == "b":
        return np.bool_(bool(value))
    if isinstance(value, (float, np.floating)) and dtype.kind in "iu":
        return dtype.type(_held(value, dtype))
    if isinstance(value, np.generic):
        return value.astype(dtype)
    if isinstance(value, int) and dtype.kind in "fc":
        return dtype.type(float(value)) if dtype.itemsize != 2 else np.float16(float(value))
    return dtype.type(value)


class _Numpy:
    """NumPy, but that its types convert by the rule and `where` gives an element."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, type) and issubclass(found, np.generic):
            return _Type(found)
        if name == "where":
            return lambda condition, x, y: np.where(condition, x, y)[()]
        if name == "clip":
            return _clip
        if name == "reciprocal":
            return _reciprocal
        if name in ("power", "float_power"):
            return lambda x, y: _power(found, x, y)
        if name == "log1p":
            return _log1p
        return found


def _reciprocal(x: Any) -> Any:
    """NumPy's, but that 1 is divided by an integer 0 as by the operator."""
    if isinstance(x, (int, np.integer)) and x == 0:
        one = type(x)(1) if isinstance(x, np.integer) else np.int64(1)
        return one // x
    return np.reciprocal(x)


class LeftOpenError(ArithmeticError):
    """Python has no one answer: an operand that is not taken has no value, or the last digit of a float decides."""


def _power(function: Any, x: Any, y: Any) -> Any:
    """NumPy's, but that an exponent of a half is one like others, as where each element of an array has its own."""
    power = function(x, y)
    if isinstance(power, np.complexfloating):
        # A weak number is one of the strong one's type first.
        return type(power)(_complex_power(type(power)(x), type(power)(y), power))
    is_root = not isinstance(power, np.complexfloating) and y == 0.5 and x == -np.inf
    return type(power)(np.inf) if is_root else power


def _real_power(x: Any, y: Any) -> Any:
    """Python's power, but that real numbers have no complex one, and an integer no negative one."""
    if isinstance(x, int) and isinstance(y, int) and y < 0:
        raise ValueError("an integer to a negative power")
    x = _joined(x, y)
    is_complex = any(isinstance(each, (complex, np.complexfloating)) for each in (x, y))
    if is_complex and x and not isinstance(x, np.generic) and not isinstance(y, np.generic):
        # Python's own powers overflow where they are numbers, and know nothing of infinite ones.
        return complex(_complex_power(x, y, np.power(np.complex128(x), np.complex128(y))))
    power = x**y
    if is_complex and not isinstance(power, np.generic):
        return complex(np.power(np.complex128(x), np.complex128(y)))  # of nan, 0 has no power
    if is_complex:
        return type(power)(_complex_power(x, y, power))
    if type(power) is complex:
        raise ValueError("a negative float to the power of a fraction is complex")
    return power


def _complex_power(x: Any, y: Any, power: Any) -> Any:
    """NumPy's own; where that overflows, though it need not have on its way, in wider floats."""
    if np.isinf(y) and isinstance(x, np.complex64) and 0 < abs(abs(np.complex128(x)) - 1) < np.finfo(np.float32).eps:
        raise LeftOpenError  # whether the base is more or less than 1
    is_multiplied = y.imag == 0 and abs(y.real) < 100 and y.real == np.floor(y.real)
    if np.isfinite(power) or is_multiplied or not x or not (np.isfinite(x) and np.isfinite(y)):
        return power
    logarithm = np.clongdouble(y) * np.log(np.clongdouble(x))
    if max(abs(logarithm.real), abs(logarithm.imag)) > np.finfo(np.float64).max:
        return power  # its angle is no float64 number
    return np.power(np.clongdouble(x), np.clongdouble(y))


def _log1p(z: Any) -> Any:
    """NumPy's, but that of complex numbers near 0 or -1 no digit is lost."""
    found = np.log1p(z)
    if not isinstance(found, np.complexfloating) or not np.isfinite(z) or z == -1:
        return found
    x, y = Fraction(float(z.real)), Fraction(float(z.imag))
    size = x * (2 + x) + y * y  # of 1 + z, squared, less 1
    if size > 1:
        return found
    is_small = size < -0.5
    real = (np.log(np.longdouble(float(1 + size))) if is_small else np.log1p(np.longdouble(float(size)))) / 2
    return type(found)(complex(real, np.arctan2(np.longdouble(z.imag), 1 + np.longdouble(z.real))))


def _clip(x: Any, low: Any, high: Any) -> Any:
    """NumPy's, but that Python's ints at and beyond an integer's ends are bounds where the result is no integer."""
    x = np.asarray(x)[()]
    dtype = np.result_type(x, low, high)
    # NumPy takes no bound that the type of x does not hold, though the result's does.
    return np.clip(x.astype(dtype), low, high) if dtype.kind in "biu" else _BOUNDED(x, low, high)


_BOUNDED: np.ufunc = vars(np._core.umath)["clip"]  # type: ignore[attr-defined]  # which has no public name


class _Type:
    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __call__(self, value: Any) -> Any:
        return converted(value, np.dtype(self.kind).str[1:] if self.kind is not np.bool_ else "?")


def _real_type(kind: type) -> np.dtype[Any]:
    dtype = np.dtype(kind)
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}")
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def _common(numbers: Any) -> Callable[[Any], Any]:
    """The float type of a function's result: Python's if all numbers are."""
    strong = [_real_type(type(number)) for number in numbers if isinstance(number, np.generic)]
    return np.result_type(*strong).type if strong else float


def _of_floats(name: str) -> Callable[..., Any]:
    precise = _PRECISE.get(name, name)
    wide = getattr(np, precise, None) if precise else None

    def function(*numbers: Any) -> Any:
        if any(isinstance(number, (complex, np.complexfloating)) for number in numbers):
            raise TypeError("must be real number, not complex")
        kind = _common(numbers)
        numbers = tuple(float(each) if isinstance(each, (int, np.integer, np.bool_)) else each for each in numbers)
        if kind is not float:  # Python's numbers take the type of the strong operand
            numbers = tuple(number if isinstance(number, np.generic) else kind(number) for number in numbers)
        if name == "fma":
            return _fused(kind, *numbers)
        if name in ("nextafter", "ulp"):
            of = np.float64 if kind is float else kind
            given = [of(number) for number in numbers]
            return kind(np.nextafter(*given) if name == "nextafter" else _ulp(given[0]))
        if name == "log" and len(numbers) == 2:
            x, base = (np.log(np.longdouble(number)) for number in numbers)
            return kind(x / base)
        if name == "pow" and any(map(math.isinf, numbers)):  # whose sign is lost of long exponents
            return kind(math.pow(*map(float, numbers)))
        if wide is not None:
            return kind(wide(*(np.longdouble(number) for number in numbers)))
        try:
            return kind(getattr(math, name)(*map(float, numbers)))
        except (ValueError, OverflowError):
            return kind(_BEYOND[name](*map(float, numbers)))

    return function


def _fused(kind: Any, x: Any, y: Any, z: Any) -> Any:
    """The exact value, rounded once; what is not finite is computed as written."""
    numbers = [float(each) for each in (x, y, z)]
    if all(map(math.isfinite, numbers[:2])) and not math.isfinite(numbers[2]):
        return kind(numbers[2])  # a product of numbers is one, however large
    if not all(map(math.isfinite, numbers)):
        return kind(np.float64(numbers[0]) * np.float64(numbers[1]) + np.float64(numbers[2]))
    exact = Fraction(numbers[0]) * Fraction(numbers[1]) + Fraction(numbers[2])
    if not exact:  # the sign of a zero is the sum's
        return kind(np.float64(numbers[0]) * np.float64(numbers[1]) + np.float64(numbers[2]))
    try:
        near = float(exact)
    except OverflowError:
        near = math.inf if exact > 0 else -math.inf
    found = kind(near)
    if kind in (float, np.float64) or not np.isfinite(found):
        return found
    # Rounded twice, a half may have gone the wrong way: its neighbour may be nearer, or as near and even.
    other = np.nextafter(found, kind(np.inf if exact > Fraction(float(found)) else -np.inf))
    gaps = [abs(exact - Fraction(float(each))) if np.isfinite(each) else math.inf for each in (found, other)]
    return other if gaps[1] < gaps[0] else found


def _ulp(x: Any) -> Any:
    """As Python has it of its floats: infinity of infinity, and of the largest number the distance below it."""
    size, kind = abs(x), type(x)
    above, below = np.nextafter(size, kind(np.inf)) - size, size - np.nextafter(size, kind(0))
    return above if np.isfinite(above) else below if np.isfinite(size) else size


def _gamma_beyond(x: float) -> float:
    is_pole = x < 0 and x == math.floor(x)
    return math.nan if is_pole else math.copysign(math.inf, x)


_BEYOND: dict[str, Callable[..., float]] = {
    "gamma": _gamma_beyond,
    "lgamma": lambda x: math.inf,
    "remainder": lambda x, y: math.nan,
    "fmod": lambda x, y: math.nan,
}


def _ldexp(x: Any, i: Any) -> Any:
    if isinstance(x, (complex, np.complexfloating)) or not isinstance(i, (int, np.integer, np.bool_)):
        raise TypeError("ldexp takes a float and an integer")
    return _common([x])(np.ldexp(float(x), max(-(2**20), min(2**20, int(i)))))


def _of_two(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        kind = _common([x])
        first, second = getattr(math, name)(x)
        return kind(first), second if name == "frexp" else kind(second)

    return function


class _Module:
    """Stand-in for `math` or `cmath`."""

    def __init__(self, **functions: Any) -> None:
        vars(self).update(functions)


def _math() -> _Module:
    functions: dict[str, Any] = {}
    for row in rows(owner="math"):
        words = [word for _, word, _ in row.parameters]
        if row.returns == "argument float":
            functions[row.name] = _ldexp if row.name == "ldexp" else _of_floats(row.name)
        elif row.returns.startswith("argument float,"):
            functions[row.name] = _of_two(row.name)
        else:
            functions[row.name] = (
                _of_integers(getattr(math, row.name)) if "integer" in words else getattr(math, row.name)
            )
    # Python asks NumPy's integers for a float first, which cannot hold all of them.
    functions |= {name: _keeping_integers(functions[name]) for name in ("floor", "ceil")}
    functions["trunc"] = _truncated
    return _Module(**functions)


def _keeping_integers(function: Any) -> Any:
    return lambda x: int(x) if isinstance(x, (int, np.integer)) else function(x)


def _truncated(x: Any) -> int:
    """Of each number that `math.floor` takes: Python asks for a method, which of NumPy's numbers only float64 has."""
    return math.trunc(x.item() if isinstance(x, np.generic) else x)


def _of_integers(function: Any) -> Any:
    """A function of integers, which a bool of NumPy's is to kernels as Python's is to Python."""
    return lambda *numbers: function(*(bool(each) if isinstance(each, np.bool_) else each for each in numbers))


def _of_complex(name: str) -> Callable[..., Any]:
    function = getattr(np, _PRECISE.get(name, name))

    def computed(z: Any) -> Any:
        part = _common([z])
        kind = complex if part is float else np.complex128 if part is np.float64 else np.complex64
        return kind(function(np.complex128(z)))

    return computed


def _cmath() -> _Module:
    functions: dict[str, Any] = {}
    for row in rows(owner="cmath"):
        if row.returns == "argument complex" and row.name != "rect":
            functions[row.name] = _of_complex(row.name)
        elif row.returns == "bool":
            functions[row.name] = lambda z, name=row.name: bool(getattr(np, name)(np.complex128(z)))

    def part(z: Any) -> Any:
        kind = _common([z])
        return np.float32 if kind is np.float16 else kind

    def phase(z: Any) -> Any:
        return part(z)(np.angle(np.complex128(z)))

    def rect(r: Any, phi: Any) -> Any:
        if any(isinstance(each, (complex, np.complexfloating)) for each in (r, phi)):
            raise TypeError("must be real number, not complex")
        part = _common([r, phi])
        if part is not float:
            r, phi = (each if isinstance(each, np.generic) else part(each) for each in (r, phi))
        kind = complex if part is float else np.complex128 if part is np.float64 else np.complex64
        r, phi = float(r), float(phi)
        try:
            return kind(cmath.rect(r, phi))
        except ValueError:
            return kind(complex(r * np.cos(phi), r * np.sin(phi)))

    functions["phase"], functions["rect"] = phase, rect
    functions["polar"] = lambda z: (part(z)(np.abs(np.complex128(z))), phase(z))
    return _Module(**functions)


def _int(value: Any = 0) -> Any:
    is_float = isinstance(value, (float, np.floating))
    return _held(value, np.dtype(np.int64)) if is_float else int(value)


def _one_of(value: Any, *operands: Callable[[], Any]) -> Any:
    """A value in the one type that it has on the device, whichever operand it is."""
    try:
        kind = unify({kind_of(each()) for each in operands})
    except Exception as error:  # the one that is taken has been computed for `value`
        raise LeftOpenError from error
    held = _PYTHON[kind](value) if kind in _PYTHON else converted(value, kind)
    if bool(held) != bool(value):
        # `if x or y` asks each operand whether it is true, and `v = x or y; if v` the one type that holds both.
        raise LeftOpenError
    return held


_IN_ARRAYS = {operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater, operator.ge: np.greater_equal}


def _compared(name: str, x: Any, y: Any) -> Any:
    compare = getattr(operator, name)
    is_complex = any(isinstance(each, np.complexfloating) for each in (x, y))
    return _IN_ARRAYS[compare](x, y) if is_complex else compare(x, y)


def _extremum(name: str) -> Callable[..., Any]:
    def first(x: Any, y: Any) -> Any:
        return y if _compared(name, y, x) else x

    return first


def _joined(left: Any, right: Any) -> Any:
    """The left operand; of Python's complex numbers, which take a float64 number as Python's own float, NumPy's."""
    return np.complex128(left) if type(left) is complex and type(right) is np.float64 else left


class _Operators(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)):
            node.left = ast.copy_location(ast.Call(ast.Name("met", ast.Load()), [node.left, node.right], []), node.left)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        parts: list[ast.expr] = []
        for left, compare, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            name = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}.get(type(compare))
            if name is None:
                parts.append(ast.Compare(left, [compare], [right]))
            else:
                parts.append(ast.Call(ast.Name("compared", ast.Load()), [ast.Constant(name), left, right], []))
        return ast.copy_location(parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts), node)


def compiled(source: str) -> Any:
    """Code of a statement, to be run in `NAMESPACE`."""
    tree = ast.fix_missing_locations(_Operators().visit(ast.parse(source)))
    return compile(tree, "<statement>", "exec")


_PYTHON: dict[str, Any] = {"wb": bool, "wi": int, "wf": float, "wc": complex}


def _absolute(x: Any) -> Any:
    """Python's, but that it is infinite where it overflows, as Python 3.11 may tell of nan as well."""
    return math.hypot(x.real, x.imag) if type(x) is complex else abs(x)


def _rounded(x: Any, *digits: Any) -> Any:
    """Python's, but that a float of its own is scaled to be rounded to digits, as NumPy's are."""
    return float(np.float64(x).round(*digits)) if digits and type(x) is float else round(x, *digits)


def _wide_power(x: Any, y: Any) -> tuple[Any, float]:
    """A complex power in floats that do not overflow on the way, and by how much it enlarges its logarithm's error."""
    logarithm = np.clongdouble(y) * np.log(np.clongdouble(x))
    return np.exp(logarithm), 1 + float(abs(logarithm))


NAMESPACE: dict[str, Any] = {
    "abs": _absolute,
    "round": _rounded,
    "wide_power": _wide_power,
    "one_of": _one_of,
    "compared": _compared,
    "met": _joined,
    "min": _extremum("lt"),
    "max": _extremum("gt"),
    "real_power": _real_power,
    "np": _Numpy(),
    "math": _math(),
    "cmath": _cmath(),
    "int": _int,
    "__builtins__": builtins,
}
"""The namespace of statements."""

_UPDATES = {
    "fetch_add": np.add, "fetch_sub": np.subtract,
    # What is not a number is neither larger nor smaller.
    "fetch_min": lambda x, y: y if y < x else x, "fetch_max": lambda x, y: y if y > x else x,
    "fetch_mul": np.multiply, "fetch_inc": lambda x, y: type(x)(0) if x >= y else x + type(x)(1),
    "fetch_dec": lambda x, y: y if x <= 0 or x > y else x - type(x)(1),
    "fetch_and": np.bitwise_and, "fetch_or": np.bitwise_or, "fetch_xor": np.bitwise_xor,
}  # fmt: skip


def updated(before: Any, method: str, value: Any, code: str) -> Any:
    """Value of an element after an atomic operation."""
    given = converted(value, code)
    return _UPDATES[method](before, given) if method in _UPDATES else given
