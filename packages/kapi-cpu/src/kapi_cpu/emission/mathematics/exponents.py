"""Numbers taken apart: exponents, and the next number."""

from __future__ import annotations

from .exponential import scaled
from .logarithm import mantissa_and_exponent
from .writer import Value, Writer

__all__ = ["ilogb", "ldexp", "nextafter", "nextafter_half"]

_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


def ldexp(w: Writer, x: Value, i: Value) -> Value:
    """A number times 2 to an integer, rounded once."""
    limit = w.integer(4200, 600)
    i = w.select(i > limit, w.value(limit, "i32"), i)
    i = w.select(i < -limit, w.value(-limit, "i32"), i)
    a = abs(x)
    m, k = mantissa_and_exponent(w, a)
    k = k + i.cast("sitofp", w.type)
    most = w.pick(2000.0, 250.0)
    k = w.select(k > most, most, k)
    k = w.select(k < -most, -most, k)
    y = scaled(w, m, k).with_sign_of(x)
    return w.select((a > 0.0) & (a < float("inf")), y, x)


def ilogb(w: Writer, x: Value) -> Value:
    """The exponent of a number, as an i32."""
    a = abs(x)
    m, k = mantissa_and_exponent(w, a)
    is_usual = (a > 0.0) & (a < float("inf"))
    exponent = w.select(is_usual, w.select(m < 1.0, k - 1.0, k), 0.0).cast("fptosi", "i32")
    extreme = w.select(a.equals(float("inf")), w.value(_MOST, "i32"), w.value(_LEAST, "i32"))
    return w.select(is_usual, exponent, extreme)


def nextafter(w: Writer, x: Value, y: Value) -> Value:
    """The number next to x in the direction of y."""
    return _next(w, x.bits(), y.bits(), w.integer(64, 32), w.integer(52, 23)).as_float()


def nextafter_half(w: Writer, x: Value, y: Value) -> Value:
    """The same of a float16, by their bits."""
    return _next(w, x, y, 16, 10)


def _next(w: Writer, x: Value, y: Value, width: int, mantissa: int) -> Value:
    sign, least = -(1 << (width - 1)), (1 << (width - 1)) - 1
    infinity = (least >> mantissa) << mantissa
    one, other = x & least, y & least
    is_negative = x < 0
    # The bits count the numbers of one sign.
    at, end = w.select(is_negative, 0 - one, one), w.select(y < 0, 0 - other, other)
    moved = w.select(at < end, at + 1, at - 1)
    bits = w.select((moved < 0) | (moved.equals(0) & is_negative), (0 - moved) | sign, moved)
    bits = w.select(at.equals(end), y, bits)
    is_nan = (one > infinity) | (other > infinity)
    return w.select(is_nan, w.value(infinity | (1 << (mantissa - 1)), x.type), bits)
