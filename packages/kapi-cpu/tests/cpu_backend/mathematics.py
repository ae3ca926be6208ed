"""Functions of mathematics compiled for the processor, and how far their results are from mpmath's and NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp
from scipy import special

from cpu_backend import run
from kapi_cpu import CpuTarget, compile_kernel
from kapi_cpu.loading import load
from kapi_sim.language.table.math_functions import MATH_FUNCTIONS
from kapi_types import ArrayType, ItemType, typeof_argument

__all__ = [
    "BINARY",
    "BOUNDS",
    "EXACT",
    "NUMPY",
    "UNARY",
    "edges",
    "exact_errors",
    "points",
    "single_errors",
    "vectorized",
]

Array = np.ndarray[Any, Any]

BOUNDS = {name: bound for name, *_, bound in MATH_FUNCTIONS} | {"lgamma": 4.0}
"""In units of the last place; of `lgamma` below 0, where it has zeros between the integers, of numbers from 1 on."""

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mp.exp, "expm1": mp.expm1, "exp2": lambda x: mp.mpf(2) ** x, "log": mp.log, "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "atan2": mp.atan2, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
    "pow": mp.power, "hypot": mp.hypot, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "erf": mp.erf, "erfc": mp.erfc,
    "gamma": mp.gamma, "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
}  # fmt: skip
"""The functions on mpmath's numbers."""


def _log_gamma(x: Array) -> Array:
    """SciPy's, which has -inf at -inf and inf from 1e-300 down."""
    x = np.where(x == -np.inf, np.inf, x)
    return np.where(np.abs(x) < 1e-100, -np.log(np.abs(x)), special.gammaln(x))


NUMPY: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power,
    "erf": special.erf, "erfc": special.erfc, "gamma": special.gamma, "lgamma": _log_gamma,
    **{name: getattr(np, name) for name in EXACT if hasattr(np, name)},
}  # fmt: skip
"""The functions on NumPy's arrays, by NumPy or SciPy."""

_UNSIGNED = ("gamma",)
"""Functions whose zeros, which are numbers too small, SciPy gives either sign."""

_POLES = ("log", "log2", "log10", "log1p", "atanh", "gamma", "lgamma")

BINARY = ["atan2", "pow", "hypot"]
UNARY = [name for name in EXACT if name not in BINARY]


def vectorized(name: str, dtype: str, target: CpuTarget | None = None) -> Callable[..., Array]:
    """Compile a function of the table, as one of arrays."""
    function = getattr(math, name)

    def of_one(item, x, result):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        result[i] = function(x[i])

    def of_two(item, x, y, result):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        result[i] = function(x[i], y[i])

    array = ArrayType(typeof_argument(np.dtype(dtype).type(0)), 1, "C")
    is_unary = name in UNARY
    types = [ItemType(1), *[array] * (2 if is_unary else 3)]
    loaded = load(compile_kernel(of_one if is_unary else of_two, types, target=target))

    def on_arrays(*given: Array) -> Array:
        result = np.empty_like(given[0])
        run(loaded, result.shape, (min(1024, result.size),), (*given, result))
        return result

    return on_arrays


def edges(dtype: str) -> Array:
    """The numbers at which functions are special."""
    info = np.finfo(dtype)
    one = np.array(
        [0.0, np.inf, np.nan, info.smallest_subnormal, info.smallest_normal, info.max, 0.5, 1, 2, 3, 1 + info.eps]
    )
    return np.concatenate([one, -one]).astype(dtype)


def points(dtype: str, seed: int, per_binade: int = 1) -> Array:
    """Random numbers of all binades and both signs, more of them where functions change."""
    random = np.random.default_rng(seed)
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp).repeat(per_binade)
    spread = np.ldexp(random.uniform(1, 2, exponents.size), exponents)
    parts = [spread, -spread, np.arange(-40, 41) / 8, np.arange(-40, 41) / 8 * np.pi]
    parts += [random.uniform(-limit, limit, 200 * per_binade) for limit in (1, 10, 100, 1000)]
    parts += [1 + random.uniform(-1, 1, 100 * per_binade) * 1e-3]
    with np.errstate(over="ignore"):
        return np.concatenate(parts).astype(dtype)


def exact_errors(name: str, given: Sequence[Array], got: Array) -> Array:
    """The distance of each result from mpmath's in units of the last place; inf for one of another kind."""
    info = np.finfo(got.dtype)
    with mp.workprec(120), np.errstate(all="ignore"):
        kinds = NUMPY[name](*(each.astype(np.float64) for each in given))
        found = []
        for *numbers, kind, result in zip(
            *(each.tolist() for each in given), kinds.tolist(), got.tolist(), strict=True
        ):
            is_usual = all(number and math.isfinite(number) for number in numbers)  # mpmath has no -0
            if _is_same(kind, result) and not (is_usual and kind and math.isfinite(kind)):
                found.append(0.0)
            elif kind == result == 0:
                found.append(0.0 if name in _UNSIGNED else math.inf)
            elif math.isnan(kind) or math.isnan(result) or (math.isinf(kind) and name in _POLES):
                found.append(math.inf)
            else:
                exact = EXACT[name](*map(mp.mpf, numbers)) if is_usual else mp.mpf(kind)
                least = 0 if name == "lgamma" and numbers[0] < 0 else info.minexp
                found.append(_distance(exact, result, info, least))
    return np.array(found)


def _is_same(one: float, other: float) -> bool:
    """Whether two numbers are the same, with the sign of zeros."""
    return (math.isnan(one) and math.isnan(other)) or (
        one == other and math.copysign(1, one) == math.copysign(1, other)
    )


def _distance(exact: Any, result: float, info: Any, least: int) -> float:
    """Units of the last place between two numbers, where inf stands for the first that is too large."""
    limit = mp.mpf(2) ** info.maxexp
    exact, held = (max(-limit, min(limit, each)) for each in (exact, mp.mpf(result)))
    exponent = min(max(mp.frexp(exact)[1] - 1, least), info.maxexp - 1) if exact else least
    return float(abs(held - exact) / mp.mpf(2) ** (exponent - info.nmant))


def single_errors(name: str, given: Sequence[Array], got: Array) -> Array:
    """The distance of each float32 from NumPy's float64 in units of the last place; inf for one of another kind."""
    limit = 2.0**128
    with np.errstate(all="ignore"):
        exact = NUMPY[name](*(each.astype(np.float64) for each in given))
        held = got.astype(np.float64)
        # The exponent of a float64 is in its upper bits; a float32 has 23 more, or those from 2**-149 on.
        least = np.where(given[0] < 0, 1023 << 52, 897 << 52) if name == "lgamma" else 897 << 52
        unit = (np.maximum(exact.view(np.int64) & (0x7FF << 52), least) - (23 << 52)).view(np.float64)
        distance = np.abs(np.clip(held, -limit, limit) - np.clip(exact, -limit, limit)) / unit
    distance[exact == held] = 0  # inf as well
    is_wrong_zero = (exact == 0) & (held == 0) & (np.signbit(exact) != np.signbit(got))
    distance[(np.isnan(exact) != np.isnan(got)) | (is_wrong_zero & (name not in _UNSIGNED))] = np.inf
    distance[np.isnan(exact) & np.isnan(got)] = 0
    return distance
