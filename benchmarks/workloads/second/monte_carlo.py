"""Points within a circle by a xorshift generator in each work-item: uint32 shifts, conversions to float."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

DRAWS = 64

OPENCL_C = """
uint next(uint state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

kernel void monte_carlo(global const uint* restrict seeds, global int* restrict inside) {
    uint state = seeds[get_global_id(0)];
    int count = 0;
    for (int k = 0; k < 64; k++) {
        state = next(state);
        const float x = state * 0x1p-32f;
        state = next(state);
        const float y = state * 0x1p-32f;
        if (x * x + y * y < 1.0f) count++;
    }
    inside[get_global_id(0)] = count;
}
"""


def following(state):
    state ^= state << 13
    state ^= state >> 17
    state ^= state << 5
    return state


@kapi.kernel
def monte_carlo(item: kapi.Item, seeds, inside):
    i = item.get_id(0)
    state = seeds[i]
    count = 0
    for _ in range(DRAWS):
        state = following(state)
        x = np.float32(state) * 2.0**-32
        state = following(state)
        y = np.float32(state) * 2.0**-32
        if x * x + y * y < 1.0:
            count += 1
    inside[i] = count


@numba.njit
def following_numba(state):
    state = np.uint32(state ^ state << np.uint32(13))
    state = np.uint32(state ^ state >> np.uint32(17))
    return np.uint32(state ^ state << np.uint32(5))


@numba.njit(parallel=True)
def monte_carlo_numba(seeds, inside):
    for i in numba.prange(seeds.shape[0]):
        state = seeds[i]
        count = 0
        for _ in range(DRAWS):
            state = following_numba(state)
            x = np.float32(state) * np.float32(2.0**-32)
            state = following_numba(state)
            y = np.float32(state) * np.float32(2.0**-32)
            if x * x + y * y < np.float32(1.0):
                count += 1
        inside[i] = count


def reference(seeds):
    def draw(state):
        state = state ^ state << 13
        state = state ^ state >> 17
        return state ^ state << 5

    state, count = seeds, np.zeros(seeds.size, np.int32)
    for _ in range(DRAWS):
        state = draw(state)
        x = state.astype(np.float32) * np.float32(2.0**-32)
        state = draw(state)
        y = state.astype(np.float32) * np.float32(2.0**-32)
        count += x * x + y * y < 1
    return count


def build(scale: float) -> Workload:
    """The workload with half a million generators at scale 1."""
    n = max(1024, int(2**19 * scale))
    seeds = np.random.default_rng(0).integers(1, 2**32, n, dtype=np.uint32)
    return one_kernel(
        "monte_carlo",
        f"{n} generators, {DRAWS} points each",
        inputs=[seeds],
        outputs=[np.zeros(n, np.int32)],
        reference=[reference(seeds)],
        space=kapi.Range(n),
        kernel=monte_carlo,
        source=OPENCL_C,
        numba=monte_carlo_numba,
        atol=1,  # contraction
    )
