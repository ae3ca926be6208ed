"""The rows of the intrinsic table for small vectors."""

from __future__ import annotations

from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["VECTOR_LENGTHS", "VECTOR_ROWS"]

VECTOR_LENGTHS = (2, 3, 4, 8, 16)
"""The numbers of elements that vectors may have: SYCL's."""

_ONE: tuple[Parameter, ...] = (("v", "vector", None),)
_TWO: tuple[Parameter, ...] = (("v", "vector", None), ("w", "vector", None))
_ELEMENT: tuple[Parameter, ...] = (("array", "array of vectors", None), ("index", "index of a vector", None))

# name, parameters, result, meaning
_GEOMETRY: tuple[tuple[str, tuple[Parameter, ...], str, str], ...] = (
    ("dot", _TWO, "vector's", "sum of the products of the elements, from the first on"),
    ("cross", _TWO, "vector's", "vector at right angles to two vectors of three elements"),
    ("length", _ONE, "vector's", "square root of the sum of the squares of the elements"),
    ("distance", _TWO, "vector's", "length of the difference"),
    ("normalize", _ONE, "vector's", "the vector divided by its length"),
)

VECTOR_ROWS: tuple[Intrinsic, ...] = (
    Intrinsic(
        "Vec",
        "vector",
        None,
        "function",
        (("elements", "elements", None),),
        "vector",
        "a vector of 2, 3, 4, 8 or 16 numbers of one type",
        "4.14.2",
        "composed",
    ),
    Intrinsic(
        "load",
        "vector",
        "Vec",
        "function",
        (*_ELEMENT, ("n", "vector length", None)),
        "vector",
        "the vector of the first n elements along the last axis",
        "4.14.2",
        "composed",
    ),
    Intrinsic(
        "store",
        "vector",
        "Vec",
        "method",
        _ELEMENT,
        "none",
        "write the elements along the last axis",
        "4.14.2",
        "composed",
    ),
    *(
        Intrinsic(name, "vector", None, "function", parameters, returns, meaning, "4.17.8", "composed")
        for name, parameters, returns, meaning in _GEOMETRY
    ),
)
