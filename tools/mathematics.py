"""Write the coefficients and constants of kapi-cpu's mathematics: `python tools/mathematics.py`.

A polynomial is that of Chebyshev's points, which is within a few per cent of the best one; what must be exact, such as
the terms in front of it, is not in it. Needs mpmath.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpmath import mp

TARGET = Path(__file__).parents[1] / "packages/kapi-cpu/src/kapi_cpu/emission/mathematics/coefficients.py"
BITS = {"double": 53, "float": 24}

mp.prec = 320


@dataclass(frozen=True)
class Fit:
    """A function for which polynomials are fitted.

    Attributes
    ----------
    function : callable
        Of mpmath's numbers.
    low, high : str or float
        The interval, as mpmath reads it.
    counts : dict of str to int
        The number of coefficients for results of each type; "short" is float64 in the computation of float32.
    weight : callable, optional
        What an error counts at each number; one everywhere if it is left out.
    """

    function: Callable[[Any], Any]
    low: Any
    high: Any
    counts: dict[str, int]
    weight: Callable[[Any], Any] | None = None


def _series(function: Callable[[Any], Any], value: Any) -> Callable[[Any], Any]:
    """The function, and its value at 0 where it cannot be computed."""
    return lambda z: function(z) if abs(z) > mp.mpf(2) ** -60 else mp.mpf(value)


def _root(function: Callable[[Any], Any], sign: int = 1) -> Callable[[Any], Any]:
    """(f(x) / x - 1) / x**2 as a function of z = x**2, for odd functions with f'(0) = 1."""

    def of(z: Any) -> Any:
        x = mp.sqrt(z)
        return (function(x) / x - 1) / z

    return of


def _scaled_tail(x: Any) -> Any:
    """(1 + 2x) exp(x**2) erfc(x)."""
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def _stirling(x: Any) -> Any:
    """The rest of the logarithm of the gamma function behind Stirling's formula, times x."""
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


FITS = {
    "exp": Fit(_series(lambda r: (mp.expm1(r) - r) / r**2, "0.5"), -0.3475, 0.3475, {"double": 11, "float": 5}),
    "exp2": Fit(
        _series(lambda r: (mp.expm1(r * mp.ln2) - r * mp.ln2) / r**2, mp.ln2**2 / 2),
        -0.5, 0.5, {"double": 11, "float": 6, "short": 6},
    ),
    "log": Fit(
        _series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, mp.mpf(2) / 3),
        0, 0.0295, {"double": 7, "float": 3, "short": 5},
    ),
    "sin": Fit(_series(_root(mp.sin), -mp.mpf(1) / 6), 0, 0.6175, {"double": 6, "float": 3}),
    "cos": Fit(
        _series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24),
        0, 0.6175, {"double": 6, "float": 3},
    ),
    "atan": Fit(_series(_root(mp.atan), -mp.mpf(1) / 3), 0, 0.1717, {"double": 12, "float": 5}),
    "asin": Fit(_series(_root(mp.asin), mp.mpf(1) / 6), 0, 0.25, {"double": 13, "float": 6}),
    "sinh": Fit(_series(_root(mp.sinh), mp.mpf(1) / 6), 0, 1, {"double": 8, "float": 4}),
    "atanh": Fit(
        _series(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, mp.mpf(1) / 5),
        0, 0.0295, {"double": 9},
    ),
    "cbrt": Fit(lambda t: mp.cbrt(1 + t), -0.2929, 0.4143, {"double": 8, "float": 5}),
    "erf": Fit(
        _series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1), 0, 1, {"double": 12, "float": 6}
    ),
    "erfc": Fit(lambda q: _scaled_tail(4 * (1 + q) / (1 - q)), -1, 0.751, {"double": 23, "float": 11}),
    "root of erfc": Fit(
        lambda y: (mp.root(mp.erfc(1 + y), 8) - mp.root(mp.erfc(1), 8)) / y, 0, 5, {"double": 17, "float": 6},
        weight=lambda y: 8 * mp.erfc(1 + y) ** (mp.mpf(7) / 8) * y,
    ),
    "stirling": Fit(_series(lambda z: _stirling(1 / mp.sqrt(z)), mp.mpf(1) / 12), 0, 1 / 64, {"double": 8}),
    "lgamma 1": Fit(_series(lambda t: mp.loggamma(1 + t) / t, -mp.euler), -0.251, 0.251, {"double": 19}),
    "lgamma 2": Fit(_series(lambda t: mp.loggamma(2 + t) / t, 1 - mp.euler), -0.251, 0.251, {"double": 15}),
    "sine of pi": Fit(
        _series(lambda z: (mp.sinpi(mp.sqrt(z)) / (mp.pi * mp.sqrt(z)) - 1) / z, -(mp.pi**2) / 6),
        0, 0.25, {"double": 9},
    ),
}  # fmt: skip


def cut(value: Any, bits: int) -> Any:
    """The number without what is behind so many bits."""
    _, exponent = mp.frexp(value)
    scale = mp.mpf(2) ** (bits - exponent)
    return mp.floor(value * scale) / scale


def rounded(value: Any, type_: str) -> float:
    """The nearest number of a type."""
    with mp.workprec(BITS[type_]):
        return float(+value)


def split(name: str, value: Any, bits: dict[str, int]) -> dict[tuple[str, str], float]:
    """The first bits of a number for each type, and the rest."""
    found = {}
    for type_, count in bits.items():
        high = cut(value, count)
        found[f"{name} high", type_], found[f"{name} low", type_] = float(high), rounded(value - high, type_)
    return found


def constants() -> dict[tuple[str, str], float]:
    """All constants."""
    found: dict[tuple[str, str], float] = {}
    values = {
        "log(2)": mp.ln2, "1/log(2)": 1 / mp.ln2, "log(10)": mp.ln(10), "log2(10)": mp.ln(10) / mp.ln2,
        "2/pi": 2 / mp.pi, "sqrt(1/2)": mp.sqrt(0.5), "root of erfc(1)": mp.root(mp.erfc(1), 8),
    }  # fmt: skip
    for name, value in values.items():
        found |= {(name, type_): rounded(value, type_) for type_ in BITS}
    for name, value in {"pi": mp.pi, "pi/2": mp.pi / 2, "pi/4": mp.pi / 4}.items():
        for type_ in BITS:
            found[name, type_] = rounded(value, type_)
            found[f"{name} low", type_] = rounded(value - found[name, type_], type_)
    found |= split("log(2)", mp.ln2, {"double": 42, "float": 16})
    found |= split("log10(2)", mp.ln2 / mp.ln(10), {"double": 42, "float": 16})
    found |= split("1/log(2)", 1 / mp.ln2, {"double": 32, "float": 12})
    found |= split("1/log(10)", 1 / mp.ln(10), {"double": 32, "float": 12})
    sums = {"1/3": mp.mpf(1) / 3, "2/log(2)": 2 / mp.ln2, "log2(2pi)/2": mp.log(2 * mp.pi, 2) / 2}
    for name, value in sums.items():
        found[name, "double"] = rounded(value, "double")
        found[f"{name} low", "double"] = rounded(value - found[name, "double"], "double")
    for name, value in {"log(2)": mp.ln2, "1/log(2)": 1 / mp.ln2}.items():
        found[f"{name} rest", "double"] = rounded(value - found[name, "double"], "double")
    rest = mp.pi / 2
    for number in (1, 2, 3):
        part = cut(rest, 33)
        found[f"pi/2 {number}", "double"] = float(part)
        rest -= part
        if number == 1:
            found["pi/2 rest", "double"] = rounded(rest, "double")
    found["pi/2 4", "double"] = rounded(rest, "double")
    return found


def two_over_pi() -> list[int]:
    """The bits of 2/pi in words of 32, behind 64 zeros."""
    words = 40
    with mp.workprec(32 * words + 64):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (32 * (words - 2))))
    return [(bits >> (32 * (words - 1 - at))) & 0xFFFFFFFF for at in range(words)]


def coefficients(name: str, type_: str) -> tuple[list[float], float]:
    """The coefficients of a fit, the constant first, and the largest error."""
    fit = FITS[name]
    if fit.weight is not None:
        found, error = _weighted(fit, fit.weight, fit.counts[type_])
    else:
        found, error = mp.chebyfit(
            fit.function, [mp.mpf(fit.low), mp.mpf(fit.high)], fit.counts[type_], error=True, asc=True
        )
    return [rounded(each, "float" if type_ == "float" else "double") for each in found], float(error)


def _weighted(fit: Fit, weight: Callable[[Any], Any], count: int) -> tuple[list[Any], Any]:
    """Lawson's least squares, repeated with more weight where errors are large, and the largest weighted error."""
    size = 4 * count
    middles = [(mp.mpf(1) - mp.cos(mp.pi * (at + mp.mpf("0.5")) / size)) / 2 for at in range(size)]
    points = [fit.low + (fit.high - fit.low) * each * mp.sqrt(each) for each in middles]
    powers = [[x**power for power in range(2 * count - 1)] for x in points]
    values, weights = [fit.function(x) for x in points], [weight(x) for x in points]
    shares = [mp.mpf(1)] * size
    best: tuple[Any, list[Any]] = (mp.inf, [])
    for _ in range(12):
        squares = [share * each * each for share, each in zip(shares, weights, strict=True)]
        sums = [
            mp.fsum(each * row[power] for each, row in zip(squares, powers, strict=True))
            for power in range(2 * count - 1)
        ]
        right = [
            mp.fsum(each * y * row[power] for each, y, row in zip(squares, values, powers, strict=True))
            for power in range(count)
        ]
        left = mp.matrix([[sums[row + column] for column in range(count)] for row in range(count)])
        found = [*mp.lu_solve(left, mp.matrix(right))]
        errors = [
            abs(each * (y - mp.fsum(c * power for c, power in zip(found, row, strict=False))))
            for each, y, row in zip(weights, values, powers, strict=True)
        ]
        best = min(best, (max(errors), found), key=lambda pair: pair[0])
        shares = [share * error for share, error in zip(shares, errors, strict=True)]
        total = mp.fsum(shares)
        shares = [each * size / total for each in shares]
    return best[1], best[0]


def _lines(numbers: Iterable[str]) -> list[str]:
    lines = ["       "]
    for each in numbers:
        if len(lines[-1]) + len(each) > 116:
            lines.append("       ")
        lines[-1] += f" {each},"
    return lines


def text() -> str:
    """The module."""
    lines = [
        '"""Coefficients and constants of the functions, which `tools/mathematics.py` writes."""',
        "",
        "from __future__ import annotations",
        "",
        '__all__ = ["COEFFICIENTS", "CONSTANTS", "TABLES"]',
        "",
        "# fmt: off",
        "COEFFICIENTS: dict[tuple[str, str], tuple[float, ...]] = {",
    ]
    for name, fit in FITS.items():
        for type_ in fit.counts:
            numbers, error = coefficients(name, type_)
            lines += [f'    ("{name}", "{type_}"): (  # to {error:.1e}', *_lines(map(repr, numbers)), "    ),"]
    lines += ["}", "CONSTANTS: dict[tuple[str, str], float] = {"]
    lines += [f'    ("{name}", "{type_}"): {value!r},' for (name, type_), value in constants().items()]
    words = _lines(f"0x{word:08X}" for word in two_over_pi())
    lines += ["}", "TABLES: dict[str, tuple[int, ...]] = {", '    "kapi_math.two_over_pi": (', *words, "    ),", "}"]
    return "\n".join([*lines, "# fmt: on", ""])


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text("utf-8") != text())
    TARGET.write_text(text(), "utf-8")
