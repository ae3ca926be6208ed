"""CUDA's vectors of one to four numbers: ``cuda.float32x4``, also called ``cuda.float4``, and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.numba_cuda.values.dtypes import conversion_of

__all__ = ["VECTOR_TYPES", "Vector", "vector_types"]

_NAMES = {
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "longlong",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulonglong",
    "float32": "float",
    "float64": "double",
}
_LONG = {"int64": "long", "uint64": "ulong"}


class Vector:
    """Up to four numbers of one type, named ``x``, ``y``, ``z`` and ``w``; subclasses say how many, and which type.

    Parameters
    ----------
    *parts
        Numbers and other vectors, with as many numbers in all as the vector has; or one vector of the same length.
    """

    __slots__ = ("w", "x", "y", "z")

    kind: type[Any] = np.float32
    count = 4
    aliases: tuple[str, ...] = ()

    def __init__(self, *parts: Any) -> None:
        convert = conversion_of(self.kind) or self.kind
        given: list[Any] = []
        for part in parts:
            given += list(part) if isinstance(part, Vector) else [part]
        if len(given) != self.count:
            raise KernelLaunchError(
                f"{type(self).__name__} must be made of {self.count} numbers, got {len(given)}", code="call-arguments"
            )
        for name, value in zip("xyzw", given, strict=False):
            setattr(self, name, convert(value))

    def __iter__(self) -> Any:
        return iter([getattr(self, name) for name in "xyzw"[: self.count]])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self))})"


def _made(kind: str, count: int) -> type[Vector]:
    aliases = tuple(f"{names[kind]}{count}" for names in (_NAMES, _LONG) if kind in names)
    body = {"__slots__": (), "kind": np.dtype(kind).type, "count": count, "aliases": aliases}
    return type(f"{kind}x{count}", (Vector,), {**body, "__doc__": f"A vector of {count} {kind}."})


vector_types: dict[str, type[Vector]] = {
    f"{kind}x{count}": _made(kind, count) for kind in _NAMES for count in range(1, 5)
}
VECTOR_TYPES: dict[str, type[Vector]] = dict(vector_types)
"""By each of their names."""
for _vector in vector_types.values():
    VECTOR_TYPES.update(dict.fromkeys(_vector.aliases, _vector))
