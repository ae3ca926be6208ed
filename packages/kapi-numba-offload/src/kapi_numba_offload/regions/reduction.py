"""A reduction of an elementwise expression, over all or some axes: kernels that never store the expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.expression import Leaf, Node, evaluate
from kapi_numba_offload.elements.group_reduction import (
    combines_by_items,
    combining_arguments,
    combining_kernel,
    combining_space,
    group_arguments,
    group_space,
)
from kapi_numba_offload.elements.kernel_source import space_of
from kapi_numba_offload.elements.operands import indexing_of, type_of
from kapi_numba_offload.elements.reduction_kernels import Along, AlongKernels, full
from kapi_numba_offload.elements.reduction_operators import POSITIONS, Accumulator
from kapi_numba_offload.elements.sinks import Elements
from kapi_numba_offload.elements.statements import check_array_integers
from kapi_numba_offload.elements.work_distribution import distribute, groups_of, is_by_groups, pieces_of
from kapi_numba_offload.libraries.arrays import device_facts, flat_view, is_device_array
from kapi_numba_offload.libraries.installed import library_of_queue
from kapi_numba_offload.regions.fused_region import FusedRegion
from kapi_numba_offload.regions.library_functions import extremum_position
from kapi_numba_offload.regions.operand_forms import form_of
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import KapiError

__all__ = ["Reduction"]

_MANY = 100_000  # elements of an array, of which dpnp takes several times as long to find an extremum
Submit = Callable[[kapi_runtime.Kernel, Any, Sequence[Any]], None]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The kernels of a reduction, and how they are launched.

    - `first`, `second`: from the operands to pieces, and from these to the result; the first alone where each has one
      piece.
    - `spaces`: their index spaces.
    - `before`, `after`: what the first is given after the operands, and the second after its arrays.
    - `shape`: shape of the result for the caller.
    - `identity`: what work-items start with.
    - `is_flat`: whether arrays are given as arrays of one axis.
    - `made`: shape, dtype and kind of what is allocated: the pieces, if there are some, and the result.
    - `make_pieces`, `make`: functions of the queue that allocate them.
    """

    first: kapi_runtime.Kernel
    second: kapi_runtime.Kernel | None
    spaces: tuple[kapi_runtime.Range | kapi_runtime.NdRange, kapi_runtime.Range | kapi_runtime.NdRange]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    shape: tuple[int, ...]
    identity: Any
    is_flat: bool
    made: list[tuple[Any, ...]]
    make_pieces: list[Callable[[Any], Any]]
    make: Callable[[Any], Any]

    def run(self, leaves: Sequence[Any], queue: Any, submit: Submit) -> Any:
        """Launch the kernels, and return the result."""
        operands = list(leaves)
        if self.is_flat:
            operands = [flat_view(each) if is_device_array(each) and each.ndim > 1 else each for each in leaves]
        if self.second is None:
            result = self.make(queue)
            submit(self.first, self.spaces[0], [result, self.identity, *operands, *self.before])
        else:
            pieces = [make(queue) for make in self.make_pieces]
            submit(self.first, self.spaces[0], [*pieces, self.identity, *operands, *self.before])
            result = self.make(queue)  # while the device works
            submit(self.second, self.spaces[1], [result, *pieces, self.identity, *self.after])
        return result if result.shape == self.shape else result.reshape(self.shape)


class _Typed(NamedTuple):
    """The parts of a reduction for operands of some types: the expression, what values become, the result's type."""

    elements: Elements
    accumulator: Accumulator
    answer: ArrayType


class Reduction:
    """One of `FUSED_REDUCTIONS` of an elementwise expression, or an extremum of an array or its position.

    - `region`: the expression, one statement.
    - `axis`: the axes; all of them if left out.
    - `keepdims`: whether they stay, with one element each.
    """

    def __init__(
        self, name: str, region: FusedRegion, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> None:
        self.name, self.region, self._axis = name, region, axis
        self._words: dict[str, Any] = {} if axis is None else {"axis": axis, "keepdims": keepdims}
        self.statements, self.location = region.statements, region.location
        self._is_of_array = isinstance(region.statements[0].node, Leaf)
        self._ran: tuple[_Layout, Any] | str | None = None
        self._ready: BoundedCache[tuple[Any, ...], _Layout | str] = BoundedCache()
        self._types: dict[tuple[Any, ...], _Typed] = {}
        self._kernels: dict[tuple[Any, ...], kapi_runtime.Kernel] = {}
        self._tried: set[tuple[Any, ...]] = set()

    @timed
    def __call__(self, *leaves: Any) -> Any:
        """Run it: a dpnp array, or NumPy's answer where no leaf is a dpnp array."""
        key, queue = self.region.key(leaves)
        if queue is None:
            return getattr(np, self.name)(self._operand(leaves), **self._words)
        ready = self._ready.get(key)
        if ready is None:
            ready = self._ready[key] = self._prepare(leaves, queue)
        if isinstance(ready, str):
            self._ran = ready
            operand = self._operand(leaves)
            if self.name in POSITIONS:
                mended = extremum_position(self.name, self.location, (operand,), self._words)
                if mended is not None:
                    return mended
            return library_of_queue(queue).function(self.name)(operand, **self._words)
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
        form = form_of(leaves, queue)
        if form is None:
            return "its operands do not broadcast together"
        arrays, shape = [each for each in leaves if is_device_array(each)], form.lengths
        if 0 in shape:
            return "it has no elements"
        is_cpu = device_facts(queue).is_cpu
        if self._is_of_array and is_cpu and math.prod(shape) < _MANY and self.name not in POSITIONS:
            return "the array library's kernel takes no longer for so few elements"
        try:
            if form.key not in self._types:
                self._types[form.key] = self._typed(leaves)
            typed = self._types[form.key]
            is_flat = all(each.flags.c_contiguous and each.shape in ((), shape) for each in arrays)
            if self._axis is not None:
                axes = sorted(np.lib.array_utils.normalize_axis_tuple(self._axis, len(shape)))
                ready = self._along(typed, leaves, shape, axes, queue)
            elif not shape or (is_cpu and not is_flat):
                return "its operands are not contiguous arrays of one shape"
            elif is_cpu:
                ready = self._all_axes(typed, leaves, shape, queue)
            elif is_flat:
                ready = self._along(typed, leaves, (math.prod(shape),), (0,), queue, is_flat=True)
            else:
                ready = self._along(typed, leaves, shape, range(len(shape)), queue)
            tried = form.key, ready.first, ready.second, len(ready.shape)
            if tried not in self._tried:
                # A launch without work-items compiles, so that what it cannot be is known before it is used.
                ready.run(leaves, queue, _submit_nothing)
                self._tried.add(tried)
        except (KapiError, TypeError, ValueError) as error:
            return str(error)  # what dpnp refuses it refuses with its own words when it is asked
        return ready

    def _typed(self, leaves: Sequence[Any]) -> _Typed:
        """The expression for operands of these types, and the result's type."""
        values: dict[Node, Any] = {}
        expression = evaluate(self.statements[0].node, [*map(type_of, leaves)], (), values)
        check_array_integers(self.statements[0], values)
        elements = Elements.of(self.statements, leaves, values, self.region.fastmath)
        answer = expression.rules.reduction(self.name, expression)
        value = elements.dtypes[self.statements[0].node]
        dtype, result = answer.dtype, None
        if self.name in POSITIONS and value is not None:
            dtype = value
        elif answer.dtype == np.float16 and self.name in ("sum", "prod", "mean"):
            dtype, result = np.dtype(np.float32), answer.dtype
        return _Typed(elements, Accumulator(self.name, dtype, result), answer)

    def _all_axes(self, typed: _Typed, leaves: Sequence[Any], shape: tuple[int, ...], queue: Any) -> _Layout:
        """The kernels of a reduction to one value on a processor, by arrays of one axis."""
        count = math.prod(shape)
        indexings = [((0,) if each.ndim else ()) if is_device_array(each) else None for each in leaves]
        shares = distribute(count, device_facts(queue))
        return self._layout(
            typed, queue, full(typed.elements, indexings, typed.accumulator), shares.space,
            (count, shares.steps), Along((shares.items,), (0,), shares.items), count, is_flat=True,
        )  # fmt: skip

    def _along(
        self,
        typed: _Typed,
        leaves: Sequence[Any],
        shape: tuple[int, ...],
        axes: Sequence[int],
        queue: Any,
        *,
        is_flat: bool = False,
    ) -> _Layout:
        """The kernels of a reduction along axes; of all of them, on a GPU."""
        elements, accumulator, facts = typed.elements, typed.accumulator, device_facts(queue)
        one = Along(shape, axes, 1)
        kept, count, is_last = math.prod(one.kept), one.count, one.is_along_last
        indexings = [
            None if not is_device_array(each) else ((0,) if each.ndim else ()) if is_flat
            else indexing_of(each.shape, shape) for each in leaves
        ]  # fmt: skip
        is_mean = self.name == "mean"
        if is_by_groups(kept, count, facts, is_last):
            along = Along(shape, axes, groups_of(kept, count, facts))
            kernel = self._kernel(
                ("by groups", id(typed.elements), is_flat, len(shape), along.pieces > 1, *indexings),
                lambda: AlongKernels(elements, indexings, along, accumulator).by_groups(is_mean=is_mean),
            )
            space: Any = group_space(kept * along.pieces, count)
            numbers = (count, along.pieces, *along.kept[1:], *along.inner, *group_arguments(accumulator, count))
        else:
            along = Along(shape, axes, pieces_of(kept, count, facts, is_last))
            kernel = self._kernel(
                ("along axes", id(typed.elements), facts.is_cpu, len(shape), along.pieces > 1, *indexings),
                lambda: AlongKernels(elements, indexings, along, accumulator).by_items(
                    is_blocked=facts.is_cpu and not is_last, is_cpu=facts.is_cpu, is_mean=is_mean
                ),
            )
            space, numbers = space_of(along.virtual), along.scalars
        return self._layout(typed, queue, kernel, space, numbers, along, count, is_flat=is_flat)

    def _kernel(self, key: tuple[Any, ...], make: Callable[[], kapi_runtime.Kernel]) -> kapi_runtime.Kernel:
        """The kernel of a key, which has all that its source depends on."""
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]

    def _layout(
        self,
        typed: _Typed,
        queue: Any,
        first: kapi_runtime.Kernel,
        space: Any,
        numbers: Sequence[Any],
        along: Along,
        count: int,
        *,
        is_flat: bool,
    ) -> _Layout:
        """The layout of a first kernel, and of the one that combines its pieces where there are several."""
        elements, accumulator, answer = typed
        facts, own, kept = device_facts(queue), library_of_queue(queue), along.kept
        if along.pieces > 1:
            by_items = combines_by_items(along.pieces, facts, is_along_last=along.is_along_last)
            second = combining_kernel(
                accumulator, len(kept), by_items, f"{elements.name}_combined", str(self.location),
                is_along_last=along.is_along_last, is_mean=self.name == "mean", fastmath=elements.fastmath,
            )  # fmt: skip
            partial = [(along.virtual, dtype, "device") for dtype in accumulator.dtypes]
            second_space = combining_space(kept, along.pieces, by_items=by_items)
            after = combining_arguments(accumulator, kept, along.pieces, count, by_items=by_items)
        else:
            second, partial, second_space, after = None, [], space, ()
        shape = kept
        if self._words.get("keepdims"):
            shape = tuple(1 if axis in along.axes else length for axis, length in enumerate(along.shape))
        return _Layout(
            first, second, (space, second_space), tuple(numbers), after, shape, accumulator.identity, is_flat,
            [*partial, (kept, answer.dtype, answer.kind)],
            [own.allocator(*each) for each in partial], own.allocator(kept, answer.dtype, answer.kind),
        )  # fmt: skip


def _submit_nothing(kernel: kapi_runtime.Kernel, space: Any, args: Sequence[Any]) -> None:
    if isinstance(space, kapi_runtime.NdRange):
        empty: Any = kapi_runtime.NdRange([0], space.local_range)
    else:
        empty = kapi_runtime.Range(*(0 for _ in space))
    kapi_runtime.call_kernel_async(kernel, empty, (), *args)
