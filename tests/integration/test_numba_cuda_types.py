"""`kapi_sim.numba_cuda` takes Numba's own types where Numba is installed, as programs import them."""

from __future__ import annotations

import numba
import numpy as np
from numba import boolean, complex64, float32, int32, int64, uint8, void

from kapi_sim import numba_cuda as cuda


def test_types_of_memory():
    @cuda.jit
    def kernel(a):
        shared = cuda.shared.array(2, int32)
        own = cuda.local.array((2,), dtype=float32)
        shared[cuda.threadIdx.x] = cuda.threadIdx.x + 1
        own[0] = 0.1
        cuda.syncthreads()
        a[cuda.threadIdx.x] = shared[1 - cuda.threadIdx.x]
        if cuda.threadIdx.x == 0:
            a[2] = own[0]

    a = np.zeros(3)
    kernel[1, 2](a)
    assert a.tolist() == [2, 1, float(np.float32(0.1))]
    assert cuda.device_array(2, complex64).dtype == np.complex64
    assert cuda.device_array(2, boolean).dtype == np.bool_


def test_records_as_types():
    dtype = np.dtype([("x", np.int32), ("y", np.float64)], align=True)
    record = numba.from_dtype(dtype)

    @cuda.jit
    def kernel(a):
        own = cuda.local.array(1, record)
        own[0].x = 3
        own[0].y = 0.5
        a[0] = own[0].x + own[0].y

    a = np.zeros(1)
    kernel[1, 1](a)
    assert a[0] == 3.5


def test_conversions_in_kernels():
    @cuda.jit
    def kernel(a):
        a[0] = int32(2**31)
        a[1] = uint8(300)
        a[2] = int32(2**31 - 1) + int32(1)

    a = np.zeros(3, np.int64)
    kernel[1, 1](a)
    # Numba computes with integers of 32 bits in 64.
    assert a.tolist() == [-(2**31), 44, 2**31]


def test_signatures():
    @cuda.jit(void(int64[:], uint8))
    def kernel(a, n):
        a[0] = n

    a = np.zeros(1, np.int64)
    kernel[1, 1](a, 300)
    assert a[0] == 44


def test_host_functions_are_device_functions():
    @numba.njit
    def twice(a, i):
        return 2 * a[i]

    @cuda.jit
    def kernel(a):
        a[0] = twice(a, 1)

    a = np.array([0, 21])
    kernel[1, 1](a)
    assert a[0] == 42
