"""The rows of the intrinsic table for the bits of integers and the upper half of products."""

from __future__ import annotations

from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["BIT_ROWS"]

_BITS: tuple[Parameter, ...] = (("x", "bits", None),)

# name, parameters, result, meaning, SPIR-V operation
_ALL: tuple[tuple[str, tuple[Parameter, ...], str, str, str], ...] = (
    ("clz", _BITS, "argument", "number of zeros above the highest bit set; of 0, the number of bits", "OpenCL.std clz"),
    ("ctz", _BITS, "argument", "number of zeros below the lowest bit set; of 0, the number of bits", "OpenCL.std ctz"),
    ("popcount", _BITS, "argument", "number of bits set, of a negative integer in two's complement", "OpBitCount"),
    (
        "rotate",
        (*_BITS, ("n", "integer", None)),
        "argument",
        "bits moved up by n places, those beyond the highest coming in below; down, for a negative n",
        "composed",
    ),
    (
        "mul_hi",
        (("x", "factor", None), ("y", "factor", None)),
        "product",
        "upper half of the product, which has twice as many bits",
        "composed",
    ),
)

BIT_ROWS: tuple[Intrinsic, ...] = tuple(
    Intrinsic(name, "bits", None, "function", parameters, returns, meaning, "4.17.6", spirv)
    for name, parameters, returns, meaning, spirv in _ALL
)
