"""Triton's kernels of the benchmarks: a program is as many elements as its BLOCK, as its tutorials have it."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def uniform(out, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at), mask=at < n)


@triton.jit
def normal(out, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at), mask=at < n)


@triton.jit
def saxpy(a, x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def gather(x, indices, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.load(x + tl.load(indices + at, mask=inside), mask=inside), mask=inside)


@triton.jit
def sums(x, sums, SHARE: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * (BLOCK * SHARE)
    own = tl.zeros((BLOCK,), tl.float32)
    for k in range(SHARE):
        own += tl.load(x + first + k * BLOCK + tl.arange(0, BLOCK))
    tl.store(sums + tl.program_id(0), tl.sum(own))


@triton.jit
def pairwise(x, y, d, n, m, features, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for k in range(features):
        t = tl.load(x + i * features + k, mask=i < n) - tl.load(y + j * features + k, mask=j < m)
        total += t * t
    tl.store(d + i * m + j, tl.sqrt_rn(total), mask=(i < n) & (j < m))


@triton.jit
def stencil(x, y, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None] + 1
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)[None, :] + 1
    inside = (i < n - 1) & (j < n - 1)
    at = i * n + j
    total = tl.load(x + at, mask=inside) + tl.load(x + at - n, mask=inside) + tl.load(x + at + n, mask=inside)
    total += tl.load(x + at - 1, mask=inside) + tl.load(x + at + 1, mask=inside)
    tl.store(y + at, 0.2 * total, mask=inside)


@triton.jit
def black_scholes(price, strike, years, rate, volatility, call, put, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    s, k, t = (
        tl.load(price + at, mask=inside, other=1.0),
        tl.load(strike + at, mask=inside, other=1.0),
        tl.load(years + at, mask=inside, other=1.0),
    )
    spread = volatility * tl.sqrt_rn(t)
    d1 = (tl.log(tl.div_rn(s, k)) + (rate + 0.5 * volatility * volatility) * t) / spread
    d2 = d1 - spread
    discounted = k * tl.exp(-rate * t)
    in1 = 0.5 + 0.5 * tl.erf(d1 * 0.7071067811865476)
    in2 = 0.5 + 0.5 * tl.erf(d2 * 0.7071067811865476)
    value = s * in1 - discounted * in2
    tl.store(call + at, value, mask=inside)
    tl.store(put + at, value - s + discounted, mask=inside)
