"""Functions of mathematics compiled for the processor, and how far their results are from mpmath's and NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

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

BOUNDS = {name: bound for name, *_, bound in MATH_FUNCTIONS}

EXACT: dict[str, Callable[..., Any]] = {
    "exp": mp.exp, "expm1": mp.expm1, "exp2": lambda x: mp.mpf(2) ** x, "log": mp.log, "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan,
    "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "atan2": mp.atan2, "sinh": mp.sinh, "cosh": mp.cosh,
    "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
}  # fmt: skip
"""The functions on mpmath's numbers."""

NUMPY: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh,
    **{name: getattr(np, name) for name in EXACT if hasattr(np, name)},
}  # fmt: skip
"""The functions on NumPy's arrays."""

_POLES = ("log", "log2", "log10", "log1p", "atanh", "gamma", "lgamma")

BINARY = [name for name in EXACT if name in ("atan2", "pow", "hypot")]
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
    count = 2 if name in BINARY else 1
    types = [ItemType(1), *[array] * (count + 1)]
    loaded = load(compile_kernel(of_two if count == 2 else of_one, types, target=target))

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
        special = NUMPY[name](*(each.astype(np.float64) for each in given))
        found = []
        for *numbers, kind, result in zip(
            *(each.tolist() for each in given), special.tolist(), got.tolist(), strict=True
        ):
            is_usual = all(number and math.isfinite(number) for number in numbers)  # mpmath has no -0
            if _is_same(kind, result) and not (is_usual and kind and math.isfinite(kind)):
                found.append(0.0)
            elif math.isnan(kind) or math.isnan(result) or (math.isinf(kind) and name in _POLES):
                found.append(math.inf)
            else:
                exact = EXACT[name](*map(mp.mpf, numbers)) if is_usual else mp.mpf(kind)
                found.append(_distance(exact, result, info))
    return np.array(found)


def _is_same(one: float, other: float) -> bool:
    """Whether two numbers are the same, with the sign of zeros."""
    return (math.isnan(one) and math.isnan(other)) or (
        one == other and math.copysign(1, one) == math.copysign(1, other)
    )


def _distance(exact: Any, result: float, info: Any) -> float:
    """Units of the last place between two numbers, where inf stands for the first that is too large."""
    limit = mp.mpf(2) ** info.maxexp
    exact, held = (max(-limit, min(limit, each)) for each in (exact, mp.mpf(result)))
    exponent = min(max(mp.frexp(exact)[1] - 1, info.minexp), info.maxexp - 1) if exact else info.minexp
    return float(abs(held - exact) / mp.mpf(2) ** (exponent - info.nmant))


def single_errors(name: str, given: Sequence[Array], got: Array) -> Array:
    """The distance of each float32 from NumPy's float64 in units of the last place; inf for one of another kind."""
    with np.errstate(all="ignore"):
        exact = NUMPY[name](*(each.astype(np.float64) for each in given))
        limit = 2.0**128
        unit = np.spacing(np.minimum(np.abs(exact), np.finfo("f4").max).astype(np.float32)).astype(np.float64)
        distance = np.abs(np.clip(got.astype(np.float64), -limit, limit) - np.clip(exact, -limit, limit)) / unit
        distance[np.isnan(exact) & np.isnan(got)] = 0
        distance[(exact == 0) & (np.signbit(exact) != np.signbit(got))] = np.inf
        distance[np.isnan(distance)] = np.inf
    return distance
