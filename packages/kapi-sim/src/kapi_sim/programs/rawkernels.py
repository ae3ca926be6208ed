"""``cupyx.jit``: CuPy's words for kernels in Python, which are numba.cuda's under other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.numba_cuda import atomic, shared
from kapi_sim.numba_cuda.launches.dispatcher import Dispatcher
from kapi_sim.numba_cuda.threads.geometry import blockDim, blockIdx, grid, gridDim, gridsize, threadIdx, warpsize
from kapi_sim.numba_cuda.threads.running import is_running, running
from kapi_sim.numba_cuda.threads.synchronisation import syncthreads, syncwarp
from kapi_sim.numba_cuda.threads.warps import shfl_down_sync, shfl_sync, shfl_up_sync, shfl_xor_sync

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_dec",
    "atomic_exch",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "blockDim",
    "blockIdx",
    "grid",
    "gridDim",
    "gridsize",
    "laneid",
    "range",
    "rawkernel",
    "shared_memory",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "warpsize",
]

range = range
atomic_add, atomic_sub, atomic_exch = atomic.add, atomic.sub, atomic.exch
atomic_min, atomic_max, atomic_inc, atomic_dec = atomic.min, atomic.max, atomic.inc, atomic.dec
atomic_and, atomic_or, atomic_xor, atomic_cas = atomic.and_, atomic.or_, atomic.xor, atomic.cas


class RawKernel(Dispatcher):
    """The result of ``@cupyx.jit.rawkernel()``: a kernel that is launched by a call with grid, block and arguments."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launch the kernel, or call the function from another kernel."""
        return super().__call__(*args, **named) if is_running() else self._call(*args, **named)

    def _call(
        self, grid: Any = (1,), block: Any = (1,), args: Any = (), shared_mem: int = 0, stream: object = None
    ) -> None:
        self.configure(grid, block, 0, shared_mem)(*args)


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Callable[..., Any]], RawKernel]:
    """Return a decorator that makes kernels, or functions that kernels call.

    - `mode`: not looked at: numbers follow numba.cuda's rules.
    - `device`: whether kernels call the function.
    """
    return lambda function: RawKernel(function, (), {"device": device})


class SharedMemory(DialectIntrinsic):
    """``jit.shared_memory``."""

    def __call__(self, dtype: Any, size: int | None, alignment: int | None = None) -> Any:
        """Return the array that all threads of the block have at this place of the code.

        - `dtype`: type of the elements.
        - `size`: how many; `None` for what the launch asked for.
        - `alignment`: bytes.
        """
        return shared.array(size or 0, dtype, alignment)


class Lane(DialectIntrinsic):
    """``jit.laneid``."""

    def __call__(self) -> int:
        """Return the thread's place in its warp."""
        return running("laneid").lane


shared_memory = SharedMemory("shared_memory")
laneid = Lane("laneid")
