"""Specialization of a fused region: its kernel for operands of given types, shapes and aliases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.kernel_source import Indexing, space_of
from kapi_numba_offload.elements.operands import Unfused, indexing_of, statement_shapes
from kapi_numba_offload.elements.sinks import Elements, extents_of, stored
from kapi_numba_offload.elements.statements import Statement
from kapi_numba_offload.libraries.arrays import allocate, flat_view, is_device_array, kind_of, library
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.regions.type_inference import InferredTypes, TypeInference
from kapi_sim.errors import KapiError

__all__ = ["PreparedLaunch", "Specializer", "is_stored"]

_REMEMBERED = 256  # kernels of one region


@dataclass(frozen=True, slots=True)
class _Output:
    """An array that a launch makes, or (with `leaf`) one that it was given."""

    leaf: int | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    kind: str | None
    make: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A compiled launch of the region, for operands of these types and shapes."""

    kernel: kapi_runtime.Kernel
    space: kapi_runtime.Range
    outputs: tuple[_Output, ...]
    flat: frozenset[int]
    scalars: tuple[int, ...]


def _made_output(shape: tuple[int, ...], dtype: np.dtype[Any], kind: str, queue: Any) -> _Output:
    return _Output(None, shape, dtype, kind, library_of_queue(queue).allocator(shape, dtype, kind))


def _made(output: _Output, shape: tuple[int, ...], leaves: Sequence[Any], queue: Any) -> Any:
    if output.dtype is None or output.kind is None:
        return leaves[output.leaf or 0]
    return allocate(shape, output.dtype, output.kind, queue)


class Specializer:
    """The kernels of a region's statements, one for each combination of dtypes, indexings and aliases.

    Parameters
    ----------
    statements : sequence of Statement
        In their order.
    types : TypeInference
        The types of their results.
    fastmath : bool or frozenset of str
        Whether kernels may be optimised as if arithmetic were exact, or flags for how far.
    """

    def __init__(self, statements: Sequence[Statement], types: TypeInference, fastmath: bool | frozenset[str]) -> None:
        self._statements = statements
        self._types = types
        self._fastmath = fastmath
        self._stores = tuple(each.target for each in statements if each.target is not None)
        self._kernels: dict[tuple[Any, ...], kapi_runtime.Kernel] = {}
        self._tried: set[tuple[Any, ...]] = set()

    def __call__(self, leaves: Sequence[Any], queue: Any, aliases: dict[int, int]) -> PreparedLaunch:
        """Compile the statements for operands of these types, shapes and aliases.

        Raises
        ------
        Unfused
            If they are not one kernel.
        """
        shapes = statement_shapes(self._statements, leaves)
        answer = self._types.of(leaves, queue)
        results = answer.results
        full = [shapes[position] for position, each in enumerate(self._statements) if is_stored(each)]
        if len(set(full)) != 1 or not all(isinstance(each, ArrayType) for each in results):
            raise Unfused("its results have different shapes", shapes)
        shape = full[0]
        outputs = tuple(
            _Output(statement.target, shape, None, None)
            if statement.target is not None
            else _made_output(shape, result.dtype, result.kind, queue)
            for statement, result in zip(self._statements, results, strict=True)
            if is_stored(statement)
        )
        arrays = [leaf for leaf in leaves if is_device_array(leaf)]
        if not all(library(leaves[target]).is_writable(leaves[target]) for target in self._stores):
            raise Unfused("an array that it stores to is read-only")
        targets = [leaves[target] for target in self._stores]
        if any(0 in library(each).fields(each).strides and each.size > 1 for each in targets):
            raise Unfused("an array that it stores to has one element in several places")
        dense = all(each.ndim == 0 or (each.shape == shape and each.flags.c_contiguous) for each in arrays)
        if dense and len(shape) > 1:
            flat = frozenset(position for position, leaf in enumerate(leaves) if is_device_array(leaf) and leaf.ndim)
            grid: tuple[int, ...] = (prod(shape),)
        else:
            flat, grid = frozenset(), shape
        indexings: list[Indexing] = [
            None if not is_device_array(leaf) else (0,) if position in flat else indexing_of(leaf.shape, shape)
            for position, leaf in enumerate(leaves)
        ]
        kernel = self._kernel(leaves, indexings, answer, len(grid), aliases)
        ready = PreparedLaunch(kernel, space_of(grid), outputs, flat, extents_of(grid))
        self._try(ready, leaves, shape, queue)
        return ready

    def _kernel(
        self,
        leaves: Sequence[Any],
        indexings: Sequence[Indexing],
        types: InferredTypes,
        ndim: int,
        aliases: dict[int, int],
    ) -> kapi_runtime.Kernel:
        key = (types, tuple(indexings), ndim, tuple(aliases.items()))
        if key not in self._kernels:
            elements = Elements.of(self._statements, leaves, types.values, self._fastmath)
            memory = {**{position: position for position in self._stores}, **aliases}
            try:
                kernel = stored(elements, indexings, [each.dtype for each in types.results], ndim, memory)
            except TypeError as error:
                raise Unfused(str(error)) from error
            if len(self._kernels) >= _REMEMBERED:
                self._kernels.clear()
                self._tried.clear()
            self._kernels[key] = kernel
        return self._kernels[key]

    def _try(self, ready: PreparedLaunch, leaves: Sequence[Any], shape: tuple[int, ...], queue: Any) -> None:
        """Compile the kernel by a launch without work-items, so that what it cannot be is known before it is used.

        Once for arrays of these ranks and orders: other lengths are no other code.
        """
        orders = [(each.ndim, each.flags.c_contiguous, kind_of(each)) for each in leaves if is_device_array(each)]
        key = id(ready.kernel), bool(ready.flat), queue, *orders
        if key in self._tried:
            return
        one = tuple(min(1, length) for length in shape)
        made = [_made(each, one, leaves, queue) for each in ready.outputs]
        args = [*made, *leaves]
        if ready.flat:
            args = [flat_view(each) if is_device_array(each) and each.ndim else each for each in args]
        empty = kapi_runtime.Range(*(0 for _ in ready.space))
        try:
            kapi_runtime.call_kernel_async(ready.kernel, empty, (), *args, *ready.scalars)
        except KapiError as error:
            raise Unfused(str(error)) from error
        self._tried.add(key)


def is_stored(statement: Statement) -> bool:
    """Whether a launch stores the statement's value to an array."""
    return statement.is_output or statement.target is not None
