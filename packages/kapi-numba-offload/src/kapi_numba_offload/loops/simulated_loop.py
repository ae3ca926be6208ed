"""A parallel loop in the simulator, over copies of its arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

import kapi_sim
from kapi_numba_offload.elements.numbers import is_narrow
from kapi_numba_offload.elements.reduction_operators import COMBINATIONS
from kapi_numba_offload.libraries.arrays import arrays_among
from kapi_numba_offload.loops.host.host_copies import HostCopies
from kapi_numba_offload.loops.loop_kernel import LoopFunctions
from kapi_numba_offload.loops.loop_syntax import LoopSyntax

__all__ = ["identities", "simulate"]


def identities(syntax: LoopSyntax, dtypes: Sequence[np.dtype[Any]]) -> dict[str, np.generic]:
    """Identity of each reduction of a loop, by its variable."""
    return {
        name: COMBINATIONS[operation].identity(dtype)
        for (name, operation), dtype in zip(syntax.reductions.items(), dtypes, strict=True)
    }


def _widened(value: Any, others: Sequence[Any]) -> Any:
    """Integers with 64 bits, as kernels of loops compute with them; an array that shares memory stays as it is."""
    if not isinstance(value, (np.ndarray, np.generic)) or not is_narrow(value.dtype) or value.dtype.kind == "b":
        return value
    arrays = [each for each in others if isinstance(each, np.ndarray) and each is not value]
    if isinstance(value, np.ndarray) and any(np.may_share_memory(value, each) for each in arrays):
        return value
    return value.astype("int64")


def simulate(
    functions: LoopFunctions,
    syntax: LoopSyntax,
    body: Sequence[ast.stmt],
    bounds: Sequence[int],
    extents: Sequence[int],
    captured: Sequence[Any],
    dtypes: Sequence[np.dtype[Any]],
) -> None:
    """Run a loop in the simulator, a work-item for each iteration; one with reductions for each of the outermost loop.

    Parameters
    ----------
    functions, syntax : LoopFunctions, LoopSyntax
        The loop.
    body : sequence of ast.stmt
        What the rewriter gave.
    bounds : sequence of int
        Start, stop and step of each axis.
    extents : sequence of int
        Iterations along each axis, at least one.
    captured : sequence
        Values of the captured variables.
    dtypes : sequence of numpy.dtype
        Types of the reductions.

    Raises
    ------
    kapi_sim.KapiError
        What the simulator finds.
    """
    host = HostCopies(arrays_among(captured), always=True)
    steps = [each for at in range(0, len(bounds), 3) for each in (bounds[at], bounds[at + 2])]
    given = list(map(host.on_host, captured))
    args = [*(_widened(each, given) for each in given), *steps]
    if syntax.reductions:
        starts = identities(syntax, dtypes)
        partial = [np.empty(extents[0], dtype) for dtype in dtypes]
        args = [*partial, *starts.values(), *args, *extents[1:], extents[0], 1]
        kapi_sim.call_kernel(
            kapi_sim.kernel(functions.coarsened(body, starts)), kapi_sim.NdRange([extents[0]], [1]), *args
        )
    else:
        kapi_sim.call_kernel(kapi_sim.kernel(functions.kernel(body)), kapi_sim.Range(*extents), *args)
