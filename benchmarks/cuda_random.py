"""Random numbers on an NVIDIA GPU: kapi's counter-based ones against cuRAND, Triton and Warp; run by itself.

    python benchmarks/cuda_random.py [--json FILE] [--quick]

It needs CuPy; Triton and Warp take part where they are installed, and cuRAND's own kernels where its headers are.  Each
contender fills the same array.  Its numbers' range, mean and deviation are verified before it is timed: by CUDA events,
medians of 7 rounds in which the contenders take turns.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cuda_launches import why
from cuda_speed import event_timer, interleaved_medians, machine

import kapi_runtime as kapi

SEED, BLOCK = 7, 1024
_PHILOX, _XORWOW = 161, 101  # cuRAND's numbers of its generators
_HEADERS = ("/usr/local/cuda/include",)

CURAND = """
#include <curand_kernel.h>
extern "C" __global__ void fill(REAL* __restrict__ out, unsigned long long n) {
    const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i * EACH >= n) return;
    curandStatePhilox4_32_10_t state;
    curand_init(7ULL, i, 0ULL, &state);
    const auto drawn = DRAW(&state);
    STORE
}
"""

Fill = Callable[[], object]


@kapi.kernel
def uniform(item: kapi.Item, out):
    i = item.get_id(0)
    out[i] = kapi.random.uniform(SEED, i, dtype=out.dtype)


@kapi.kernel
def normal(item: kapi.Item, out):
    i = item.get_id(0)
    out[i] = kapi.random.normal(SEED, i, dtype=out.dtype)


@kapi.kernel
def uniform_four(item: kapi.Item, out):
    i = item.get_id(0)
    a, b, c, d = kapi.random.philox(SEED, i, 0)
    step = np.float32(2**-24)
    out[4 * i] = np.float32(a >> 8) * step
    out[4 * i + 1] = np.float32(b >> 8) * step
    out[4 * i + 2] = np.float32(c >> 8) * step
    out[4 * i + 3] = np.float32(d >> 8) * step


def host_api(out: Any, kind: str, generator: int) -> Fill:
    """The host's calls of cuRAND."""
    from cupy_backends.cuda.libs import curand

    made = curand.createGenerator(generator)
    curand.setPseudoRandomGeneratorSeed(made, SEED)
    double = "Double" if out.dtype == np.float64 else ""
    call = getattr(curand, f"generate{kind.capitalize()}{double}")
    moments = (0.0, 1.0) if kind == "normal" else ()
    return lambda: call(made, out.data.ptr, out.size, *moments)


def own_kernel(out: Any, kind: str) -> Fill:
    """A kernel in CUDA C++ with cuRAND's device functions, which draws as many at once as they give."""
    import cupy

    double = out.dtype == np.float64
    each, draw = (2, f"curand_{kind}2_double") if double else (4, f"curand_{kind}4")
    store = " ".join(f"out[EACH * i + {k}] = drawn.{'xyzw'[k]};" for k in range(each))
    text = CURAND.replace("STORE", store).replace("DRAW", draw).replace("EACH", str(each))
    text = text.replace("REAL", "double" if double else "float")
    options = ("--std=c++17", *(f"-I{folder}" for folder in _HEADERS))
    function = cupy.RawModule(code=text, options=options).get_function("fill")
    grid = (-(-out.size // each // 256),)
    return lambda: function(grid, (256,), (out, np.uint64(out.size)))


def triton_fill(out: Any, kind: str) -> Fill:
    """Triton's `rand` and `randn`."""
    import cuda_triton_kernels as kernels
    import torch

    kernel = kernels.uniform if kind == "uniform" else kernels.normal
    into = torch.as_tensor(out, device="cuda")
    grid = (-(-out.size // BLOCK),)
    return lambda: kernel[grid](into, SEED, out.size, BLOCK=BLOCK)


def warp_fill(out: Any, kind: str) -> Fill:
    """Warp's `randf` and `randn`, from a state that each thread makes of a seed."""
    import cuda_warp_kernels as kernels

    return kernels.fill(out, kind, SEED)


def contenders(out: Any, kind: str) -> dict[str, Callable[[], Fill]]:
    """Each contender's launch."""
    kernel = uniform if kind == "uniform" else normal
    launches: dict[str, Callable[[], Fill]] = {
        "kapi": lambda: kernel.bind(kapi.Range(out.size), out),
        "cuRAND, Philox": lambda: host_api(out, kind, _PHILOX),
        "cuRAND, XORWOW": lambda: host_api(out, kind, _XORWOW),
        "C++ with curand_kernel.h": lambda: own_kernel(out, kind),
    }
    if out.dtype == np.float32:
        if kind == "uniform":
            launches["kapi, four of a counter"] = lambda: uniform_four.bind(kapi.Range(out.size // 4), out)
        launches["Triton"] = lambda: triton_fill(out, kind)
        launches["Warp"] = lambda: warp_fill(out, kind)
    return launches


def wrong(out: Any, kind: str) -> str:
    """Describe the error in the numbers; an empty text if there is none."""
    mean, deviation = float(out.mean(dtype=np.float64)), float(out.std(dtype=np.float64))
    right = (0.5, math.sqrt(1 / 12)) if kind == "uniform" else (0.0, 1.0)
    near = 8 / math.sqrt(out.size)
    if not (abs(mean - right[0]) <= near and abs(deviation - right[1]) <= near):
        return f"mean {mean}, deviation {deviation} where {right} are right"
    if kind == "uniform" and not (float(out.min()) >= 0 and float(out.max()) <= 1):
        return f"numbers from {float(out.min())} to {float(out.max())}"
    return ""


def measured(kind: str, dtype: str, count: int) -> dict[str, Any]:
    """The record of one kind of numbers."""
    import cupy

    out = cupy.empty(count, dtype)
    good: dict[str, Fill] = {}
    failed: dict[str, str] = {}
    for name, build in contenders(out, kind).items():
        try:
            out[...] = math.nan
            fill = build()
            fill()
            cupy.cuda.Device().synchronize()
            message = wrong(out, kind)
        except Exception as error:
            message = why(error)
        if message:
            failed[name] = message
        else:
            good[name] = fill
    medians, rounds = interleaved_medians(good, event_timer())
    rates = {name: count / ms / 1e6 for name, ms in medians.items()}
    return {"ms": medians, "billion a second": rates, "failed": failed, "rounds": rounds}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that all runs, not how fast")
    given = parser.parse_args()
    count = 1 << (16 if given.quick else 27)
    found = {
        f"{kind}, {dtype}": measured(kind, dtype, count)
        for kind in ("uniform", "normal")
        for dtype in ("float32", "float64")
    }
    print(" ".join(f"{name}={value}" for name, value in machine().items()))
    for title, record in found.items():
        rates = sorted(record["billion a second"].items(), key=lambda each: -each[1])
        print(f"{title}, 10^9 a second: " + ", ".join(f"{name} {rate:.0f}" for name, rate in rates))
        for name, message in record["failed"].items():
            print(f"  {name} failed: {message}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
