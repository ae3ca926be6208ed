"""The host's cost of a launch on an NVIDIA GPU, and of the first compile of a kernel: parts of cuda_speed.py."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import kapi_runtime as kapi

__all__ = ["compile_times", "launch_variants", "microseconds", "why"]

N = 256
ADD = """
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""


@kapi.kernel
def one(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = i


@kapi.kernel
def three(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@kapi.kernel
def six(item: kapi.Item, a, b, c, d, e, f):
    i = item.get_id(0)
    c[i] = a[i] + b[i] + d[i] + e[i] + f[i]


def why(error: Exception) -> str:
    """Return in one line what an error says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:1000]


def launch_variants() -> dict[str, Callable[[], Callable[[], object]]]:
    """Return what makes each way to launch; a way returns before its kernel has run."""

    def arrays() -> list[Any]:
        import cupy

        return [cupy.ones(N, cupy.float32) for _ in range(6)]

    def tensors() -> list[Any]:
        import torch

        return [torch.ones(N, device="cuda") for _ in range(3)]

    def called(kernel: Any, count: int, make: Callable[[], list[Any]]) -> Callable[[], Callable[[], object]]:
        def build() -> Callable[[], object]:
            space, given = kapi.Range(N), make()[:count]
            return lambda: kapi.call_kernel_async(kernel, space, (), *given)

        return build

    def bound_by_bindings() -> Callable[[], object]:
        """The same launch through cuda.bindings, as where the driver gives no address of its function."""
        from unittest import mock

        with mock.patch("kapi_runtime.cuda.plan.cu_launch_kernel", return_value=0):
            return three.bind(kapi.Range(N), *arrays()[:3])

    def raw_kernel() -> Callable[[], object]:
        import cupy

        kernel, (x, y, z) = cupy.RawKernel(ADD, "add"), arrays()[:3]
        given, grid, block = (x, y, z, np.int32(N)), (1,), (N,)
        return lambda: kernel(grid, block, given)

    def cupy_add() -> Callable[[], object]:
        import cupy

        x, y, z = arrays()[:3]
        return lambda: cupy.add(x, y, out=z)

    def torch_add() -> Callable[[], object]:
        import torch

        x, y, z = tensors()
        return lambda: torch.add(x, y, out=z)

    def numba_cuda(own: bool) -> Callable[[], object]:
        import cuda_numba_kernels
        from numba import cuda

        kernel = cuda.jit(cuda_numba_kernels.add)[1, N]
        x, y, z = [cuda.to_device(np.ones(N, np.float32)) for _ in range(3)] if own else arrays()[:3]
        return lambda: kernel(x, y, z)

    return {
        "kapi, 1 CuPy array": called(one, 1, arrays),
        "kapi, 3 CuPy arrays": called(three, 3, arrays),
        "kapi, 6 CuPy arrays": called(six, 6, arrays),
        "kapi, 3 PyTorch tensors": called(three, 3, tensors),
        "kapi, bound, 3 CuPy arrays": lambda: three.bind(kapi.Range(N), *arrays()[:3]),
        "kapi, bound, 3 CuPy arrays, by cuda.bindings": bound_by_bindings,
        "CuPy RawKernel, 3 arrays": raw_kernel,
        "cupy.add": cupy_add,
        "torch.add": torch_add,
        "numba-cuda, 3 of its arrays": lambda: numba_cuda(True),
        "numba-cuda, 3 CuPy arrays": lambda: numba_cuda(False),
    }


def microseconds(
    launches: Mapping[str, Callable[[], object]], wait: Callable[[], object], rounds: int, batch: int
) -> dict[str, float]:
    """Return the median time of a launch in interleaved batches; the device is idle when one begins."""
    taken: dict[str, list[float]] = {name: [] for name in launches}
    for iteration in range(rounds + 1):  # the first warms up
        for name, launch in launches.items():
            wait()
            start = time.perf_counter()
            for _ in range(batch):
                launch()
            if iteration:
                taken[name].append((time.perf_counter() - start) / batch * 1e6)
    wait()
    return {name: statistics.median(each) for name, each in taken.items()}


def compile_times(more: int = 5) -> dict[str, dict[str, Any]]:
    """Return for kapi, NVRTC and numba-cuda what it takes from a new kernel to its first result, in milliseconds.

    `cold` is the first kernel of the process, `warm` the median of the others.  No kernel was ever compiled before,
    here or for a cache: each has a number in it that is new.
    """
    import cupy

    x = cupy.ones(N, cupy.float32)
    wait = cupy.cuda.Device().synchronize
    wait()
    fresh = time.time_ns() % 10**9

    def in_kapi(number: int) -> None:
        def first(item: kapi.Item, x):
            i = item.get_id(0)
            x[i] = x[i] * x[i] + number

        kapi.call_kernel(kapi.kernel(first), kapi.Range(N), x)

    def in_cpp(number: int) -> None:
        text = (
            'extern "C" __global__ void first(float* x) { x[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x] + NUMBER; }'
        )
        text = text.replace("NUMBER", str(number))
        cupy.RawModule(code=text, options=("-fmad=false",)).get_function("first")((1,), (N,), (x,))

    def in_numba(number: int) -> None:
        from numba import cuda

        term = np.float32(number)

        def first(x):
            i = cuda.grid(1)
            x[i] = x[i] * x[i] + term

        cuda.jit(first)[1, N](x)

    found: dict[str, dict[str, Any]] = {}
    for name, build in (("kapi", in_kapi), ("CUDA C++ by NVRTC", in_cpp), ("numba-cuda", in_numba)):
        times = []
        try:
            if build is in_numba:
                import cuda_numba_kernels  # noqa: F401  an import is no compile; it mends NumPy for numba-cuda
            for iteration in range(more + 1):
                start = time.perf_counter()
                build(fresh + iteration * 1009)
                wait()
                times.append((time.perf_counter() - start) * 1e3)
            found[name] = {"cold": round(times[0], 1), "warm": round(statistics.median(times[1:]), 1)}
        except Exception as error:
            found[name] = {"failed": why(error)}
    return found
