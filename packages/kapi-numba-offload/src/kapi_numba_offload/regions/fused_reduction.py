"""A reduction of an elementwise expression: a kernel that never stores the expression, and a small second one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dpnp
import numpy as np
from dpnp.dpnp_array import dpnp_array

import kapi_runtime
from kapi_numba_offload.analysis.functions import Operand, cast
from kapi_numba_offload.loops.loop_kernel import IDENTITIES, POSITION_LINES, shares_of
from kapi_numba_offload.regions.expression import Node, evaluate, leaves_of
from kapi_numba_offload.regions.fused import FusedRegion
from kapi_numba_offload.regions.kernel_source import emit, make_kernel
from kapi_numba_offload.regions.operand_shapes import dtype_of, sample_of
from kapi_numba_offload.run.launch_record import LaunchRecord
from kapi_numba_offload.run.launching import launch
from kapi_numba_offload.run.usm import allocate, flat_view
from kapi_sim.errors import KapiError

__all__ = ["COMBINED", "FUSED_REDUCTIONS", "FusedReduction", "identity_of"]

FUSED_REDUCTIONS = {"sum": "sum", "mean": "sum", "prod": "prod", "min": "min", "max": "max", "any": "any", "all": "all"}
"""The reductions that an expression is fused into, and how each combines two values."""

COMBINED = {
    "sum": "total = total + {0}",
    "prod": "total = total * {0}",
    # What is not equal to itself is not a number, and stays the result once it is met.
    "min": "total = {0} if {0} < total or {0} != {0} else total",
    "max": "total = {0} if {0} > total or {0} != {0} else total",
    "any": "total = total or {0}",
    "all": "total = total and {0}",
}
"""The line that combines a value with the total, for each."""


def identity_of(combined: str, dtype: np.dtype[Any]) -> Any:
    """The value that changes nothing: what each work-item starts with."""
    return dtype.type(combined == "all") if combined in ("any", "all") else IDENTITIES[combined](dtype)


class _Ready(NamedTuple):
    first: kapi_runtime.Kernel
    second: kapi_runtime.Kernel
    dtype: np.dtype[Any]
    kind: str
    length: int
    identity: Any


class FusedReduction:
    """One of `FUSED_REDUCTIONS` over all elements of an elementwise expression.

    Parameters
    ----------
    name : str
        The reduction.
    region : FusedRegion
        The expression, one statement.

    Attributes
    ----------
    latest : LaunchRecord or str or None
        The latest launch, or why there was none.
    """

    def __init__(self, name: str, region: FusedRegion) -> None:
        self.name, self.region = name, region
        self.statements, self.place = region.statements, region.place
        self.latest: LaunchRecord | str | None = None
        self._ready: dict[tuple[Any, ...], _Ready | str] = {}

    def __call__(self, *leaves: Any) -> Any:
        """Run it: a 0-d dpnp array, or NumPy's answer where no leaf is a dpnp array."""
        key, queue = self.region.key(leaves)
        if queue is None:
            return getattr(np, self.name)(self.region(*leaves))
        ready = self._ready.get(key)
        if ready is None:
            ready = self._prepare(leaves, queue)
            self._ready[key] = ready
        if isinstance(ready, str):
            self.latest = ready
            return getattr(dpnp, self.name)(self.region(*leaves))
        shares = shares_of(ready.length, queue)
        partial = allocate((shares.items,), ready.dtype, "device", queue)
        result = allocate((), ready.dtype, ready.kind, queue)
        given = [flat_view(each) if isinstance(each, dpnp_array) and each.ndim > 1 else each for each in leaves]
        launch(ready.first, shares.space, [partial, ready.identity, *given, ready.length, shares.steps])
        launch(ready.second, kapi_runtime.Range(1), [result, partial, ready.identity, shares.items, ready.length])
        made = [((shares.items,), ready.dtype, "device"), ((), ready.dtype, ready.kind)]
        self.latest = LaunchRecord(ready.first, shares.space, queue, made)
        return result

    def _prepare(self, leaves: Sequence[Any], queue: Any) -> _Ready | str:
        arrays = [each for each in leaves if isinstance(each, dpnp_array) and each.ndim]
        if not arrays or any(each.shape != arrays[0].shape or not each.flags.c_contiguous for each in arrays):
            return "its operands are not contiguous arrays of one shape"
        if arrays[0].size == 0:
            return "it has no elements"
        node = self.statements[0].node
        values: dict[Node, Any] = {}
        samples = [sample_of(each) if isinstance(each, dpnp_array) else each for each in leaves]
        try:
            element = evaluate(node, samples, (), values)
            result = getattr(dpnp, self.name)(element)
            dtype, combined = result.dtype, FUSED_REDUCTIONS[self.name]
            identity = identity_of(combined, dtype)
            first = self._first(node, leaves, {each: dtype_of(value) for each, value in values.items()}, dtype)
            second = self._second(dtype)
            ready = _Ready(first, second, dtype, result.usm_type, arrays[0].size, identity)
            self._try(ready, leaves, queue)
        except (KapiError, TypeError, ValueError) as error:
            return str(error)  # what dpnp refuses it refuses with its own words when it is asked
        return ready

    def _first(
        self, node: Node, leaves: Sequence[Any], dtypes: dict[Node, Any], dtype: np.dtype[Any]
    ) -> kapi_runtime.Kernel:
        used = leaves_of(node)
        operands = [Operand(f"x{number}", dtype_of(leaf)) for number, leaf in enumerate(leaves)]
        value = emit(node, operands, (), dtypes)
        as_bool = dtype.kind == "b"
        lines = [
            *POSITION_LINES,
            "total = identity",
            "for step in range(kapi_steps):",
            "    i = kapi_base + step * kapi_lanes",
            "    if i < count:",
            *(
                f"        x{number} = a{number}[{'i' if leaf.ndim else '()'}]"
                for number, leaf in enumerate(leaves)
                if isinstance(leaf, dpnp_array) and number in used
            ),
            f"        value = {f'({value.source} != 0)' if as_bool else cast(value, dtype)}",
            f"        {COMBINED[FUSED_REDUCTIONS[self.name]].format('value')}",
            "partial[kapi_row * kapi_lanes + kapi_lane] = total",
        ]
        given = [f"{'a' if isinstance(leaf, dpnp_array) else 'x'}{number}" for number, leaf in enumerate(leaves)]
        parameters = ["partial", "identity", *given, "count", "kapi_steps"]
        return make_kernel(
            self._kernel_name(), tuple(parameters), tuple(lines), str(self.place), fastmath=self.region.fastmath
        )

    def _second(self, dtype: np.dtype[Any]) -> kapi_runtime.Kernel:
        lines = [
            "total = identity",
            "for i in range(items):",
            f"    {COMBINED[FUSED_REDUCTIONS[self.name]].format('partial[i]')}",
            f"result[()] = total / np.{dtype.name}(count)" if self.name == "mean" else "result[()] = total",
        ]
        parameters = ["result", "partial", "identity", "items", "count"]
        return make_kernel(f"{self._kernel_name()}_{self.name}", tuple(parameters), tuple(lines), str(self.place))

    def _kernel_name(self) -> str:
        return self.place.function if self.place.function.isidentifier() else "expression"

    @staticmethod
    def _try(ready: _Ready, leaves: Sequence[Any], queue: Any) -> None:
        """Compile both kernels by launches without work-items."""
        partial = allocate((1,), ready.dtype, "device", queue)
        result = allocate((), ready.dtype, ready.kind, queue)
        given = [flat_view(each) if isinstance(each, dpnp_array) and each.ndim > 1 else each for each in leaves]
        empty = kapi_runtime.Range(0)
        kapi_runtime.call_kernel_async(ready.first, kapi_runtime.Range(0, 0), (), partial, ready.identity, *given, 0, 0)
        kapi_runtime.call_kernel_async(ready.second, empty, (), result, partial, ready.identity, 0, 0)
