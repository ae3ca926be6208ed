"""Random momenta of massless particles (the generator called RAMBO): functions, four results an element."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, wait_for

__all__ = ["build"]

PARTICLES = 4

OPENCL_C = """
kernel void rambo(global const double* restrict c1, global const double* restrict f1, global const double* restrict q1,
                  global double4* restrict momenta) {
    const size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    const double c = 2.0 * c1[i] - 1.0, s = sqrt(1.0 - c * c), f = 2.0 * M_PI * f1[i], q = -log(q1[i]);
    momenta[i] = (double4)(q, q * s * sin(f), q * s * cos(f), q * c);
}
"""


@kapi.kernel
def rambo(item: kapi.Item, c1, f1, q1, momenta):
    i = item.get_id(0)
    j = item.get_id(1)
    c = 2.0 * c1[i, j] - 1.0
    s = math.sqrt(1.0 - c * c)
    f = 2.0 * math.pi * f1[i, j]
    q = -math.log(q1[i, j])
    momenta[i, j, 0] = q
    momenta[i, j, 1] = q * s * math.sin(f)
    momenta[i, j, 2] = q * s * math.cos(f)
    momenta[i, j, 3] = q * c


@numba.njit(parallel=True)
def rambo_numba(c1, f1, q1, momenta):
    for i in numba.prange(c1.shape[0]):
        for j in numba.prange(c1.shape[1]):
            c = 2.0 * c1[i, j] - 1.0
            s = math.sqrt(1.0 - c * c)
            f = 2.0 * math.pi * f1[i, j]
            q = -math.log(q1[i, j])
            momenta[i, j, 0] = q
            momenta[i, j, 1] = q * s * math.sin(f)
            momenta[i, j, 2] = q * s * math.cos(f)
            momenta[i, j, 3] = q * c


def expressions(module, c1, f1, q1):
    """The same, as array expressions of NumPy or dpnp."""
    c = 2.0 * c1 - 1.0
    s = module.sqrt(1.0 - c * c)
    f = 2.0 * math.pi * f1
    q = -module.log(q1)
    return module.stack((q, q * s * module.sin(f), q * s * module.cos(f), q * c), axis=2)


def build(scale: float) -> Workload:
    """The workload with 32768 events of 4 particles at scale 1."""
    n = max(1024, int(32768 * scale) // 64 * 64)
    random = np.random.default_rng(0)
    inputs = [1.0 - random.random((n, PARTICLES)) for _ in range(3)]  # never 0, whose logarithm is infinite
    on_device = [dpnp.asarray(each) for each in inputs]
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, *inputs)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(expressions(dpnp, *on_device))

    def opencl(peer: Peer) -> Column:
        momenta = peer.empty((n, PARTICLES, 4), np.float64)
        kernel = peer.kernel("rambo", *map(peer.array, inputs), momenta)
        return Column(lambda: peer.run(kernel, (PARTICLES, n)), lambda: [momenta])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        momenta = xp.empty((n, PARTICLES, 4))
        arguments = (*map(xp.asarray, inputs), momenta)
        return Column(Launch(kernel, kapi.Range(n, PARTICLES), *arguments).run, lambda: [momenta])

    momenta, offloaded = np.empty((n, PARTICLES, 4)), dpnp.empty((n, PARTICLES, 4))
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: rambo_numba(*inputs, momenta), lambda: [momenta]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, rambo),
        "kapi offload": Column(lambda: (rambo_numba(*on_device, offloaded), wait_for(offloaded)), lambda: [offloaded]),
    }
    return Workload("rambo", f"{n} events of {PARTICLES} particles, float64", columns, rtol=1e-9, atol=1e-12)
