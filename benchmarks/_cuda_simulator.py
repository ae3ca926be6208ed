"""Two kernels in numba.cuda's simulator, run on request: a name comes in as a line, seconds go out as a line."""

from __future__ import annotations

import os
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # read when numba.cuda is imported

import numpy as np
from numba import cuda

WIDTH = 256


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.shape[0]:
        c[i] = a[i] + b[i]


@cuda.jit
def tree(x, sums):
    tile = cuda.shared.array(WIDTH, "float32")
    lane = cuda.threadIdx.x
    tile[lane] = x[cuda.grid(1)]
    cuda.syncthreads()
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        cuda.syncthreads()
        width //= 2
    if lane == 0:
        sums[cuda.blockIdx.x] = tile[0]


def main() -> None:
    """Answer requests until the input ends."""
    groups = int(sys.argv[1])
    a, b, c = (np.ones(groups * WIDTH, np.float32) for _ in range(3))
    sums = np.zeros(groups, np.float32)
    for line in sys.stdin:
        start = time.perf_counter()
        if line.strip() == "vector add":
            vector_add[groups, WIDTH](a, b, c)
            assert (c == 2.0).all()
        else:
            tree[groups, WIDTH](a, sums)
            assert (sums == WIDTH).all()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
