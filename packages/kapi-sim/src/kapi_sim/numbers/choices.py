"""`numpy.where` and `numpy.clip` of numbers, as kernels have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.numbers.arithmetic import checked_ring
from kapi_sim.numbers.builtin_functions import shared_type
from kapi_sim.numbers.fitting import check_wide_literals_fit

__all__ = ["ARRAY_FUNCTIONS"]


def _where(condition: Any, x: Any, y: Any) -> Any:
    kinds = type(x), type(y)
    if kinds[0] is not kinds[1] and all(issubclass(kind, (int, float, np.generic)) for kind in kinds):
        x, y = map(shared_type(kinds), (x, y))
    for each in (x, y):
        checked_ring(each)  # of two Python ints NumPy makes whatever holds both
    # Of NumPy's own, which is an array without axes, the element.
    return np.where(condition, x, y)[()]


_BOUNDED: np.ufunc = vars(np._core.umath)["clip"]  # type: ignore[attr-defined]  # what np.clip calls, and has no public name


def _clip(x: Any, low: Any, high: Any) -> Any:
    """Clip as NumPy clips integers; where the result is none, Python's ints are bounds whatever their size."""
    if isinstance(x, (int, np.bool_)) and any(type(bound) is int and bound >= 2**63 for bound in (low, high)):
        check_wide_literals_fit(x)
    x = np.asarray(x)[()]
    dtype = np.result_type(x, low, high)
    if dtype.kind not in "biu":
        return _BOUNDED(x, low, high)
    # A bound beyond the type's own bounds nothing; NumPy 2.0 refuses it, and later ones use the narrower type of x.
    if dtype.kind != "b":
        limits = np.iinfo(dtype)
        x = x.astype(dtype)
        low = max(low, int(limits.min)) if type(low) is int else low
        high = min(high, int(limits.max)) if type(high) is int else high
    return np.clip(x, low, high)


ARRAY_FUNCTIONS: dict[Any, Callable[..., Any]] = {np.where: _where, np.clip: _clip}
"""The functions of numbers in place of NumPy's functions of arrays."""
