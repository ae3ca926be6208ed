"""A scan of an elementwise expression on GPUs, `numpy.cumsum` or `cumprod`: kernels that never store the expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.elements.expression import Leaf, Node, evaluate
from kapi_numba_offload.elements.group_reduction import group_space
from kapi_numba_offload.elements.kernel_source import space_of
from kapi_numba_offload.elements.operands import indexing_of, type_of
from kapi_numba_offload.elements.reduction_kernels import (
    GROUP_OPERATORS,
    Along,
    AlongKernels,
    loading,
    seeding,
)
from kapi_numba_offload.elements.reduction_operators import Accumulator
from kapi_numba_offload.elements.sinks import Elements, extents_of
from kapi_numba_offload.elements.statements import check_array_integers
from kapi_numba_offload.elements.work_distribution import pieces_of
from kapi_numba_offload.libraries.arrays import allocate, device_facts, flat_view, host_copy, is_device_array, queue_of
from kapi_numba_offload.regions.fused_region import FusedRegion
from kapi_numba_offload.run.bounded_cache import BoundedCache
from kapi_numba_offload.run.launch_record import KernelLaunch
from kapi_numba_offload.run.launching import launch, launches
from kapi_numba_offload.run.timing import timed
from kapi_runtime.algorithms import Devices
from kapi_sim.errors import KapiError
from kapi_sim.whole_arrays.scans import scan_into
from kapi_sim.whole_arrays.tile_scans import element, scan_tiles_into

__all__ = ["LoopScan", "Scan"]

_LONG = 1 << 18  # elements: the library has fewer of them done before scans along an axis are launched
_LONG_BYTES = 1 << 26  # the same for a scan of all elements, which the library copies twice
_COLUMNS = 64  # scans side by side, each of which has work-items of its own
_MOST_PIECES = 512  # of a column
_DTYPES = frozenset(("int64", "uint64", "float32", "float64"))

Launched = tuple[Any, Any, Any]
"""A result, and the kernel and the index space that gave it."""


class _Launches(Devices):
    """The devices of arrays, whose launches are this package's."""

    def launch(self, kernel: Any, space: kapi_runtime.NdRange, args: tuple[Any, ...]) -> None:
        """Launch on the queue of the arrays."""
        launch(kernel, space, args)


_WORLD = _Launches()


class Scan:
    """`numpy.cumsum` or `cumprod` of an elementwise expression, or of an array.

    - `name`: a key of `GROUP_OPERATORS`.
    - `region`: the expression, one statement.
    - `words`: the axis, if one is given.
    - `call`: the function of an array, for what is no kernel.
    """

    def __init__(self, name: str, region: FusedRegion, words: Mapping[str, Any], call: Callable[..., Any]) -> None:
        self.name, self.region, self._words, self._call = name, region, words, call
        self.statements, self.location = region.statements, region.location
        self._is_of_array = isinstance(region.statements[0].node, Leaf)
        self._ran: tuple[Any, ...] | str | None = None
        self._ready: BoundedCache[tuple[Any, ...], Callable[[Sequence[Any], Any], Launched] | str] = BoundedCache()

    @timed
    def __call__(self, *leaves: Any) -> Any:
        """Run it: a device array, or what the function gives for anything else."""
        key, queue = self.region.key(leaves)
        ready = "it has no arrays" if queue is None else self._ready.get(key)
        if ready is None:
            ready = self._ready[key] = self._prepare(leaves, queue)
        if isinstance(ready, str):
            self._ran = ready
            return self._call(leaves[0] if self._is_of_array else self.region(*leaves), **self._words)
        result, kernel, space = ready(leaves, queue)
        self._ran = kernel, space, queue, (result.shape, result.dtype, "device")
        return result

    @property
    def latest(self) -> KernelLaunch | str | None:
        """The latest launch, or why there was none."""
        if not isinstance(self._ran, tuple):
            return self._ran
        kernel, space, queue, made = self._ran
        return KernelLaunch(kernel, space, queue, [made])

    @property
    def is_library_s(self) -> bool:
        """Whether the latest run was the call of a function alone, which reports on itself."""
        return self._is_of_array and isinstance(self._ran, str)

    def _prepare(self, leaves: Sequence[Any], queue: Any) -> Callable[[Sequence[Any], Any], Launched] | str:
        if device_facts(queue).is_cpu:
            return "a processor scans as fast by the array library"
        arrays = [each for each in leaves if is_device_array(each)]
        values: dict[Node, Any] = {}
        try:
            shape = np.broadcast_shapes(*(each.shape for each in arrays))
            expression = evaluate(self.statements[0].node, [*map(type_of, leaves)], (), values)
            check_array_integers(self.statements[0], values)
            answer = expression.rules.reduction(self.name, expression)
            if answer.dtype.name not in _DTYPES:
                return f"it has results of {answer.dtype}"
            elements = Elements.of(self.statements, leaves, values, self.region.fastmath)
            axis = self._words.get("axis")
            is_of_all = axis is None or len(shape) == 1
            if math.prod(shape) * (answer.dtype.itemsize if is_of_all else 1) < (_LONG_BYTES if is_of_all else _LONG):
                return "the array library takes no longer for so few elements"
            if axis is None or is_of_all:
                return self._entire(elements, leaves, shape, axis, answer, queue)
            return self._along(elements, leaves, shape, axis, answer, queue)
        except (KapiError, TypeError, ValueError) as error:
            return str(error)  # the library refuses it with its own words

    def _entire(
        self,
        elements: Elements,
        leaves: Sequence[Any],
        shape: tuple[int, ...],
        axis: Any,
        answer: ArrayType,
        queue: Any,
    ) -> Callable[[Sequence[Any], Any], Launched] | str:
        """A scan of all elements, by kapi's single-pass scan, which loads the expression."""
        if axis not in (None, 0, -1):
            return f"axis {axis} is out of bounds"
        arrays = [each for each in leaves if is_device_array(each)]
        if not all(each.shape in ((), shape) and (each.ndim < 2 or each.flags.c_contiguous) for each in arrays):
            return "its operands are not contiguous arrays of one shape"
        count, dtype, operator = math.prod(shape), answer.dtype, GROUP_OPERATORS[self.name][1]
        load = loading(elements, Accumulator(GROUP_OPERATORS[self.name][0], dtype)) if len(leaves) == 1 else element
        tiles = _WORLD.shape(allocate((1,), dtype, answer.kind, queue), "scan", dtype.itemsize)
        if not tiles.sub_group:
            return "work-groups of this device may not wait for others"

        def run(leaves: Sequence[Any], queue: Any) -> Launched:
            # A launch with several operands costs the host more than storing the expression costs the device.
            source = leaves[0] if len(leaves) == 1 else self.region(*leaves)
            source = flat_view(source) if source.ndim > 1 else source
            is_own = len(leaves) > 1 and source.dtype == dtype
            out = source if is_own else allocate((count,), dtype, answer.kind, queue)
            made = scan_tiles_into(_WORLD, tiles, source, out, dtype, operator, None, False, dtype.type, load)
            return (out, *made)

        return run

    def _along(
        self,
        elements: Elements,
        leaves: Sequence[Any],
        shape: tuple[int, ...],
        axis: int,
        answer: ArrayType,
        queue: Any,
    ) -> Callable[[Sequence[Any], Any], Launched] | str:
        """Scans along an axis, by work-groups along the last one, else by work-items."""
        (axis,) = np.lib.array_utils.normalize_axis_tuple(axis, len(shape))
        accumulator = Accumulator(GROUP_OPERATORS[self.name][0], answer.dtype)
        indexings = [indexing_of(each.shape, shape) if is_device_array(each) else None for each in leaves]
        one, identity = Along(shape, (axis,), 1), accumulator.identity
        kept, dtype, kind = math.prod(one.kept), answer.dtype, answer.kind
        if one.is_along_last:
            rows = AlongKernels(elements, indexings, one, accumulator).row_scan(self.name)
            space = group_space(kept, one.count)

            def run_rows(leaves: Sequence[Any], queue: Any) -> Launched:
                out = allocate(shape, dtype, kind, queue)
                launch(rows, space, [out, identity, *leaves, one.count, *one.kept[1:]])
                return out, rows, space

            return run_rows
        if kept < _COLUMNS:
            return "it has too few columns"
        facts = device_facts(queue)
        along = Along(shape, (axis,), min(_MOST_PIECES, pieces_of(kept, one.count, facts, False)))
        kernels = AlongKernels(elements, indexings, along, accumulator)
        columns = kernels.column_scan()
        totals = kernels.by_items(is_blocked=True, is_cpu=facts.is_cpu, is_mean=False)
        seeds = seeding(len(one.kept), accumulator, str(self.location))
        full, own = space_of(along.virtual), space_of(along.kept)

        def run_columns(leaves: Sequence[Any], queue: Any) -> Launched:
            out = allocate(shape, dtype, kind, queue)
            first: Any = identity
            if along.pieces > 1:
                first = allocate(along.virtual, dtype, "device", queue)
                launch(totals, full, [first, identity, *leaves, *along.scalars])
                launch(seeds, own, [first, identity, along.pieces, *extents_of(along.kept)])
            launch(columns, full, [out, first, *leaves, *along.scalars])
            return out, columns, full

        return run_columns


class LoopScan:
    """The scan that a loop is: running sums or products of an expression, stored to an array.

    - `name`: a key of `GROUP_OPERATORS`.
    - `region`: the expression, one statement.
    - `has_result`: whether the last value is used after the loop.
    """

    def __init__(self, name: str, region: FusedRegion, *, has_result: bool) -> None:
        self._operator, self._region, self._has_result = GROUP_OPERATORS[name][1], region, has_result
        self.statements, self.location = region.statements, region.location
        self._is_of_array = isinstance(region.statements[0].node, Leaf)
        self.latest: KernelLaunch | None = None

    @timed
    def __call__(self, target: Any, start: Any, *leaves: Any) -> Any:
        """Run it; the last value, or None where nobody uses it.

        - `target`: what the running values are stored to.
        - `start`: the value before the first.
        - `*leaves`: those of the expression.
        """
        source = leaves[0] if self._is_of_array else self._region(*leaves)
        dtype, queue = target.dtype, queue_of(target)
        first = dtype.type(host_copy(start).item() if is_device_array(start) else start)
        shape = _WORLD.shape(target, "scan", dtype.itemsize)
        convert = dtype.type
        with launches() as seen:
            scan_into(_WORLD, shape, source, target, dtype, self._operator, first, False, convert)
        kernel, space, _ = seen[-1]
        self.latest = KernelLaunch(kernel, space, queue, ())
        return host_copy(target[-1:])[0].item() if self._has_result else None
