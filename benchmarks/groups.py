"""Cost of group algorithms and atomics: built-in operations, trees in local memory, loops of broadcasts, OpenCL C.

    python benchmarks/groups.py [scale]

Each candidate does the same work; the times are of interleaved runs, in milliseconds, fastest first in each family.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from opencl_peer import Peer, share_driver_with_pyopencl
from timing import interleaved

share_driver_with_pyopencl()

import dpnp  # noqa: E402
import numpy as np  # noqa: E402

import kapi_runtime as kapi  # noqa: E402
from kapi_runtime.kernels.kernel import Kernel  # noqa: E402
from kapi_spirv import SpirvTarget  # noqa: E402

WIDTH, BINS = 256, 256
CORE = SpirvTarget()
SHUFFLING = SpirvTarget(version="1.3")
EXTENDED = SpirvTarget(extensions=("SPV_KHR_uniform_group_instructions",))
FLOAT_ATOMICS = SpirvTarget(float_atomic_add=(32, 64))

OPENCL_C = """
kernel void builtin(global const int* restrict x, global int* restrict out) {
    const int sum = work_group_reduce_add(x[get_global_id(0)]);
    if (get_local_id(0) == 0) out[get_group_id(0)] = sum;
}
kernel void tree(global const int* restrict x, global int* restrict out) {
    local int tile[256];
    const size_t lane = get_local_id(0);
    tile[lane] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = 128; width > 0; width /= 2) {
        if (lane < width) tile[lane] += tile[lane + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0) out[get_group_id(0)] = tile[0];
}
kernel void scan(global const int* restrict x, global int* restrict out) {
    out[get_global_id(0)] = work_group_scan_inclusive_add(x[get_global_id(0)]);
}
kernel void histogram(global const int* restrict x, global int* restrict out) {
    atomic_inc(&out[x[get_global_id(0)] & 255]);
}
"""


def builtin(item: kapi.NdItem, x, out):
    group = item.get_group()
    total = kapi.reduce_over_group(group, x[item.get_global_id(0)], kapi.plus)
    if group.leader:
        out[group.get_group_id(0)] = total


def tree(item: kapi.NdItem, x, out, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    tile[lane] = x[item.get_global_id(0)]
    kapi.group_barrier(group)
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        kapi.group_barrier(group)
        width //= 2
    if lane == 0:
        out[group.get_group_id(0)] = tile[0]


def product(item: kapi.NdItem, x, out):
    group = item.get_group()
    total = kapi.reduce_over_group(group, x[item.get_global_id(0)], kapi.multiplies)
    if group.leader:
        out[group.get_group_id(0)] = total


def product_of_sub_group(item: kapi.NdItem, x, out):
    i = item.get_global_id(0)
    out[i] = kapi.reduce_over_group(item.get_sub_group(), x[i], kapi.multiplies)


def scan(item: kapi.NdItem, x, out):
    i = item.get_global_id(0)
    out[i] = kapi.inclusive_scan_over_group(item.get_group(), x[i], kapi.plus)


def neighbours(item: kapi.NdItem, x, out):
    i = item.get_global_id(0)
    sub = item.get_sub_group()
    out[i] = x[i] + kapi.permute_group_by_xor(sub, x[i], 1)


def histogram(item: kapi.NdItem, x, out):
    kapi.AtomicRef(out, x[item.get_global_id(0)] & 255).fetch_add(1)


def float_histogram(item: kapi.NdItem, x, out):
    kapi.AtomicRef(out, x[item.get_global_id(0)] & 255).fetch_add(0.5)


def families(n: int) -> dict[str, dict[str, Callable[[], object]]]:
    """The comparisons, over `n` work-items."""
    x = np.random.default_rng(0).integers(0, 1000, n).astype(np.int32)
    on_device = dpnp.asarray(x)
    peer = Peer(OPENCL_C, contract=False)
    peer_x = peer.array(x)
    space = kapi.NdRange(n, WIDTH)

    def in_kapi(function: Callable[..., None], size: int, target: SpirvTarget = CORE, dtype: type = np.int32) -> object:
        kernel, out = Kernel(function, target=target), dpnp.zeros(size, dtype=dtype)
        more = [kapi.LocalAccessor(WIDTH, np.int32)] if function is tree else []
        return lambda: kapi.call_kernel(kernel, space, on_device, out, *more)

    def in_opencl(name: str, size: int) -> object:
        kernel = peer.kernel(name, peer_x, peer.array(np.zeros(size, np.int32)))
        return lambda: peer.run(kernel, (n,), (WIDTH,))

    groups = n // WIDTH
    return {
        "sum over a work-group": {
            "OpenCL C, built in": in_opencl("builtin", groups),
            "OpenCL C, tree": in_opencl("tree", groups),
            "kapi, reduce_over_group": in_kapi(builtin, groups),
            "kapi, tree": in_kapi(tree, groups),
        },
        "scan over a work-group": {
            "OpenCL C, built in": in_opencl("scan", n),
            "kapi, inclusive_scan_over_group": in_kapi(scan, n),
        },
        "product over a work-group": {
            "kapi, broadcasts": in_kapi(product, groups),
            "kapi, extension": in_kapi(product, groups, EXTENDED),
        },
        "product over a sub-group": {
            "kapi, broadcasts": in_kapi(product_of_sub_group, n),
            "kapi, extension": in_kapi(product_of_sub_group, n, EXTENDED),
        },
        "permutation in a sub-group": {
            "kapi, broadcasts": in_kapi(neighbours, n),
            "kapi, shuffle": in_kapi(neighbours, n, SHUFFLING),
        },
        "global atomics on 256 cells": {
            "OpenCL C, int32": in_opencl("histogram", BINS),
            "kapi, int32": in_kapi(histogram, BINS),
            "kapi, float32 by compare-exchange": in_kapi(float_histogram, BINS, CORE, np.float32),
            "kapi, float32 native": in_kapi(float_histogram, BINS, FLOAT_ATOMICS, np.float32),
        },
    }


def main() -> None:
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    n = max(WIDTH, int(2**22 * scale) // WIDTH * WIDTH)
    for family, candidates in families(n).items():
        print(f"{family}, {n} work-items in groups of {WIDTH}")
        timings = interleaved(candidates, rounds=9, seconds=4.0)
        for name, timing in sorted(timings.items(), key=lambda each: each[1].median):
            print(f"  {name:38} {timing.median * 1e3:8.2f} (fastest {timing.fastest * 1e3:.2f})")


if __name__ == "__main__":
    main()
