"""Specialization of a fused region: its kernel for operands of given types, shapes and aliases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.kernel_source import Indexing, space_of
from kapi_numba_offload.elements.operands import Unfused, indexing_of, statement_shapes
from kapi_numba_offload.elements.sinks import Elements, extents_of, stored
from kapi_numba_offload.elements.statements import Statement
from kapi_numba_offload.libraries.arrays import flat_view, is_device_array
from kapi_numba_offload.libraries.installed import library_of, library_of_queue
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.regions.operand_forms import Form, form_of
from kapi_numba_offload.regions.type_inference import InferredTypes, TypeInference
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_sim.errors import KapiError

__all__ = ["PreparedLaunch", "Specializer", "is_stored"]


class _Output(NamedTuple):
    """An array that a launch makes, or (with `leaf`) one that it was given."""

    leaf: int | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any] | None
    kind: str | None
    make: Callable[[Any], Any] | None = None


class PreparedLaunch(NamedTuple):
    """A compiled launch of the region, for operands of these types and shapes."""

    kernel: kapi_runtime.Kernel
    space: kapi_runtime.Range
    outputs: tuple[_Output, ...]
    flat: frozenset[int]
    scalars: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Specialization:
    """The kernel of a region for operands of one form.

    - `outputs`: for each stored statement the array that it is stored to, or dtype and kind of one that is made.
    - `template`: the shape of all of them: see `Form.template`.
    - `flat`: which operands are given as arrays of one axis; then the results are, too.
    """

    kernel: kapi_runtime.Kernel
    outputs: tuple[tuple[int | None, np.dtype[Any] | None, str | None], ...]
    template: tuple[int | None, ...]
    flat: frozenset[int]

    def launch(self, shape: tuple[int, ...], library: ArrayLibrary) -> PreparedLaunch:
        """The launch whose results have a shape."""
        outputs = tuple(
            [
                _Output(leaf, shape, dtype, kind, None if leaf is not None else library.allocator(shape, dtype, kind))  # type: ignore[arg-type]  # it is made
                for leaf, dtype, kind in self.outputs
            ]
        )
        grid = (prod(shape),) if self.flat else shape
        return PreparedLaunch(self.kernel, space_of(grid), outputs, self.flat, extents_of(grid))


class _Refusal(NamedTuple):
    """The reason why operands of a form are no single kernel, and shapes of statements that cause it, as templates."""

    reason: str
    templates: tuple[tuple[int | None, ...], ...]


class Specializer:
    """The kernels of a region's statements, one for each combination of dtypes, indexings and aliases.

    - `types`: the types of their results.
    - `fastmath`: whether kernels may be optimised as if arithmetic were exact, or flags for how far.
    """

    def __init__(self, statements: Sequence[Statement], types: TypeInference, fastmath: bool | frozenset[str]) -> None:
        self._statements = statements
        self._types = types
        self._fastmath = fastmath
        self._stores = tuple(each.target for each in statements if each.target is not None)
        self._kernels: BoundedCache[tuple[Any, ...], kapi_runtime.Kernel] = BoundedCache()
        self._known: BoundedCache[tuple[Any, ...], _Specialization | _Refusal] = BoundedCache()

    def __call__(self, leaves: Sequence[Any], queue: Any, aliases: dict[int, int]) -> PreparedLaunch:
        """The launch for operands of these types, shapes and aliases, compiled at the first of their form.

        Raises `Unfused` if they are not one kernel.
        """
        for target in self._stores:
            self._require_stored_to(leaves[target])
        form = form_of(leaves, queue)
        if form is None:
            raise Unfused("its results have different shapes", statement_shapes(self._statements, leaves))
        key = (*form.key, *aliases.items()) if aliases else form.key
        known = self._known.get(key)
        if known is None:
            try:
                known = self._specialized(form, leaves, queue, aliases)
            except Unfused as reason:
                known = _Refusal(str(reason), tuple(map(form.template, reason.shapes)))
            self._known[key] = known
        if isinstance(known, _Refusal):
            raise Unfused(known.reason, [*map(form.shape, known.templates)])
        return known.launch(form.shape(known.template), library_of_queue(queue))

    def _specialized(self, form: Form, leaves: Sequence[Any], queue: Any, aliases: dict[int, int]) -> _Specialization:
        shapes = statement_shapes(self._statements, leaves)
        answer = self._types.of(leaves, queue)
        results = answer.results
        full = [shapes[position] for position, each in enumerate(self._statements) if is_stored(each)]
        if len(set(full)) != 1 or not all(isinstance(each, ArrayType) for each in results):
            raise Unfused("its results have different shapes", shapes)
        shape = full[0]
        outputs = tuple(
            (None, result.dtype, result.kind) if statement.target is None else (statement.target, None, None)
            for statement, result in zip(self._statements, results, strict=True)
            if is_stored(statement)
        )
        arrays = [leaf for leaf in leaves if is_device_array(leaf)]
        dense = all(each.ndim == 0 or (each.shape == shape and each.flags.c_contiguous) for each in arrays)
        if dense and len(shape) > 1:
            flat = frozenset(position for position, leaf in enumerate(leaves) if is_device_array(leaf) and leaf.ndim)
            ndim = 1
        else:
            flat, ndim = frozenset(), len(shape)
        indexings: list[Indexing] = [
            None if not is_device_array(leaf) else (0,) if position in flat else indexing_of(leaf.shape, shape)
            for position, leaf in enumerate(leaves)
        ]
        kernel = self._kernel(leaves, indexings, answer, ndim, aliases)
        found = _Specialization(kernel, outputs, form.template(shape), flat)
        self._try(found, leaves, shape, queue)
        return found

    @staticmethod
    def _require_stored_to(array: Any) -> None:
        own = library_of(array)
        if own is None:
            raise Unfused("it stores to what is no device array")
        if not own.is_writable(array):
            raise Unfused("an array that it stores to is read-only")
        if own.has_repeated_elements(array):
            raise Unfused("an array that it stores to has one element in several places")

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
            self._kernels[key] = kernel
        return self._kernels[key]

    def _try(self, found: _Specialization, leaves: Sequence[Any], shape: tuple[int, ...], queue: Any) -> None:
        """Compile the kernel by a launch without work-items, so that what it cannot be is known before it is used."""
        ready = found.launch(tuple(min(1, length) for length in shape), library_of_queue(queue))
        made = [leaves[each.leaf or 0] if each.make is None else each.make(queue) for each in ready.outputs]
        args = [*made, *leaves]
        if ready.flat:
            args = [flat_view(each) if is_device_array(each) and each.ndim else each for each in args]
        empty = kapi_runtime.Range(*(0 for _ in ready.space))
        try:
            kapi_runtime.call_kernel_async(ready.kernel, empty, (), *args, *ready.scalars)
        except KapiError as error:
            raise Unfused(str(error)) from error


def is_stored(statement: Statement) -> bool:
    """Whether a launch stores the statement's value to an array."""
    return statement.is_output or statement.target is not None
