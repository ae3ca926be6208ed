"""A filter of 31 taps over 16-bit samples, clamped to 16 bits."""

from __future__ import annotations

import numba
import numpy as np

import kapi_runtime as kapi
from workloads import Workload
from workloads.second import one_kernel

__all__ = ["build"]

TAPS = 31

OPENCL_C = """
kernel void convolution(global const short* restrict samples, global const short* restrict taps,
                        global short* restrict filtered) {
    const size_t i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < 31; k++) sum += samples[i + k] * taps[k];
    filtered[i] = clamp(sum >> 15, -32768, 32767);
}
"""


@kapi.kernel
def convolution(item: kapi.Item, samples, taps, filtered):
    i = item.get_id(0)
    total = np.int32(0)
    for k in range(TAPS):
        total += np.int32(samples[i + k]) * taps[k]
    filtered[i] = min(max(total >> 15, -32768), 32767)


@numba.njit(parallel=True)
def convolution_numba(samples, taps, filtered):
    for i in numba.prange(filtered.shape[0]):
        total = np.int32(0)
        for k in range(TAPS):
            total += np.int32(samples[i + k]) * np.int32(taps[k])
        filtered[i] = min(max(total >> 15, -32768), 32767)


def build(scale: float) -> Workload:
    """The workload with two million samples at scale 1."""
    n = max(1024, int(2**21 * scale))
    random = np.random.default_rng(0)
    samples = random.integers(-20000, 20000, n + TAPS - 1, dtype=np.int16)
    taps = random.integers(-3000, 9000, TAPS, dtype=np.int16)
    sums = np.correlate(samples.astype(np.int64), taps.astype(np.int64))
    return one_kernel(
        "convolution",
        f"{n} int16, {TAPS} taps",
        inputs=[samples, taps],
        outputs=[np.zeros(n, np.int16)],
        reference=[np.clip(sums >> 15, -32768, 32767)],
        space=kapi.Range(n),
        kernel=convolution,
        source=OPENCL_C,
        numba=convolution_numba,
    )
