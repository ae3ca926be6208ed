# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""Functions of real numbers, written in the kernel language over the primitives of the table.

One definition serves every type that it is called for; where floats and integers differ, a function has two.
"""

from __future__ import annotations

import math

import numpy as np

from kapi_types.kernel_typing.library.parts import ilogb

__all__ = [
    "FLOATS",
    "INTEGERS",
    "OPERATORS",
    "bit_count",
    "bit_length",
    "round_float",
    "round_weak_float",
    "round_integer",
]


# -- operators, which are functions in NumPy -------------------------------------------------------------


def divmod_(x, y, /):
    """Quotient and remainder."""
    return x // y, x % y


OPERATORS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "power": lambda x, y: x**y,
    "float_power": lambda x, y: x**y,
    "negative": lambda x: -x,
    "positive": lambda x: +x,
    "absolute": lambda x: abs(x),
    "square": lambda x: x * x,
    "conjugate": lambda x: x.conjugate(),
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "invert": lambda x: ~x,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "logical_and": lambda x, y: np.bool_(bool(x) and bool(y)),
    "logical_or": lambda x, y: np.bool_(bool(x) or bool(y)),
    "logical_xor": lambda x, y: np.bool_(bool(x) != bool(y)),
    "logical_not": lambda x: np.bool_(not x),
    "where": lambda condition, x, y: x if condition else y,
}
"""Functions of numbers of any kind that has the operator, by the name of the operation."""

for _name, _function in OPERATORS.items():
    _function.__name__ = _function.__qualname__ = _name  # for messages and symbols

OPERATORS["divmod"] = divmod_


# -- floats ----------------------------------------------------------------------------------------------


def maximum(x, y):
    """The larger; nan if one is."""
    larger_one = y if y > x else x  # by itself a processor's instruction, which a second choice of `x` would hide
    return x + y if math.isnan(x) or math.isnan(y) else larger_one


def minimum(x, y):
    """The smaller; nan if one is."""
    smaller_one = y if y < x else x
    return x + y if math.isnan(x) or math.isnan(y) else smaller_one


def fmax(x, y):
    """The larger; nan if both are."""
    return x if x >= y or math.isnan(y) else y


def fmin(x, y):
    """The smaller; nan if both are."""
    return x if x <= y or math.isnan(y) else y


def clip(x, low, high):
    """`x` held between two bounds; nan if any is."""
    return minimum(maximum(x, low), high)


def sign(x):
    """-1, 0 or 1; nan of nan."""
    if x > 0:
        return 1
    if x < 0:
        return -1
    return x * x  # 0 without a sign, and nan


def heaviside(x, at_zero):
    """0 below 0, 1 above, and `at_zero` at 0."""
    if math.isnan(x):
        return x
    if x == 0:
        return at_zero
    return 1 if x > 0 else 0


def reciprocal(x):
    """1 / x."""
    return 1 / x


def logaddexp(x, y):
    """log(exp(x) + exp(y)), without overflow on the way."""
    if x == y:
        return x + math.log(2.0)
    difference = x - y
    if difference > 0:
        return x + math.log1p(math.exp(-difference))
    if difference <= 0:
        return y + math.log1p(math.exp(difference))
    return difference


def logaddexp2(x, y):
    """log2(2**x + 2**y), without overflow on the way."""
    if x == y:
        return x + 1
    difference = x - y
    if difference > 0:
        return x + math.log1p(np.exp2(-difference)) / math.log(2.0)
    if difference <= 0:
        return y + math.log1p(np.exp2(difference)) / math.log(2.0)
    return difference


def frexp(x):
    """Mantissa, from 0.5 to 1, and exponent."""
    if x == 0 or not math.isfinite(x):
        return x, 0
    exponent = ilogb(x) + 1
    return math.ldexp(x, -exponent), exponent


def frexp_int32(x):
    """The same with the exponent in 32 bits, as NumPy has it."""
    mantissa, exponent = frexp(x)
    return mantissa, np.int32(exponent)


def modf(x):
    """Fraction and integer part, both with the sign of x."""
    if math.isinf(x):
        return math.copysign(0.0, x), x
    integral = np.trunc(x)
    return math.copysign(x - integral, x), integral


def modf_weak(x):
    """The same of a Python float, whose parts are two."""
    fraction, integral = modf(np.float64(x))
    return float(fraction), float(integral)


def spacing(x):
    """Distance to the next number away from 0, with the sign of x; of either 0 it is above."""
    if not math.isfinite(x):
        return x - x
    return np.nextafter(x, math.inf if x >= 0 else -math.inf) - x


def spacing_float16(x):
    """Distance to the next number above, which NumPy gives for float16."""
    if math.isinf(x):
        return x - x
    return np.nextafter(x, math.inf) - x


def ulp(x):
    """The value of the last place of x."""
    size = math.fabs(x)
    if not math.isfinite(size):
        return size
    following = math.nextafter(size, math.inf)
    return following - size if math.isfinite(following) else size - math.nextafter(size, 0.0)


def log_of_base(x, base):
    """Logarithm to any base."""
    return math.log(x) / math.log(base)


# -- integers --------------------------------------------------------------------------------------------


def larger(x, y):
    """The larger."""
    return x if x >= y else y


def smaller(x, y):
    """The smaller."""
    return x if x <= y else y


def integer_sign(x):
    """-1, 0 or 1."""
    if x > 0:
        return 1
    if x < 0:
        return ~(x - x)  # -1 of the type, which an unsigned one, of which none is negative, does not have
    return x


def integer_reciprocal(x):
    """1 / x, cut off: 0 but for 1 and -1; of 0 it is a division by zero like others."""
    if x == 0:
        return 1 // x
    return x if x == 1 or x == -1 else 0


def integer_clip(x, low, high):
    """`x` held between two bounds."""
    return smaller(larger(x, low), high)


def integer_fmod(x, y):
    """Remainder with the sign of x."""
    remainder = x % y
    return remainder - y if remainder != 0 and (x < 0) != (y < 0) else remainder


def always(x):
    """True, as of every integer."""
    return np.bool_(True)


def never(x):
    """False, as of every integer."""
    return np.bool_(False)


def gcd(x, y):
    """Greatest common divisor."""
    a, b = abs(x), abs(y)
    while b != 0:
        rest = a % b
        a = b
        b = rest
    return abs(a)  # the least integer has no absolute value, and remainders by it are negative


def lcm(x, y):
    """Least common multiple."""
    divisor = gcd(x, y)
    return abs(x) if divisor == 0 else abs(x) // divisor * abs(y)


def gcd_of_ints(x, y):
    """The same of Python's ints, of which an unsigned one may be beyond those with a sign."""
    return int(gcd(magnitude(x), magnitude(y)))


def lcm_of_ints(x, y):
    """The same of Python's ints."""
    return int(lcm(magnitude(x), magnitude(y)))


def magnitude(x):
    """Absolute value, that of the least integer too, which its own type has not."""
    return np.uint64(x) if x >= 0 else np.uint64(-(x + 1)) + np.uint64(1)


def bitwise_count(x):
    """Number of bits set in the absolute value."""
    left = magnitude(x)
    count = np.uint8(0)
    while left != 0:
        left &= left - 1
        count += np.uint8(1)
    return count


def bit_count(x):
    """Number of bits set in the absolute value, as Python's int."""
    return int(bitwise_count(x))


def bit_length(x):
    """Number of bits that the absolute value takes."""
    left = magnitude(x)
    count = 0
    while left != 0:
        left >>= 1
        count += 1
    return count


def round_integer(x, ndigits):
    """Round to a multiple of a power of ten if there are fewer than no digits, else the same."""
    digits = -max(ndigits, -20)  # which 64 bits may have
    quotient, last, has_rest = x, x - x, False
    for _ in range(digits):
        has_rest = has_rest or last != 0
        last = quotient % 10
        quotient //= 10
    if last > 5 or (last == 5 and (has_rest or quotient % 2 != 0)):
        quotient += 1
    for _ in range(digits):
        quotient *= 10
    return quotient


def round_float(x, ndigits):
    """Round to decimal digits as NumPy does: scaled, rounded to even, and scaled back."""
    left = abs(max(-400, min(ndigits, 400)))  # a scale of more is infinite as well
    scale = 1.0
    # Beyond 10**22 the order of the multiplications counts. A driver may change that of a loop whose end it can tell.
    while left > 0 and scale != math.inf:
        scale *= 10.0
        left -= 1
    if ndigits < 0:
        return np.rint(x / scale) * scale
    return np.rint(x * scale) / scale


def round_weak_float(x, ndigits):
    """The same of a Python float, which stays one."""
    return float(round_float(x, ndigits))


def isqrt(n):
    """Integer part of the root; 0 of a negative number, of which Python raises."""
    rest, root, bit = n, 0, 1 << 62
    while bit > n and bit != 0:
        bit >>= 2
    while bit != 0:
        if rest >= root + bit:
            rest -= root + bit
            root = (root >> 1) + bit
        else:
            root >>= 1
        bit >>= 2
    return root


def factorial(n):
    """1 times 2 times ... times n; 0 of a negative number, of which Python raises."""
    product, k = 1, 2
    while k <= n and product != 0:  # no more than 66 times, after which all 64 bits are 0
        product *= k
        k += 1
    return product if n >= 0 else 0


def comb(n, k):
    """Number of ways to choose k of n; 0 of negative numbers and if 64 bits do not hold it."""
    if k < 0 or k > n:
        return 0
    found, least = 1, min(k, n - k)
    for j in range(least):
        divisor = gcd(found, j + 1)
        found //= divisor
        factor = (n - j) // ((j + 1) // divisor)
        if found > (2**63 - 1) // factor:
            return 0
        found *= factor
    return found


def perm(n, k):
    """Number of ways to choose k of n in order; 0 of negative numbers, of which Python raises."""
    if k < 0 or k > n:
        return 0
    found, j = 1, 0
    while j < k and found != 0:  # no more than 66 times
        found *= n - j
        j += 1
    return found


FLOATS = {
    function.__name__: function
    for function in (
        maximum, minimum, fmax, fmin, clip, sign, heaviside, reciprocal, logaddexp, logaddexp2, frexp, modf, modf_weak,
        spacing, spacing_float16, ulp, frexp_int32, log_of_base,
    )
}  # fmt: skip
"""Functions of floats that no device has by itself."""

INTEGERS = {
    function.__name__: function
    for function in (gcd, lcm, gcd_of_ints, lcm_of_ints, isqrt, factorial, comb, perm, bitwise_count)
} | {
    "maximum": larger, "fmax": larger, "minimum": smaller, "fmin": smaller, "clip": integer_clip, "sign": integer_sign,
    "reciprocal": integer_reciprocal, "fmod": integer_fmod,
    "isfinite": always, "isnan": never, "isinf": never,
}  # fmt: skip
"""Functions of integers and bools."""
