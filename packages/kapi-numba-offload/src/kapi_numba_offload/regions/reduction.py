"""A reduction of an elementwise expression, over all or some axes: kernels that never store the expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.array_integers import check_array_integers
from kapi_numba_offload.elements.combining import MOST_OF_ONE_GROUP, combining_space, combining_values
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.expression import Leaf, Node, evaluate
from kapi_numba_offload.elements.kernel_source import space_of
from kapi_numba_offload.elements.operands import indexing_of, type_of
from kapi_numba_offload.elements.reductions import FUSED_REDUCTIONS
from kapi_numba_offload.elements.sinks import Along, Elements, along_axes, extents_of, full, full_by_one_group
from kapi_numba_offload.elements.work_distribution import distribute, pieces_of
from kapi_numba_offload.libraries.arrays import device_facts, flat_view, is_device_array
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.regions.fused import FusedRegion
from kapi_numba_offload.run.kernel_launch import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import KapiError

__all__ = ["Reduction"]

_MANY = 100_000  # elements of an array, of which dpnp takes several times as long to find an extremum
Submit = Callable[[kapi_runtime.Kernel, Any, Sequence[Any]], None]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The kernels of a reduction, and how they are launched.

    Attributes
    ----------
    first, second : Kernel
        From the operands to pieces, and from these to the result; the first alone where each has one piece.
    spaces : tuple of Range or NdRange
        Their index spaces.
    before, after : tuple
        What the first is given after the operands, and the second after its arrays.
    result, pieces : tuple of int
        Shapes of what they store; that of pieces is empty where there is no second.
    shape : tuple of int
        Shape of the result for the caller.
    dtype : numpy.dtype
        Of the result.
    kind : str
        USM kind of the result.
    identity : NumPy scalar
        What work-items start with.
    is_flat : bool
        Whether arrays are given as arrays of one axis.
    make, make_pieces : callable
        Functions of the queue that allocate the result and the pieces.
    """

    first: kapi_runtime.Kernel
    second: kapi_runtime.Kernel | None
    spaces: tuple[kapi_runtime.Range | kapi_runtime.NdRange, kapi_runtime.Range | kapi_runtime.NdRange]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    result: tuple[int, ...]
    pieces: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: str
    identity: Any
    is_flat: bool
    make: Callable[[Any], Any]
    make_pieces: Callable[[Any], Any]

    @property
    def made(self) -> list[tuple[Any, ...]]:
        """Shape, dtype and kind of what is allocated."""
        pieces = [] if self.second is None else [(self.pieces, self.dtype, "device")]
        return [*pieces, (self.result, self.dtype, self.kind)]

    def run(self, leaves: Sequence[Any], queue: Any, submit: Submit) -> Any:
        """Launch the kernels, and return the result."""
        operands = list(leaves)
        if self.is_flat:
            operands = [flat_view(each) if is_device_array(each) and each.ndim > 1 else each for each in leaves]
        result = self.make(queue)
        target = result if self.second is None else self.make_pieces(queue)
        submit(self.first, self.spaces[0], [target, self.identity, *operands, *self.before])
        if self.second is not None:
            submit(self.second, self.spaces[1], [result, target, self.identity, *self.after])
        return result if self.result == self.shape else result.reshape(self.shape)


class Reduction:
    """One of `FUSED_REDUCTIONS` of an elementwise expression, or an extremum of an array.

    Parameters
    ----------
    name : str
        The reduction.
    region : FusedRegion
        The expression, one statement.
    axis : int or tuple of int, optional
        The axes; all of them if left out.
    keepdims : bool
        Whether they stay, with one element each.
    """

    def __init__(
        self, name: str, region: FusedRegion, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> None:
        self.name, self.region, self._axis = name, region, axis
        self._words: dict[str, Any] = {} if axis is None else {"axis": axis, "keepdims": keepdims}
        self.statements, self.location = region.statements, region.location
        self._is_of_array = isinstance(region.statements[0].node, Leaf)
        self._ran: tuple[_Layout, Any] | str | None = None
        self._ready: dict[tuple[Any, ...], _Layout | str] = {}

    @timed
    def __call__(self, *leaves: Any) -> Any:
        """Run it: a dpnp array, or NumPy's answer where no leaf is a dpnp array."""
        key, queue = self.region.key(leaves)
        if queue is None:
            return getattr(np, self.name)(self._operand(leaves), **self._words)
        ready = self._ready.get(key)
        if ready is None:
            ready = self._prepare(leaves, queue)
            self._ready[key] = ready
        if isinstance(ready, str):
            self._ran = ready
            return library_of_queue(queue).function(self.name)(self._operand(leaves), **self._words)
        self._ran = ready, queue
        return ready.run(leaves, queue, launch)

    @property
    def latest(self) -> KernelLaunch | str | None:
        """The latest launch, or why there was none."""
        if not isinstance(self._ran, tuple):
            return self._ran
        ready, queue = self._ran
        return KernelLaunch(ready.first, ready.spaces[0], queue, ready.made)

    def _operand(self, leaves: Sequence[Any]) -> Any:
        """The reduced operand, as an array."""
        return leaves[0] if self._is_of_array else self.region(*leaves)

    def _prepare(self, leaves: Sequence[Any], queue: Any) -> _Layout | str:
        arrays = [each for each in leaves if is_device_array(each)]
        values: dict[Node, Any] = {}
        try:
            shape = np.broadcast_shapes(*(each.shape for each in arrays))
            if 0 in shape:
                return "it has no elements"
            is_cpu = device_facts(queue).is_cpu
            if self._is_of_array and is_cpu and int(np.prod(shape, dtype=np.int64)) < _MANY:
                return "the array library's kernel takes no longer for so few elements"
            expression = evaluate(self.statements[0].node, [*map(type_of, leaves)], (), values)
            check_array_integers(self.statements[0], values)
            elements = Elements.of(self.statements, leaves, values, self.region.fastmath)
            answer = expression.rules.reduction(self.name, expression)
            if self._axis is not None:
                ready = self._along(elements, leaves, shape, answer, queue)
            elif all(each.flags.c_contiguous and each.shape in ((), shape) for each in arrays) and shape:
                ready = self._all_axes(elements, leaves, (int(np.prod(shape, dtype=np.int64)),), answer, queue)
            elif not is_cpu and shape:
                ready = self._all_axes(elements, leaves, shape, answer, queue, is_flat=False)
            else:
                return "its operands are not contiguous arrays of one shape"
            # A launch without work-items compiles, so that what it cannot be is known before it is used.
            ready.run(leaves, queue, _submit_nothing)
        except (KapiError, TypeError, ValueError) as error:
            return str(error)  # what dpnp refuses it refuses with its own words when it is asked
        return ready

    def _all_axes(
        self,
        elements: Elements,
        leaves: Sequence[Any],
        shape: tuple[int, ...],
        answer: ArrayType,
        queue: Any,
        *,
        is_flat: bool = True,
    ) -> _Layout:
        combination, dtype, count = FUSED_REDUCTIONS[self.name], answer.dtype, int(np.prod(shape, dtype=np.int64))
        indexings = [
            None if not is_device_array(each) else ((0,) if each.ndim else ()) if is_flat
            else indexing_of(each.shape, shape) for each in leaves
        ]  # fmt: skip
        facts = device_facts(queue)
        if not facts.is_cpu and count <= MOST_OF_ONE_GROUP:
            alone = full_by_one_group(
                elements, indexings, len(shape), combination, dtype, facts, is_mean=self.name == "mean"
            )
            group = combining_space(facts)
            return _Layout(
                alone, None, (group, group), (count, count, *shape[1:], *combining_values(dtype, facts)), (),
                (), (), (), dtype, answer.kind, combination.identity(dtype), is_flat,
                *_allocators(queue, dtype, ((), answer.kind), ((), "device")),
            )  # fmt: skip
        first, second = full(elements, indexings, len(shape), combination, dtype, facts, is_mean=self.name == "mean")
        shares = distribute(count, queue)
        return _Layout(
            first, second, (shares.space, combining_space(facts)), (count, shares.steps, *shape[1:]),
            (shares.items, count, *combining_values(dtype, facts)),
            (), (shares.items,), (), dtype, answer.kind, combination.identity(dtype), is_flat,
            *_allocators(queue, dtype, ((), answer.kind), ((shares.items,), "device")),
        )  # fmt: skip

    def _along(
        self, elements: Elements, leaves: Sequence[Any], shape: tuple[int, ...], answer: ArrayType, queue: Any
    ) -> _Layout:
        combination, dtype = FUSED_REDUCTIONS[self.name], answer.dtype
        axes = sorted(np.lib.array_utils.normalize_axis_tuple(self._words["axis"], len(shape)))
        along = Along(shape, axes, 1)
        kept = int(np.prod(along.kept, dtype=np.int64))
        along = Along(shape, axes, pieces_of(kept, along.count, device_facts(queue), along.is_along_last))
        indexings = [indexing_of(leaf.shape, shape) if is_device_array(leaf) else None for leaf in leaves]
        first, second = along_axes(elements, indexings, along, combination, dtype, is_mean=self.name == "mean")
        full_shape = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
        return _Layout(
            first, second, (space_of(along.virtual), space_of(along.kept)), along.scalars,
            (along.pieces, along.count, *extents_of(along.kept)), along.kept, along.virtual,
            full_shape if self._words["keepdims"] else along.kept, dtype, answer.kind,
            combination.identity(dtype), False,
            *_allocators(queue, dtype, (along.kept, answer.kind), (along.virtual, "device")),
        )  # fmt: skip


def _allocators(
    queue: Any, dtype: np.dtype[Any], *arrays: tuple[tuple[int, ...], str]
) -> Iterator[Callable[[Any], Any]]:
    own = library_of_queue(queue)
    return (own.allocator(shape, dtype, kind) for shape, kind in arrays)


def _submit_nothing(kernel: kapi_runtime.Kernel, space: Any, args: Sequence[Any]) -> None:
    # A work-group combines what no work-item has found, in an array that nobody reads.
    empty = space if isinstance(space, kapi_runtime.NdRange) else kapi_runtime.Range(*(0 for _ in space))
    kapi_runtime.call_kernel_async(kernel, empty, (), *args)
