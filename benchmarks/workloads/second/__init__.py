"""The second set: one kernel each, in OpenCL C, Numba's parallel loops and kapi, over the same inputs.

The kernels are written as a user would write them, and were so before anything was tuned for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns

__all__ = ["one_kernel"]


def one_kernel(
    name: str,
    size: str,
    *,
    inputs: Sequence[Any],
    outputs: Sequence[np.ndarray[Any, Any]],
    reference: Sequence[Any],
    space: kapi.Range | kapi.NdRange,
    kernel: kapi.Kernel,
    local: Sequence[kapi.LocalAccessor] = (),
    source: str,
    sizes: Sequence[Any] = (),
    numba: Callable[..., Any],
    rtol: float = 1e-9,
    atol: float = 0.0,
) -> Workload:
    """A workload of one kernel; `source` has one of the same name.

    Each implementation takes `inputs`, then its own copy of `outputs`, which holds what is there before the first run.
    The kernel takes `local` after them, and OpenCL C takes `sizes`.
    """
    is_grouped = isinstance(space, kapi.NdRange)
    global_size = tuple(reversed(space.global_range if is_grouped else space))
    local_size = tuple(reversed(space.local_range)) if is_grouped else None

    def opencl(peer: Peer) -> Column:
        own = [peer.array(each) for each in outputs]
        given = [peer.array(each) if isinstance(each, np.ndarray) else each for each in inputs]
        prepared = peer.kernel(name, *given, *own, *sizes)
        return Column(lambda: peer.run(prepared, global_size, local_size), lambda: own)

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        arrays = [xp.asarray(each) if isinstance(each, np.ndarray) else each for each in inputs]
        own = [xp.asarray(each, copy=True) for each in outputs]
        return Column(Launch(kernel, space, *arrays, *own, *local).run, lambda: own)

    by_numba = [each.copy() for each in outputs]
    columns = {
        "Numba parallel": Column(lambda: numba(*inputs, *by_numba), lambda: by_numba),
        **peer_columns(f"second.{name}", inputs, outputs),
        **opencl_columns(source, opencl),
        **kapi_columns(in_kapi, kernel),
    }
    return Workload(name, size, columns, rtol, atol, reference)
