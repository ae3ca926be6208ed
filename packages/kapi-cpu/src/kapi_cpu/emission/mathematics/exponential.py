"""Exponential functions: the nearest power of two, and a polynomial of the rest."""

from __future__ import annotations

from .writer import Value, Writer

__all__ = ["exp", "exp2", "exp10", "exponential", "expm1", "nearest_integer", "scaled"]


def nearest_integer(w: Writer, x: Value) -> Value:
    """The integer next to a number of some twenty bits."""
    magic = w.shift(x.type)
    return (x + magic) - magic


def scaled(w: Writer, y: Value, k: Value) -> Value:
    """A number times 2**k, rounded once, for an integer k of up to twice the range of exponents."""
    if w.abilities.has_scale:
        return w.scale(y, k)
    half = nearest_integer(w, k * 0.5)
    return y * w.power_of_two(half) * w.power_of_two(k - half)


def _clamped(w: Writer, x: Value, low: float, high: float) -> Value:
    x = w.select(x > high, high, x)
    return w.select(x < low, low, x)


def _reduced(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """Cody and Waite's k, r and c with x = k * log(2) + r + c, where |r| is at most log(2) / 2."""
    k = nearest_integer(w, x * w.constant("1/log(2)"))
    high = w.product_and_sum(k, -w.constant("log(2) high"), x)
    low = -w.constant("log(2) low")
    r = w.product_and_sum(k, low, high)
    return k, r, w.product_and_sum(k, low, high - r)


def exponential(w: Writer, x: Value, low: Value | None = None, factor: Value | None = None) -> Value:
    """exp(x + low) * factor, rounded once if it is subnormal."""
    k, r, c = _reduced(w, _clamped(w, x, w.pick(-760.0, -115.0), w.pick(720.0, 95.0)))
    if low is not None:
        r, c = w.fast_two_sum(r, c + low)
    y = (r + w.product_and_sum(r * r, w.polynomial("exp", r), c)) + 1.0
    return scaled(w, y if factor is None else y * factor, k)


def exp(w: Writer, x: Value) -> Value:
    """Natural exponential."""
    x = _clamped(w, x, w.pick(-760.0, -115.0), w.pick(720.0, 95.0))
    k = nearest_integer(w, x * w.constant("1/log(2)"))
    r = w.product_and_sum(k, -w.constant("log(2) low"), w.product_and_sum(k, -w.constant("log(2) high"), x))
    return scaled(w, w.product_and_sum(r * r, w.polynomial("exp", r), r) + 1.0, k)


def expm1(w: Writer, x: Value) -> Value:
    """exp(x) - 1."""
    k, r, c = _reduced(w, _clamped(w, x, w.pick(-40.0, -20.0), w.pick(720.0, 95.0)))
    e = r + w.product_and_sum(r * r, w.polynomial("exp", r), c)
    y = e + (1.0 - w.power_of_two(w.select(k > w.pick(60.0, 30.0), -w.pick(60.0, 30.0), -k)))
    return scaled(w, y, k).with_sign_of(x)


def exp2(w: Writer, x: Value) -> Value:
    """2 to the power x."""
    x = _clamped(w, x, w.pick(-1080.0, -155.0), w.pick(1030.0, 130.0))
    k = nearest_integer(w, x)
    r = x - k
    return scaled(w, w.product_and_sum(r, w.constant("log(2)"), r * r * w.polynomial("exp2", r)) + 1.0, k)


def exp10(w: Writer, x: Value) -> Value:
    """10 to the power x."""
    x = _clamped(w, x, w.pick(-330.0, -50.0), w.pick(310.0, 40.0))
    k = nearest_integer(w, x * w.constant("log2(10)"))
    t = w.product_and_sum(k, -w.constant("log10(2) low"), w.product_and_sum(k, -w.constant("log10(2) high"), x))
    r = t * w.constant("log(10)")
    return scaled(w, w.product_and_sum(r * r, w.polynomial("exp", r), r) + 1.0, k)
