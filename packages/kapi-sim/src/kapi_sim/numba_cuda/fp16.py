"""``cuda.fp16``: functions of float16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.items.convergence import DialectIntrinsic

_half = np.float16


class HalfFunction(DialectIntrinsic):
    """A function of float16 numbers that is computed in float64 and rounded once.

    Parameters
    ----------
    name : str
        As programs call it.
    function : callable
        What it computes.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(f"fp16.{name}")
        self._function = function

    def __call__(self, *args: Any) -> Any:
        """Return what the function gives, as a float16 or a bool."""
        result = self._function(*(np.float64(_half(each)) for each in args))
        return bool(result) if isinstance(result, np.bool_) else _half(result)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "hadd": lambda a, b: a + b,
    "hsub": lambda a, b: a - b,
    "hmul": lambda a, b: a * b,
    "hdiv": lambda a, b: a / b,
    "hfma": lambda a, b, c: a * b + c,
    "hneg": lambda a: -a,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "htanh": np.tanh,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda a: np.power(10.0, a),
    "hsqrt": np.sqrt,
    "hrsqrt": lambda a: 1.0 / np.sqrt(a),
    "hrcp": lambda a: 1.0 / a,
    "hfloor": np.floor,
    "hceil": np.ceil,
    "hrint": np.rint,
    "htrunc": np.trunc,
    "heq": lambda a, b: a == b,
    "hne": lambda a, b: a != b,
    "hge": lambda a, b: a >= b,
    "hgt": lambda a, b: a > b,
    "hle": lambda a, b: a <= b,
    "hlt": lambda a, b: a < b,
    "hmax": np.fmax,
    "hmin": np.fmin,
}

__all__ = list(_FUNCTIONS)

globals().update({name: HalfFunction(name, function) for name, function in _FUNCTIONS.items()})
