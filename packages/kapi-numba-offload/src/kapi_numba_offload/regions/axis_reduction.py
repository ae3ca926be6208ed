"""A reduction of an elementwise expression along axes: kernels that never store the expression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np
from dpnp.dpnp_array import dpnp_array

import kapi_runtime
from kapi_numba_offload.analysis.functions import Operand, cast
from kapi_numba_offload.loops.loop_kernel import most_items
from kapi_numba_offload.regions.expression import Node, evaluate, leaves_of
from kapi_numba_offload.regions.fused import FusedRegion
from kapi_numba_offload.regions.fused_reduction import COMBINED, FUSED_REDUCTIONS, identity_of
from kapi_numba_offload.regions.kernel_source import emit, index_lines, make_kernel, space_of
from kapi_numba_offload.regions.operand_shapes import dtype_of, indexing_of, sample_of
from kapi_numba_offload.run.launch_record import LaunchRecord
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.usm import allocate
from kapi_sim.errors import KapiError

__all__ = ["AxisReduction"]

_FEWEST_STEPS = 16  # of a work-item, else its result costs as much as its work


@dataclass(frozen=True, slots=True)
class _Ready:
    """What a launch needs: kernels over `kept` elements of the result, each in `pieces` of `steps` elements."""

    first: kapi_runtime.Kernel
    second: kapi_runtime.Kernel | None
    dtype: np.dtype[Any]
    kind: str
    identity: Any
    kept: tuple[int, ...]
    result_shape: tuple[int, ...]
    virtual: tuple[int, ...]
    pieces: int
    scalars: tuple[int, ...]
    count: int


class AxisReduction:
    """One of `FUSED_REDUCTIONS` along axes of an elementwise expression.

    Parameters
    ----------
    name : str
        The reduction.
    region : FusedRegion
        The expression, one statement.
    axis : int or tuple of int
        The axes.
    keepdims : bool
        Whether they stay, with one element each.

    Attributes
    ----------
    latest : LaunchRecord or str or None
        The latest launch, or why there was none.

    Notes
    -----
    Neighbouring work-items take neighbouring elements in memory: those of the result where the last axis is kept, else
    those of the last axis, whose shares a second kernel combines.
    """

    def __init__(self, name: str, region: FusedRegion, axis: int | tuple[int, ...], keepdims: bool) -> None:
        self.name, self.region, self._axis, self._keepdims = name, region, axis, keepdims
        self.statements, self.place = region.statements, region.place
        self.latest: LaunchRecord | str | None = None
        self._ready: dict[tuple[Any, ...], _Ready | str] = {}

    def __call__(self, *leaves: Any) -> Any:
        """Run it: a dpnp array, or NumPy's answer where no leaf is a dpnp array."""
        key, queue = self.region.key(leaves)
        words = {"axis": self._axis, "keepdims": self._keepdims}
        if queue is None:
            return getattr(np, self.name)(self.region(*leaves), **words)
        ready = self._ready.get(key)
        if ready is None:
            ready = self._prepare(leaves, queue)
            self._ready[key] = ready
        if isinstance(ready, str):
            self.latest = ready
            return getattr(dpnp, self.name)(self.region(*leaves), **words)
        result = allocate(ready.kept, ready.dtype, ready.kind, queue)
        made = [(ready.kept, ready.dtype, ready.kind)]
        first = result
        if ready.second is not None:
            first = allocate(ready.virtual, ready.dtype, "device", queue)
            made.append((ready.virtual, ready.dtype, "device"))
        space = space_of(ready.virtual)
        launch(ready.first, space, [first, ready.identity, *leaves, *ready.scalars])
        if ready.second is not None:
            extents = _scalars(ready.kept)
            args = [result, first, ready.identity, ready.pieces, ready.count, *extents]
            launch(ready.second, space_of(ready.kept), args)
        self.latest = LaunchRecord(ready.first, space, queue, made)
        return result if ready.kept == ready.result_shape else dpnp.reshape(result, ready.result_shape)

    def _prepare(self, leaves: Sequence[Any], queue: Any) -> _Ready | str:
        arrays = [each for each in leaves if isinstance(each, dpnp_array)]
        node = self.statements[0].node
        values: dict[Node, Any] = {}
        samples = [sample_of(each) if isinstance(each, dpnp_array) else each for each in leaves]
        try:
            shape = np.broadcast_shapes(*(each.shape for each in arrays))
            if 0 in shape:
                return "it has no elements"
            answer = getattr(dpnp, self.name)(evaluate(node, samples, (), values), axis=self._axis, keepdims=True)
            given = self._axis if isinstance(self._axis, tuple) else (self._axis,)
            axes = {each % len(shape) for each in given}
            ready = self._made(leaves, values, shape, sorted(axes), answer.dtype, answer.usm_type, queue)
            self._try(ready, leaves, queue)
        except (KapiError, TypeError, ValueError) as error:
            return str(error)  # what dpnp refuses it refuses with its own words when it is asked
        return ready

    def _made(
        self,
        leaves: Sequence[Any],
        values: dict[Node, Any],
        shape: tuple[int, ...],
        axes: Sequence[int],
        dtype: np.dtype[Any],
        kind: str,
        queue: Any,
    ) -> _Ready:
        kept = tuple(length for axis, length in enumerate(shape) if axis not in axes)
        count = math.prod(shape[axis] for axis in axes)
        is_along_last = len(shape) - 1 in axes
        pieces = _pieces(math.prod(kept), count, queue.sycl_device, is_along_last)
        split = pieces > 1
        virtual = kept if not split else (*kept, pieces) if is_along_last else (pieces, *kept)
        # Which index of the kernel each axis follows: `i` those of work-items, `j` those of the loop.
        first_kept = 1 if split and not is_along_last else 0
        named: dict[int, str] = {axis: f"j{axis}" for axis in axes}
        named |= {axis: f"i{first_kept + number}"
                  for number, axis in enumerate(axis for axis in range(len(shape)) if axis not in axes)}  # fmt: skip
        steps = -(-count // pieces)
        lines = index_lines(len(virtual), [f"n{axis}" for axis in range(len(virtual))])
        piece = None if not split else f"i{len(virtual) - 1}" if is_along_last else "i0"
        lines += self._loop_lines(leaves, values, shape, named, axes, dtype, piece, is_along_last)
        at = ", ".join(f"i{axis}" for axis in range(len(virtual))) or "()"
        is_mean = self.name == "mean"
        lines.append(f"result[{at}] = total" + (f" / np.{dtype.name}(count)" if is_mean and not split else ""))
        inner = [f"m{axis}" for axis in axes[1:]]
        outer = [f"n{axis}" for axis in range(1, max(1, len(virtual) - 2))] if len(virtual) > 3 else []
        spelled = [f"{'a' if isinstance(leaf, dpnp_array) else 'x'}{number}" for number, leaf in enumerate(leaves)]
        parameters = ["result", "identity", *spelled, "count", "steps", "pieces", *inner, *outer]
        first = make_kernel(
            self._kernel_name(), tuple(parameters), tuple(lines), str(self.place), fastmath=self.region.fastmath
        )
        second = self._second(len(kept), dtype, is_along_last) if split else None
        scalars = (count, steps, pieces, *(shape[axis] for axis in axes[1:]), *_scalars(virtual))
        full = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
        result_shape = full if self._keepdims else kept
        identity = identity_of(FUSED_REDUCTIONS[self.name], dtype)
        return _Ready(first, second, dtype, kind, identity, kept, result_shape, virtual, pieces, scalars, count)

    def _loop_lines(
        self,
        leaves: Sequence[Any],
        values: dict[Node, Any],
        shape: tuple[int, ...],
        named: dict[int, str],
        axes: Sequence[int],
        dtype: np.dtype[Any],
        piece: str | None,
        is_along_last: bool,
    ) -> list[str]:
        """The lines that make `total` of the elements of one work-item."""
        node = self.statements[0].node
        used = leaves_of(node)
        inner: list[str] = []
        rest = "at"
        for axis in reversed(axes[1:]):
            inner += [f"j{axis} = {rest} % m{axis}", f"rest{axis} = {rest} // m{axis}"]
            rest = f"rest{axis}"
        inner.append(f"j{axes[0]} = {rest}")
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, dpnp_array) and number in used:
                at = ", ".join("0" if axis < 0 else named[axis] for axis in indexing_of(leaf.shape, shape))
                inner.append(f"x{number} = a{number}[{at or '()'}]")
        operands = [Operand(f"x{number}", dtype_of(leaf)) for number, leaf in enumerate(leaves)]
        value = emit(node, operands, (), {each: dtype_of(value) for each, value in values.items()})
        inner.append(f"value = {f'({value.source} != 0)' if dtype.kind == 'b' else cast(value, dtype)}")
        inner.append(COMBINED[FUSED_REDUCTIONS[self.name]].format("value"))
        if piece is None:
            return ["total = identity", "for at in range(count):", *(f"    {line}" for line in inner)]
        place = f"step * pieces + {piece}" if is_along_last else f"{piece} * steps + step"
        lines = ["total = identity", "for step in range(steps):", f"    at = {place}", "    if at < count:"]
        return [*lines, *(f"        {line}" for line in inner)]

    def _second(self, kept: int, dtype: np.dtype[Any], is_along_last: bool) -> kapi_runtime.Kernel:
        """The kernel that combines the pieces."""
        indices = [f"i{axis}" for axis in range(kept)]
        piece = ", ".join([*indices, "piece"] if is_along_last else ["piece", *indices])
        lines = [
            *index_lines(kept, [f"n{axis}" for axis in range(kept)]),
            "total = identity",
            "for piece in range(pieces):",
            f"    {COMBINED[FUSED_REDUCTIONS[self.name]].format(f'partial[{piece}]')}",
            f"result[{', '.join(indices) or '()'}] = total"
            + (f" / np.{dtype.name}(count)" if self.name == "mean" else ""),
        ]
        extents = [f"n{axis}" for axis in range(1, kept - 2)] if kept > 3 else []
        parameters = ("result", "partial", "identity", "pieces", "count", *extents)
        return make_kernel(f"{self._kernel_name()}_{self.name}", parameters, tuple(lines), str(self.place))

    def _kernel_name(self) -> str:
        return self.place.function if self.place.function.isidentifier() else "expression"

    @staticmethod
    def _try(ready: _Ready, leaves: Sequence[Any], queue: Any) -> None:
        """Compile both kernels by launches without work-items."""

        def none(shape: tuple[int, ...]) -> kapi_runtime.Range:
            return kapi_runtime.Range(*(0 for _ in space_of(shape)))

        result, partial = (
            allocate((1,) * len(shape), ready.dtype, ready.kind, queue) for shape in (ready.kept, ready.virtual)
        )
        target = result if ready.second is None else partial
        kapi_runtime.call_kernel_async(
            ready.first, none(ready.virtual), (), target, ready.identity, *leaves, *ready.scalars
        )
        if ready.second is not None:
            args = (result, partial, ready.identity, ready.pieces, ready.count, *_scalars(ready.kept))
            kapi_runtime.call_kernel_async(ready.second, none(ready.kept), (), *args)


def _pieces(kept: int, count: int, device: Any, is_along_last: bool) -> int:
    """Into how many work-items the reduction to one element is split."""
    most = most_items(device)
    if not is_along_last:
        return max(1, min(most // kept, count // _FEWEST_STEPS))
    lanes = 16 if device.is_cpu else 64
    if count < 4 * lanes:
        return 1
    return lanes * max(1, min(most // (lanes * kept), count // (lanes * _FEWEST_STEPS)))


def _scalars(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that a kernel over `space_of(shape)` is given."""
    return shape[1 : len(shape) - 2] if len(shape) > 3 else ()
