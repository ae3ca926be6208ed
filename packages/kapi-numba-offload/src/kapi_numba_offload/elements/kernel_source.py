"""The source of one kernel for the trees of a fused region, for operands of known dtypes and shapes."""

from __future__ import annotations

import functools
import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.expression import Apply, Cast, Const, Leaf, Node, Ref
from kapi_numba_offload.elements.operation_source import Operand, cast, spelled

__all__ = ["MOST_DIMENSIONS", "Indexing", "emit", "index_lines", "make_device_function", "make_kernel", "space_of"]

MOST_DIMENSIONS = 3
"""Dimensions of an index space; the leading axes of an array of more share its first one."""

Indexing = tuple[int, ...] | None
"""The index of an operand: for each of its axes the axis of the result that it follows, -1 where its only element
serves all; None for a number, which is not indexed."""


def emit(
    node: Node, leaves: Sequence[Operand], statements: Sequence[Operand], dtypes: Mapping[Node, np.dtype[Any] | None]
) -> Operand:
    """The source of one element of `node`.

    - `leaves`: how the leaves are spelled.
    - `statements`: how the values of earlier statements are spelled.
    - `dtypes`: the dtype of each node, None for Python's own numbers.

    Raises `TypeError` if an operation cannot be spelled for these dtypes.
    """
    if isinstance(node, Leaf):
        return leaves[node.index]
    if isinstance(node, Ref):
        return statements[node.statement]
    if isinstance(node, Const):
        text = f"({node.value!r})" if math.isfinite(node.value) else f"({math.copysign(1, node.value)} * math.inf)"
        return Operand("math.nan" if node.value != node.value else text, None, node.value)
    dtype = dtypes[node]
    if isinstance(node, Cast):
        assert dtype is not None
        return Operand(cast(emit(node.operand, leaves, statements, dtypes), dtype), dtype)
    assert isinstance(node, Apply)
    operands = [emit(each, leaves, statements, dtypes) for each in node.operands]
    if dtype is None:
        raise TypeError(f"operation {node.name} of the kernel must have an array or NumPy number among its operands")
    return Operand(spelled(node.name, operands, dtype), dtype)


def space_of(shape: tuple[int, ...]) -> kapi_runtime.Range:
    """The index space of an array's elements."""
    if len(shape) <= MOST_DIMENSIONS:
        return kapi_runtime.Range(*(shape or (1,)))
    lead = len(shape) - MOST_DIMENSIONS + 1
    return kapi_runtime.Range(math.prod(shape[:lead]), *shape[lead:])


def index_lines(ndim: int, extents: Sequence[str]) -> list[str]:
    """The lines of a kernel over `space_of` that give `i0`, `i1`, ...: the index of its element along each axis.

    - `ndim`: axes of the array.
    - `extents`: how the lengths of its axes are spelled; needed for more than three axes.
    """
    if ndim <= MOST_DIMENSIONS:
        return [f"i{axis} = item.get_id({axis})" for axis in range(ndim)]
    lead = ndim - MOST_DIMENSIONS + 1
    lines = ["rest = item.get_id(0)"]
    for axis in reversed(range(1, lead)):
        lines += [f"i{axis} = rest % {extents[axis]}", f"rest = rest // {extents[axis]}"]
    lines.append("i0 = rest")
    return lines + [f"i{axis} = item.get_id({axis - lead + 1})" for axis in range(lead, ndim)]


def spell_index(indexing: tuple[int, ...]) -> str:
    """The index of an operand's element, in brackets."""
    return "[" + (", ".join("0" if axis < 0 else f"i{axis}" for axis in indexing) or "()") + "]"


@functools.lru_cache(maxsize=1024)
def make_kernel(
    name: str,
    parameters: tuple[str, ...],
    lines: tuple[str, ...],
    location: str,
    *,
    fastmath: bool | frozenset[str] = False,
) -> kapi_runtime.Kernel:
    """A kernel from the lines of its body; the same one for the same lines, whatever shapes they are for.

    - `name`: what it is called in messages, profiles and SPIR-V.
    - `parameters`: those after the work-item.
    - `lines`: its statements.
    - `location`: what it was made from, ``file:line``.
    - `fastmath`: whether it may be optimised as if arithmetic were exact, or flags for how far.
    """
    function = _function(name, ("item", *parameters), lines, location)
    return kapi_runtime.kernel(fastmath=fastmath)(function) if fastmath else kapi_runtime.kernel(function)


@functools.lru_cache(maxsize=1024)
def make_device_function(name: str, parameters: tuple[str, ...], lines: tuple[str, ...], location: str) -> Any:
    """A device function, made as `make_kernel` makes kernels."""
    return kapi_runtime.device_func(_function(name, parameters, lines, location))


def _function(name: str, parameters: Sequence[str], lines: Sequence[str], location: str) -> Callable[..., Any]:
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def {name}({', '.join(parameters)}):\n{body}"
    filename = f"<kapi kernel of {location}: {hash(source) & 0xFFFFFFFF:08x}>"
    # With its lines known to `linecache`, messages of the compiler show them.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"np": np, "math": math, "kapi_runtime": kapi_runtime}
    exec(compile(source, filename, "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function
