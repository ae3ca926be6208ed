# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of complex numbers: absolute values that overflow, and numbers made of float16."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.case import Case, kernel

__all__ = ["CASES"]


@kernel
def _size(item: kapi.Item, z, strong, weak):
    i = item.get_id(0)
    strong[i] = abs(z[i])
    weak[i] = abs(complex(z[i]))


def _size_case(dtype: str) -> Case:
    """Near the largest number: the squares of the parts overflow, and the absolute value need not."""
    part = np.dtype(f"f{np.dtype(dtype).itemsize // 2}")
    most = float(np.finfo(part).max)

    def inputs() -> list[Any]:
        parts = [(most, most), (-most, most / 2), (0.7 * most, 0.7 * most), (0.9 * most, 0), (0.6 * most, -0.79 * most)]
        parts += [(math.inf, math.nan), (math.nan, -math.inf), (math.nan, 1)]
        return [np.array([complex(*each) for each in parts], dtype), np.zeros(len(parts), part), np.zeros(len(parts))]

    def expected(given: list[Any]) -> dict[int, Any]:
        sizes = np.array([math.hypot(float(z.real), float(z.imag)) for z in given[0]])
        with np.errstate(over="ignore"):
            return {1: sizes.astype(part), 2: sizes}

    return Case(f"numbers/size-{dtype}", _size, ((8,),), inputs, expected, {1: 1, 2: 1}, np.float64)


@kernel
def _polar(item: kapi.Item, r, phi, out):
    i = item.get_id(0)
    first, second = cmath.rect(r[i], phi[i]), cmath.rect(phi[i], r[i])
    out[0, i] = first.real
    out[1, i] = first.imag
    out[2, i] = second.real
    out[3, i] = second.imag


def _polar_case() -> Case:
    """Two in one kernel."""

    def inputs() -> list[Any]:
        return [np.array([1, 2.5, -0.5], np.float16), np.array([0.5, -1, 3], np.float16), np.zeros((4, 3), np.float32)]

    def expected(given: list[Any]) -> dict[int, Any]:
        r, phi = (each.astype(np.float64) for each in given[:2])
        return {2: np.array([r * np.cos(phi), r * np.sin(phi), phi * np.cos(r), phi * np.sin(r)])}

    return Case("numbers/rect-float16", _polar, ((3,),), inputs, expected, {2: 8}, np.float32)


CASES: tuple[Case, ...] = (_size_case("complex64"), _size_case("complex128"), _polar_case())
