"""Sine, cosine and tangent: Cody and Waite's reduction, and Payne and Hanek's where a number is large.

References
----------
M. Payne, R. Hanek, "Radian reduction for trigonometric functions", 1983.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .writer import Value, Writer

__all__ = ["LARGE_REDUCTION", "cos", "large_reduction", "sin", "tan"]

LARGE_REDUCTION = "kapi_math.large_reduction"
"""The function that reduces one large number, and what it returns: the rest as a sum of two, and the quadrant."""
_REDUCED = "{ double, double, i64 }"
_LARGEST = 2.0**20
"""Up to here, the number of quadrants times a part of pi/2 of 33 bits is exact."""


@dataclass(frozen=True)
class _Angle:
    """An angle of at most pi/4, and the number of quadrants that were taken away."""

    rest: Value
    low: Value | None
    quadrant: Value


def _reduced(w: Writer, x: Value) -> _Angle:
    wide = x.to("double")
    shifted = w.product_and_sum(wide, w.constant("2/pi", "double"), w.shift("double"))
    k, quadrant = shifted - w.shift("double"), shifted.bits()
    first = w.product_and_sum(k, -w.constant("pi/2 1", "double"), wide)
    if w.is_double:
        high, error = w.two_sum(first, -(k * w.constant("pi/2 2", "double")))
        high, more = w.two_sum(high, -(k * w.constant("pi/2 3", "double")))
        high, low = w.fast_two_sum(high, w.product_and_sum(k, -w.constant("pi/2 4", "double"), error + more))
    else:
        high = low = w.product_and_sum(k, -w.constant("pi/2 rest", "double"), first)
    is_large = abs(wide) > _LARGEST
    high, low, quadrant = w.rarely(is_large, LARGE_REDUCTION, wide, _REDUCED, (high, low, quadrant))
    if w.is_double:
        return _Angle(high, low, quadrant)
    return _Angle(high.to("float"), None, quadrant.cast("trunc", "i32"))


def _sine(w: Writer, angle: _Angle) -> Value:
    r = angle.rest
    z = r * r
    polynomial = w.polynomial("sin", z)
    if angle.low is None:
        return w.product_and_sum(z * r, polynomial, r)
    return r + w.product_and_sum(angle.low, w.product_and_sum(z, -0.5, w.value(1.0)), z * r * polynomial)


def _cosine(w: Writer, angle: _Angle) -> Value:
    r = angle.rest
    z = r * r
    near = w.product_and_sum(z, -0.5, w.value(1.0))
    tail = z * z * w.polynomial("cos", z)
    if angle.low is not None:
        tail = w.product_and_sum(-r, angle.low, tail)
    return near + (w.product_and_sum(z, -0.5, 1.0 - near) + tail)


def _wave(w: Writer, angle: _Angle, quadrant: Value) -> Value:
    """The sine of an angle in a quadrant."""
    y = w.select((quadrant & 1).equals(0), _sine(w, angle), _cosine(w, angle))
    return (y.bits() ^ ((quadrant & 2) << w.integer(62, 30))).as_float()


def sin(w: Writer, x: Value) -> Value:
    """Sine."""
    angle = _reduced(w, x)
    return w.select(x.equals(0.0), x, _wave(w, angle, angle.quadrant))


def cos(w: Writer, x: Value) -> Value:
    """Cosine."""
    angle = _reduced(w, x)
    return _wave(w, angle, angle.quadrant + 1)


def tan(w: Writer, x: Value) -> Value:
    """Tangent."""
    angle = _reduced(w, x)
    sine, cosine = _sine(w, angle), _cosine(w, angle)
    is_even = (angle.quadrant & 1).equals(0)
    y = w.select(is_even, sine, -cosine) / w.select(is_even, cosine, sine)
    return w.select(x.equals(0.0), x, y)


def large_reduction(w: Writer, x: Value) -> Value:
    """Write Payne and Hanek's reduction of a number above 1, of which 2/pi is cut out as 192 bits.

    The product of these and the number's 53 bits is known modulo 4, to 2**-137.
    """
    low32 = (1 << 32) - 1
    bits = x.bits()
    exponent = (bits >> 52) & 0x7FF
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    m0, m1 = m & low32, m >> 32
    start = exponent - (1075 - 62)  # the table begins with 64 zeros
    start = w.select(start > 1033, 1033, start)  # of inf and nan
    word, shift = start >> 5, start & 31
    words = [w.table_entry("kapi_math.two_over_pi", word + number) for number in range(7)]
    limbs = [((((one << 32) | two) << shift) >> 32) for one, two in pairwise(words)][::-1]
    zero = w.value(0, "i64")
    carry, above, product = zero, zero, list[Value]()
    for limb in limbs:
        partial = m0 * limb
        total = (partial & low32) + carry + above
        product.append(total & low32)
        carry, above = total >> 32, (partial >> 32) + m1 * limb
    top = (product[5] << 32) | product[4]
    quadrant = (top + (1 << 61)) >> 62
    top = top - (quadrant << 62)
    high = w.emit(f"ashr i64 {top.ref}, 32", "i64").cast("sitofp", "double") * 2.0**-30
    middle = (top & low32).cast("sitofp", "double") * 2.0**-62
    rest = (((product[3] << 32) | product[2]) >> 11).cast("sitofp", "double") * 2.0**-115
    high, error = w.two_sum(high, middle)
    high, low = w.fast_two_sum(high, error + rest)
    half_pi, more = w.constant("pi/2", "double"), w.constant("pi/2 low", "double")
    angle, error = w.two_product(high, w.value(half_pi))
    angle, low = w.fast_two_sum(angle, error + (high * more + low * half_pi))
    is_negative = x < 0.0
    angle, low = w.select(is_negative, -angle, angle), w.select(is_negative, -low, low)
    quadrant = w.select(is_negative, 0 - quadrant, quadrant)
    angle = w.select(abs(x) < float("inf"), angle, float("nan"))
    return w.structure(_REDUCED, angle, low, quadrant)
