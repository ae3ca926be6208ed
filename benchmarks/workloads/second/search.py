"""Indices of numbers in a sorted array by binary search: a while loop of dependent reads."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

OPENCL_C = """
kernel void search(global const float* restrict sorted, global const float* restrict wanted,
                   global int* restrict indices, const int n) {
    const size_t i = get_global_id(0);
    const float value = wanted[i];
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1; else high = middle;
    }
    indices[i] = low;
}
"""


@kapi.kernel
def search(item: kapi.Item, sorted_, wanted, indices):
    i = item.get_id(0)
    low, high = 0, sorted_.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_[middle] < wanted[i]:
            low = middle + 1
        else:
            high = middle
    indices[i] = low


@numba.njit(parallel=True)
def search_numba(sorted_, wanted, indices):
    for i in numba.prange(wanted.shape[0]):
        low, high = 0, sorted_.shape[0]
        while low < high:
            middle = (low + high) // 2
            if sorted_[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        indices[i] = low


def build(scale: float) -> Workload:
    """The workload with half a million searches among 65,536 numbers at scale 1."""
    n = max(1024, int(2**19 * scale))
    random = np.random.default_rng(0)
    numbers, wanted = np.sort(random.random(65536, dtype=np.float32)), random.random(n, dtype=np.float32)
    return one_kernel(
        "search",
        f"{n} float32 in {numbers.size}",
        inputs=[numbers, wanted],
        outputs=[np.zeros(n, np.int32)],
        reference=[np.searchsorted(numbers, wanted)],
        space=kapi.Range(n),
        kernel=search,
        source=OPENCL_C,
        sizes=[np.int32(numbers.size)],
        numba=search_numba,
    )
