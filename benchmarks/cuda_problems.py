"""The problems of cuda_speed.py: each as a kernel of kapi, in CUDA C++, and as array expressions that it must equal.

`build(xp, quick)` makes them with CuPy's arrays, or with NumPy's where there is no GPU.  The C++ has indices of 32
bits, as most of it has.  Each output is written completely by every launch, but for the histogram, which adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import kernels
import numpy as np

import kapi_runtime as kapi

__all__ = ["PROBLEMS", "WIDTH", "Problem", "binary_size", "groups_of", "uniform"]

WIDTH, SHARE, BINS = 256, 64, 256
RATE, VOLATILITY = 0.1, 0.2


@dataclass
class Problem:
    """One problem at one size.

    Attributes
    ----------
    name, size : str
        What it is.
    kernel : function
        In kapi's language.
    space : Range or NdRange
        Its work-items.
    arguments : tuple
        Its arguments.
    cpp, entry : str
        CUDA C++, and the name of its kernel.
    grid, block : tuple of int
        Of the C++ and of Numba's kernel, the fastest first.
    cpp_arguments : tuple
        Arguments of the C++.
    outputs : list
        What each contender writes.
    expected : callable
        Arrays that the outputs must equal.
    numba : str
        The function of cuda_numba_kernels.py, and what it is called with.
    own : callable, optional
        CuPy's own operation, which returns its results.
    own_expected : callable, optional
        What those must equal, if something else than `expected`.
    rtol, atol, misses : float
        How near the results must come, and which part of them need not.
    poison : int or float
        What is in the outputs before a launch that is verified.
    """

    name: str
    size: str
    kernel: Callable[..., None]
    space: Any
    arguments: tuple[Any, ...]
    cpp: str
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    cpp_arguments: tuple[Any, ...]
    outputs: list[Any]
    expected: Callable[[], Sequence[Any]]
    numba: str
    numba_arguments: tuple[Any, ...]
    own: Callable[[], Sequence[Any]] | None = None
    own_expected: Callable[[], Sequence[Any]] | None = None
    rtol: float = 1e-5
    atol: float = 0.0
    misses: float = 0.0
    poison: float = math.nan
    shown: str = field(init=False)

    def __post_init__(self) -> None:
        self.shown = f"{self.name} {self.size}"


def uniform(xp: Any, n: int, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Any:
    return (xp.random.default_rng(n % 1009).random(n, np.float32) * (high - low) + low).astype(dtype)


def binary_size(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n.bit_count() == 1 and n > 65536 else str(n)


def groups_of(n: int, width: int = WIDTH) -> int:
    return -(-n // width)


# -- saxpy


SAXPY = """
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, const float* __restrict__ y,
                                 float* __restrict__ z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i] + y[i];
}
"""


def build_saxpy(xp: Any, quick: bool) -> Problem:
    n, a = 1 << (14 if quick else 27), np.float32(2.5)
    x, y, z = uniform(xp, n), uniform(xp, n + 1)[:n], xp.empty(n, np.float32)
    own = xp.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y") if hasattr(xp, "ElementwiseKernel") else None
    return Problem(
        "saxpy", f"{binary_size(n)} f32", kernels.saxpy, kapi.Range(n), (a, x, y, z),
        SAXPY, "saxpy", (groups_of(n),), (WIDTH,), (a, x, y, z, np.int32(n)),
        [z], lambda: [a * x + y],
        "saxpy", (a, x, y, z),
        own and (lambda: [own(a, x, y, z)]),
    )  # fmt: skip


# -- distances of pairs of points


PAIRWISE = """
extern "C" __global__ void pairwise(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ d,
                                    int n, int m, int features) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    float total = 0.0f;
    for (int k = 0; k < features; k++) {
        const float t = x[i * features + k] - y[j * features + k];
        total += t * t;
    }
    d[i * m + j] = sqrtf(total);
}
"""


def build_pairwise(xp: Any, quick: bool) -> Problem:
    n, features = 100 if quick else 10000, 3
    x, y = uniform(xp, n * features).reshape(n, features), uniform(xp, n * features + 1)[:-1].reshape(n, features)
    d = xp.empty((n, n), np.float32)
    extents = tuple(map(np.int32, (n, n, features)))
    return Problem(
        "pairwise", f"{n} x {features} f32", kernels.pairwise, kapi.Range(n, n), (x, y, d),
        PAIRWISE, "pairwise", (groups_of(n, 32), groups_of(n, 8)), (32, 8), (x, y, d, *extents),
        [d], lambda: [xp.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))],
        "pairwise", (x, y, d), atol=1e-6,
    )  # fmt: skip


# -- products of matrices, by tiles in local memory


MATMUL = """
extern "C" __global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                  int n) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int j = blockIdx.x * TILE + x, i = blockIdx.y * TILE + y;
    float total = 0.0f;
    for (int t = 0; t < n; t += TILE) {
        ta[y][x] = a[i * n + t + x];
        tb[y][x] = b[(t + y) * n + j];
        __syncthreads();
        for (int k = 0; k < TILE; k++) total += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[i * n + j] = total;
}
"""


def build_matmul(tile: int, xp: Any, quick: bool) -> Problem:
    n = 64 if quick else 4096
    a, b = uniform(xp, n * n).reshape(n, n), uniform(xp, n * n + 1)[:-1].reshape(n, n)
    c = xp.empty((n, n), np.float32)
    local = [kapi.LocalAccessor((tile, tile), np.float32) for _ in range(2)]
    return Problem(
        f"matmul, tile {tile},", f"{n} f32",
        kernels.matmul_of(tile), kapi.NdRange((n, n), (tile, tile)), (a, b, c, *local),
        MATMUL.replace("TILE", str(tile)), "matmul", (n // tile, n // tile), (tile, tile), (a, b, c, np.int32(n)),
        [c], lambda: [(a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)],
        f"matmul_{tile}", (a, b, c),
        lambda: [xp.matmul(a, b, out=c)], rtol=1e-4,
    )  # fmt: skip


# -- sums


def tree(item: kapi.NdItem, x, sums, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    first = group.get_group_id(0) * (WIDTH * SHARE)
    own = np.float32(0.0)
    for k in range(SHARE):
        own += x[first + k * WIDTH + lane]
    tile[lane] = own
    kapi.group_barrier(group)
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        kapi.group_barrier(group)
        width //= 2
    if lane == 0:
        sums[group.get_group_id(0)] = tile[0]


TREE = f"""
constexpr int WIDTH = {WIDTH}, SHARE = {SHARE};
extern "C" __global__ void tree(const float* __restrict__ x, float* __restrict__ sums) {{
    __shared__ float tile[WIDTH];
    const int lane = threadIdx.x, first = blockIdx.x * WIDTH * SHARE;
    float own = 0.0f;
    for (int k = 0; k < SHARE; k++) own += x[first + k * WIDTH + lane];
    tile[lane] = own;
    __syncthreads();
    for (int width = WIDTH / 2; width > 0; width /= 2) {{
        if (lane < width) tile[lane] += tile[lane + width];
        __syncthreads();
    }}
    if (lane == 0) sums[blockIdx.x] = tile[0];
}}
"""


def over_group(item: kapi.NdItem, x, sums):
    group = item.get_group()
    lane = item.get_local_id(0)
    first = group.get_group_id(0) * (WIDTH * SHARE)
    own = np.float32(0.0)
    for k in range(SHARE):
        own += x[first + k * WIDTH + lane]
    total = kapi.reduce_over_group(group, own, kapi.plus)
    if lane == 0:
        sums[group.get_group_id(0)] = total


OVER_GROUP = f"""
constexpr int WIDTH = {WIDTH}, SHARE = {SHARE};
extern "C" __global__ void over_group(const float* __restrict__ x, float* __restrict__ sums) {{
    __shared__ float totals[32];
    const int lane = threadIdx.x, first = blockIdx.x * WIDTH * SHARE;
    float own = 0.0f;
    for (int k = 0; k < SHARE; k++) own += x[first + k * WIDTH + lane];
    for (int d = 16; d > 0; d /= 2) own += __shfl_down_sync(0xffffffffu, own, d);
    if (lane % 32 == 0) totals[lane / 32] = own;
    __syncthreads();
    if (lane < 32) {{
        own = lane < WIDTH / 32 ? totals[lane] : 0.0f;
        for (int d = WIDTH / 64; d > 0; d /= 2) own += __shfl_down_sync(0xffffffffu, own, d);
        if (lane == 0) sums[blockIdx.x] = own;
    }}
}}
"""


def build_sum(name: str, xp: Any, quick: bool) -> Problem:
    n = 1 << (16 if quick else 28)
    groups = n // (WIDTH * SHARE)
    x, sums = uniform(xp, n), xp.empty(groups, np.float32)
    is_tree = name == "tree reduction"
    local = [kapi.LocalAccessor(WIDTH, np.float32)] if is_tree else []
    return Problem(
        name, f"{binary_size(n)} f32", tree if is_tree else over_group,
        kapi.NdRange((groups * WIDTH,), (WIDTH,)), (x, sums, *local),
        TREE if is_tree else OVER_GROUP, "tree" if is_tree else "over_group", (groups,), (WIDTH,), (x, sums),
        [sums], lambda: [x.reshape(groups, -1).sum(axis=1, dtype=np.float64)],
        "tree" if is_tree else "over_group", (x, sums),
        lambda: [xp.sum(x, keepdims=True)], lambda: [xp.sum(x, keepdims=True, dtype=np.float64)], rtol=1e-4,
    )  # fmt: skip


# -- a histogram, by atomics in local memory


def histogram(item: kapi.NdItem, values, counts, share, bins):
    group = item.get_group()
    lane = item.get_local_id(0)
    for k in range(lane, BINS, WIDTH):
        bins[k] = 0
    kapi.group_barrier(group)
    first = group.get_group_id(0) * share
    for i in range(first + lane, first + share, WIDTH):
        count = kapi.AtomicRef(
            bins, values[i], memory_scope=kapi.MemoryScope.WORK_GROUP, address_space=kapi.AddressSpace.LOCAL
        )
        count.fetch_add(1)
    kapi.group_barrier(group)
    for k in range(lane, BINS, WIDTH):
        kapi.AtomicRef(counts, k).fetch_add(bins[k])


HISTOGRAM = f"""
constexpr int WIDTH = {WIDTH}, BINS = {BINS};
extern "C" __global__ void histogram(const unsigned char* __restrict__ values, int* __restrict__ counts, int share) {{
    __shared__ int bins[BINS];
    const int lane = threadIdx.x, first = blockIdx.x * share;
    for (int k = lane; k < BINS; k += WIDTH) bins[k] = 0;
    __syncthreads();
    for (int i = first + lane; i < first + share; i += WIDTH) atomicAdd(&bins[values[i]], 1);
    __syncthreads();
    for (int k = lane; k < BINS; k += WIDTH) atomicAdd(&counts[k], bins[k]);
}}
"""


def build_histogram(xp: Any, quick: bool) -> Problem:
    n, groups = (1 << 16, 16) if quick else (1 << 28, 4096)
    values, counts = (uniform(xp, n) * BINS).astype(np.uint8), xp.zeros(BINS, np.int32)
    space = kapi.NdRange((groups * WIDTH,), (WIDTH,))
    return Problem(
        "histogram", f"{binary_size(n)} bytes", histogram, space,
        (values, counts, n // groups, kapi.LocalAccessor(BINS, np.int32)),
        HISTOGRAM, "histogram", (groups,), (WIDTH,), (values, counts, np.int32(n // groups)),
        [counts], lambda: [sum(xp.bincount(each, minlength=BINS) for each in xp.split(values, 16))],
        "histogram", (values, counts, np.int32(n // groups)),
        lambda: [xp.bincount(values, minlength=BINS)], rtol=0, poison=0,
    )  # fmt: skip


# -- bodies that attract each other


N_BODY = """
extern "C" __global__ void n_body(const float4* __restrict__ bodies, float* __restrict__ velocity, float softening,
                                  float step, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 own = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; j++) {
        const float4 other = bodies[j];
        const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        const float square = dx * dx + dy * dy + dz * dz + softening;
        const float force = other.w / (square * sqrtf(square));
        ax += force * dx;
        ay += force * dy;
        az += force * dz;
    }
    velocity[3 * i] = step * ax;
    velocity[3 * i + 1] = step * ay;
    velocity[3 * i + 2] = step * az;
}
"""


def _attracted(xp: Any, bodies: Any, softening: Any, step: Any) -> Any:
    parts = []
    for first in range(0, len(bodies), 1024):
        between = [bodies[None, :, k] - bodies[first : first + 1024, None, k] for k in range(3)]
        square = sum(each * each for each in between) + softening
        force = bodies[None, :, 3] / (square * xp.sqrt(square))
        parts.append(xp.stack([step * (force * each).sum(axis=1) for each in between], axis=1))
    return xp.concatenate(parts)


def build_n_body(xp: Any, quick: bool) -> Problem:
    n = 256 if quick else 65536
    bodies, velocity = uniform(xp, 4 * n).reshape(n, 4), xp.empty((n, 3), np.float32)
    numbers = np.float32(0.01), np.float32(0.001)
    return Problem(
        "n-body", f"{n} f32", kernels.n_body, kapi.Range(n), (bodies, velocity, *numbers),
        N_BODY, "n_body", (groups_of(n),), (WIDTH,), (bodies, velocity, *numbers, np.int32(n)),
        [velocity], lambda: [_attracted(xp, bodies.astype(np.float64), *map(float, numbers))],
        # Sums of many terms of both signs: the error is relative to the terms.
        "n_body", (bodies, velocity, *numbers), rtol=1e-3, atol=1e-6 * n,
    )  # fmt: skip


# -- the Mandelbrot set


MANDELBROT = """
extern "C" __global__ void mandelbrot(int* __restrict__ steps, float left, float top, float step, int most, int size) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= size || j >= size) return;
    const float cx = left + j * step, cy = top + i * step;
    float x = 0.0f, y = 0.0f;
    int n = 0;
    while (n < most && x * x + y * y <= 4.0f) {
        const float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    steps[i * size + j] = n;
}
"""


def _escapes(xp: Any, size: int, left: Any, top: Any, step: Any, most: int) -> Any:
    index = xp.arange(size, dtype=np.float32)
    cx, cy = (left + index * step)[None, :], (top + index * step)[:, None]
    x, y = xp.zeros((size, size), np.float32), xp.zeros((size, size), np.float32)
    counts, inside = xp.zeros((size, size), np.int32), xp.ones((size, size), bool)
    with np.errstate(all="ignore"):
        for _ in range(most):
            inside &= x * x + y * y <= 4
            counts += inside
            x, y = x * x - y * y + cx, 2 * x * y + cy
    return counts


def build_mandelbrot(xp: Any, quick: bool) -> Problem:
    size, most = (64, 32) if quick else (4096, 256)
    steps = xp.empty((size, size), np.int32)
    numbers = np.float32(-2.0), np.float32(-1.25), np.float32(2.5 / size), np.int32(most)
    return Problem(
        "mandelbrot", f"{size}, {most} steps", kernels.mandelbrot, kapi.Range(size, size), (steps, *numbers),
        MANDELBROT, "mandelbrot", (groups_of(size, 32), groups_of(size, 8)), (32, 8), (steps, *numbers, np.int32(size)),
        [steps], lambda: [_escapes(xp, size, *numbers[:3], most)],
        # Contraction moves a few points of the border.
        "mandelbrot", (steps, *numbers), rtol=0, misses=0.01, poison=-1,
    )  # fmt: skip


# -- prices of options


def black_scholes(item: kapi.Item, price, strike, years, rate, volatility, call, put):
    i = item.get_id(0)
    spread = volatility * math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
    d2 = d1 - spread
    discounted = strike[i] * math.exp(-rate * years[i])
    in1 = 0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)
    in2 = 0.5 + 0.5 * math.erf(d2 * 0.7071067811865476)
    value = price[i] * in1 - discounted * in2
    call[i] = value
    put[i] = value - price[i] + discounted


BLACK_SCHOLES = """
extern "C" __global__ void black_scholes(const REAL* __restrict__ price, const REAL* __restrict__ strike,
                                         const REAL* __restrict__ years, REAL rate, REAL volatility,
                                         REAL* __restrict__ call, REAL* __restrict__ put, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const REAL half = 0.5, root_half = 0.7071067811865476;
    const REAL spread = volatility * sqrt(years[i]);
    const REAL d1 = (log(price[i] / strike[i]) + (rate + half * volatility * volatility) * years[i]) / spread;
    const REAL d2 = d1 - spread;
    const REAL discounted = strike[i] * exp(-rate * years[i]);
    const REAL in1 = half + half * erf(d1 * root_half), in2 = half + half * erf(d2 * root_half);
    const REAL value = price[i] * in1 - discounted * in2;
    call[i] = value;
    put[i] = value - price[i] + discounted;
}
"""


def _prices(xp: Any, price: Any, strike: Any, years: Any, rate: float, volatility: float) -> list[Any]:
    if xp is np:
        erf = np.vectorize(math.erf)
    else:
        from cupyx.scipy.special import erf
    price, strike, years = (each.astype(np.float64) for each in (price, strike, years))
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    discounted = strike * xp.exp(-rate * years)
    in1, in2 = (0.5 + 0.5 * erf(each * math.sqrt(0.5)) for each in (d1, d1 - spread))
    call = price * in1 - discounted * in2
    return [call, call - price + discounted]


def build_black_scholes(real: Any, xp: Any, quick: bool) -> Problem:
    n = 1 << (12 if quick else 25)
    inputs = [uniform(xp, n + k, real, *bounds)[:n] for k, bounds in enumerate(((10, 50), (10, 50), (1, 2)))]
    call, put = xp.empty(n, real), xp.empty(n, real)
    rate, volatility = real(RATE), real(VOLATILITY)
    arguments = (*inputs, rate, volatility, call, put)
    single = real is np.float32
    return Problem(
        "Black-Scholes", f"{binary_size(n)} {'f32' if single else 'f64'}", black_scholes, kapi.Range(n), arguments,
        BLACK_SCHOLES.replace("REAL", "float" if single else "double"), "black_scholes",
        (groups_of(n),), (WIDTH,), (*arguments, np.int32(n)),
        [call, put], lambda: _prices(xp, *inputs, float(rate), float(volatility)),
        "black_scholes_f32" if single else "black_scholes_f64", arguments,
        rtol=1e-4 if single else 1e-10, atol=2e-4 if single else 1e-11,
    )  # fmt: skip


# -- a stencil of five points


def stencil(item: kapi.Item, x, y):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    y[i, j] = np.float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


STENCIL = """
extern "C" __global__ void stencil(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x + 1, i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= n - 1 || j >= n - 1) return;
    const int at = i * n + j;
    y[at] = 0.2f * (x[at] + x[at - n] + x[at + n] + x[at - 1] + x[at + 1]);
}
"""


def build_stencil(xp: Any, quick: bool) -> Problem:
    n = 64 if quick else 8192
    x, y = uniform(xp, n * n).reshape(n, n), xp.empty((n, n), np.float32)
    inner = y[1:-1, 1:-1]
    grid = groups_of(n - 2, 32), groups_of(n - 2, 8)
    return Problem(
        "stencil", f"{n} x {n} f32", stencil, kapi.Range(n - 2, n - 2), (x, y),
        STENCIL, "stencil", grid, (32, 8), (x, y, np.int32(n)),
        [inner], lambda: [np.float32(0.2) * (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])],
        "stencil", (x, y),
    )  # fmt: skip


# -- a gather


def gather(item: kapi.Item, x, indices, y):
    i = item.get_id(0)
    y[i] = x[indices[i]]


GATHER = """
extern "C" __global__ void gather(const float* __restrict__ x, const int* __restrict__ indices, float* __restrict__ y,
                                  int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[indices[i]];
}
"""


def build_gather(xp: Any, quick: bool) -> Problem:
    n = 1 << (14 if quick else 27)
    x, y = uniform(xp, n), xp.empty(n, np.float32)
    indices = xp.minimum((xp.random.default_rng(3).random(n) * n).astype(np.int32), n - 1)
    return Problem(
        "gather", f"{binary_size(n)} f32", gather, kapi.Range(n), (x, indices, y),
        GATHER, "gather", (groups_of(n),), (WIDTH,), (x, indices, y, np.int32(n)),
        [y], lambda: [x[indices]],
        "gather", (x, indices, y),
        lambda: [xp.take(x, indices, out=y)], rtol=0,
    )  # fmt: skip


# -- scans


def scan(item: kapi.NdItem, x, y):
    i = item.get_global_id(0)
    y[i] = kapi.exclusive_scan_over_group(item.get_group(), x[i], kapi.plus)


SCAN = f"""
constexpr int WIDTH = {WIDTH};
extern "C" __global__ void scan(const int* __restrict__ x, int* __restrict__ y) {{
    __shared__ int totals[32];
    const int lane = threadIdx.x, i = blockIdx.x * WIDTH + lane, within = lane % 32, warp = lane / 32;
    const int own = x[i];
    int sum = own;
    for (int d = 1; d < 32; d *= 2) {{
        const int other = __shfl_up_sync(0xffffffffu, sum, d);
        if (within >= d) sum += other;
    }}
    if (within == 31) totals[warp] = sum;
    __syncthreads();
    int before = 0;
    for (int k = 0; k < WIDTH / 32; k++) before += k < warp ? totals[k] : 0;
    y[i] = before + sum - own;
}}
"""


def build_scan(xp: Any, quick: bool) -> Problem:
    n = 1 << (14 if quick else 27)
    x, y = (uniform(xp, n) * 1000).astype(np.int32), xp.empty(n, np.int32)

    def expected() -> list[Any]:
        rows = x.reshape(-1, WIDTH)
        return [(xp.cumsum(rows, axis=1) - rows).ravel()]

    return Problem(
        "exclusive scan of groups", f"{binary_size(n)} i32", scan, kapi.NdRange((n,), (WIDTH,)), (x, y),
        SCAN, "scan", (n // WIDTH,), (WIDTH,), (x, y),
        [y], expected,
        "scan", (x, y), rtol=0, poison=-1,
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[Any, bool], Problem]] = {
    "saxpy": build_saxpy,
    "pairwise": build_pairwise,
    "matmul16": partial(build_matmul, 16),
    "matmul32": partial(build_matmul, 32),
    "tree": partial(build_sum, "tree reduction"),
    "reduce": partial(build_sum, "reduce_over_group"),
    "histogram": build_histogram,
    "nbody": build_n_body,
    "mandelbrot": build_mandelbrot,
    "bs_f32": partial(build_black_scholes, np.float32),
    "bs_f64": partial(build_black_scholes, np.float64),
    "stencil": build_stencil,
    "gather": build_gather,
    "scan": build_scan,
}
