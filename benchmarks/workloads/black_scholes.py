"""Prices of European options by Black and Scholes: transcendental functions over independent elements."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import dpnp.scipy.special
import numba
import numpy as np
import scipy.special
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, peer_columns, wait_for

__all__ = ["build"]

RATE, VOLATILITY = 0.1, 0.2

OPENCL_C = """
kernel void black_scholes(global const double* restrict price, global const double* restrict strike,
                          global const double* restrict years, const double rate, const double volatility,
                          global double* restrict call, global double* restrict put) {
    const size_t i = get_global_id(0);
    const double spread = volatility * sqrt(years[i]);
    const double d1 = (log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread;
    const double d2 = d1 - spread;
    const double discounted = strike[i] * exp(-rate * years[i]);
    const double in1 = 0.5 + 0.5 * erf(d1 * M_SQRT1_2), in2 = 0.5 + 0.5 * erf(d2 * M_SQRT1_2);
    const double value = price[i] * in1 - discounted * in2;
    call[i] = value;
    put[i] = value - price[i] + discounted;
}
"""


@kapi.kernel
def black_scholes(item: kapi.Item, price, strike, years, rate, volatility, call, put):
    i = item.get_id(0)
    spread = volatility * math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
    d2 = d1 - spread
    discounted = strike[i] * math.exp(-rate * years[i])
    root_half = math.sqrt(0.5)
    in1 = 0.5 + 0.5 * math.erf(d1 * root_half)
    in2 = 0.5 + 0.5 * math.erf(d2 * root_half)
    value = price[i] * in1 - discounted * in2
    call[i] = value
    put[i] = value - price[i] + discounted


@numba.njit(parallel=True)
def black_scholes_numba(price, strike, years, rate, volatility, call, put):
    for i in numba.prange(price.shape[0]):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        root_half = math.sqrt(0.5)
        in1 = 0.5 + 0.5 * math.erf(d1 * root_half)
        in2 = 0.5 + 0.5 * math.erf(d2 * root_half)
        value = price[i] * in1 - discounted * in2
        call[i] = value
        put[i] = value - price[i] + discounted


def expressions(module, erf, price, strike, years):
    """The same, as array expressions of NumPy or dpnp."""
    spread = VOLATILITY * module.sqrt(years)
    d1 = (module.log(price / strike) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread
    d2 = d1 - spread
    discounted = strike * module.exp(-RATE * years)
    in1 = 0.5 + 0.5 * erf(d1 * math.sqrt(0.5))
    in2 = 0.5 + 0.5 * erf(d2 * math.sqrt(0.5))
    call = price * in1 - discounted * in2
    return call, call - price + discounted


def build(scale: float) -> Workload:
    """The workload with 524288 options at scale 1."""
    n = max(1024, int(524288 * scale) // 64 * 64)
    random = np.random.default_rng(0)
    inputs = [random.uniform(*bounds, n) for bounds in ((10.0, 50.0), (10.0, 50.0), (1.0, 2.0))]
    on_device = [dpnp.asarray(each) for each in inputs]
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, scipy.special.erf, *inputs)

    def by_dpnp() -> None:
        kept["dpnp"] = expressions(dpnp, dpnp.scipy.special.erf, *on_device)
        wait_for(kept["dpnp"][1])

    def opencl(peer: Peer) -> Column:
        results = [peer.empty(n, np.float64), peer.empty(n, np.float64)]
        parameters = (np.float64(RATE), np.float64(VOLATILITY))
        kernel = peer.kernel("black_scholes", *map(peer.array, inputs), *parameters, *results)
        return Column(lambda: peer.run(kernel, (n,)), lambda: results)

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        results = [xp.empty(n), xp.empty(n)]
        arguments = (*map(xp.asarray, inputs), RATE, VOLATILITY, *results)
        return Column(Launch(kernel, kapi.Range(n), *arguments).run, lambda: results)

    by_numba = [np.empty(n), np.empty(n)]
    offloaded = [dpnp.empty(n), dpnp.empty(n)]
    columns = {
        "NumPy": Column(by_numpy, lambda: kept["numpy"]),
        "Numba parallel": Column(lambda: black_scholes_numba(*inputs, RATE, VOLATILITY, *by_numba), lambda: by_numba),
        "dpnp": Column(by_dpnp, lambda: kept["dpnp"]),
        **peer_columns("black_scholes", [RATE, VOLATILITY, *inputs], by_numba),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, black_scholes),
        "kapi offload": Column(
            lambda: (black_scholes_numba(*on_device, RATE, VOLATILITY, *offloaded), wait_for(offloaded[1])),
            lambda: offloaded,
        ),
    }
    return Workload("black_scholes", f"{n} options, float64", columns, rtol=1e-9, atol=1e-11)
