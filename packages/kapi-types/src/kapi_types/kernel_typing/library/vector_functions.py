# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""The geometry of vectors, written in the kernel language over their operators."""

from __future__ import annotations

import math

from kapi_sim import Vec

__all__ = ["cross", "distance", "dot", "length", "normalize"]


def dot(v, w):
    """The sum of the products, from the first on."""
    products = tuple(v * w)
    return sum(products[1:], products[0])


def cross(v, w):
    """The vector at right angles to both."""
    a, b, c = v
    d, e, f = w
    return Vec(b * f - c * e, c * d - a * f, a * e - b * d)


def length(v):
    """The root of the sum of the squares."""
    return math.sqrt(dot(v, v))


def distance(v, w):
    """The length of the difference."""
    return length(v - w)


def normalize(v):
    """The vector of length 1."""
    return v / length(v)
