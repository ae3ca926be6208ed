"""Further problems of cuda_speed.py, of other kinds: private arrays, early exits, 64-bit integers, shuffles, atomics.

Each is a kernel of kapi, CUDA C++ by the book, and array expressions that it must equal, as those of cuda_problems.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from cuda_problems import WIDTH, Problem, binary_size, groups_of, uniform

import kapi_runtime as kapi

__all__ = ["FURTHER_PROBLEMS"]

NEAREST, TILE, COUNTERS, TEXT, TAPS, ORDER, SERIES = 4, 32, 8, 24, 17, 4, 16
GOLDEN, FIRST_MIX, SECOND_MIX = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


# -- nearest neighbours, in a private list of candidates


def nearest(item: kapi.Item, points, others, found):
    i = item.get_id(0)
    best = kapi.PrivateArray(NEAREST, np.float32)
    for k in range(NEAREST):
        best[k] = np.float32(np.inf)
    x = points[i, 0]
    y = points[i, 1]
    for j in range(others.shape[0]):
        dx = others[j, 0] - x
        dy = others[j, 1] - y
        d = dx * dx + dy * dy
        if d < best[NEAREST - 1]:
            best[NEAREST - 1] = d
            for k in range(NEAREST - 1, 0, -1):
                if best[k] < best[k - 1]:
                    t = best[k]
                    best[k] = best[k - 1]
                    best[k - 1] = t
    for k in range(NEAREST):
        found[i, k] = best[k]


NEAREST_CPP = f"""
constexpr int NEAREST = {NEAREST};
extern "C" __global__ void nearest(const float* __restrict__ points, const float* __restrict__ others,
                                   float* __restrict__ found, int n, int m) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best[NEAREST];
    for (int k = 0; k < NEAREST; k++) best[k] = __int_as_float(0x7f800000);
    const float x = points[2 * i], y = points[2 * i + 1];
    for (int j = 0; j < m; j++) {{
        const float dx = others[2 * j] - x, dy = others[2 * j + 1] - y;
        const float d = dx * dx + dy * dy;
        if (d < best[NEAREST - 1]) {{
            best[NEAREST - 1] = d;
            for (int k = NEAREST - 1; k > 0; k--)
                if (best[k] < best[k - 1]) {{
                    const float t = best[k];
                    best[k] = best[k - 1];
                    best[k - 1] = t;
                }}
        }}
    }}
    for (int k = 0; k < NEAREST; k++) found[i * NEAREST + k] = best[k];
}}
"""


def build_nearest(xp: Any, quick: bool) -> Problem:
    n, m = (256, 64) if quick else (1 << 17, 4096)
    points, others = uniform(xp, 2 * n).reshape(n, 2), uniform(xp, 2 * m).reshape(m, 2)
    found = xp.empty((n, NEAREST), np.float32)

    def expected() -> list[Any]:
        parts = []
        for first in range(0, n, 4096):
            some = points[first : first + 4096]
            square = (others[None, :, 0] - some[:, :1]) ** 2 + (others[None, :, 1] - some[:, 1:]) ** 2
            parts.append(xp.sort(square, axis=1)[:, :NEAREST])
        return [xp.concatenate(parts)]

    return Problem(
        "nearest neighbours", f"{binary_size(n)} x {m} f32", nearest, kapi.Range(n), (points, others, found),
        NEAREST_CPP, "nearest", (groups_of(n),), (WIDTH,), (points, others, found, np.int32(n), np.int32(m)),
        [found], expected, "nearest", (points, others, found), atol=1e-7,
    )  # fmt: skip


# -- sums in a loop over the grid, then a tree


def grid_sum(item: kapi.NdItem, x, sums, tile):
    group = item.get_group()
    lane = item.get_local_id(0)
    own = np.float32(0.0)
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        own += x[i] * x[i]
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


GRID_SUM = f"""
constexpr int WIDTH = {WIDTH};
extern "C" __global__ void grid_sum(const float* __restrict__ x, float* __restrict__ sums, int n) {{
    __shared__ float tile[WIDTH];
    const int lane = threadIdx.x;
    float own = 0.0f;
    for (int i = blockIdx.x * WIDTH + lane; i < n; i += gridDim.x * WIDTH) own += x[i] * x[i];
    tile[lane] = own;
    __syncthreads();
    for (int width = WIDTH / 2; width > 0; width /= 2) {{
        if (lane < width) tile[lane] += tile[lane + width];
        __syncthreads();
    }}
    if (lane == 0) sums[blockIdx.x] = tile[0];
}}
"""


def build_grid_sum(xp: Any, quick: bool) -> Problem:
    n, groups = (1 << 16, 16) if quick else (1 << 28, 1056)
    x, sums = uniform(xp, n), xp.empty(groups, np.float32)

    def expected() -> list[Any]:
        stride = groups * WIDTH
        even = n // stride * stride
        total = (x[:even].reshape(-1, groups, WIDTH).astype(np.float64) ** 2).sum(axis=(0, 2))
        rest = xp.zeros(stride)
        rest[: n - even] = x[even:]
        return [total + (rest.reshape(groups, WIDTH) ** 2).sum(axis=1)]

    return Problem(
        "grid-stride sum", f"{binary_size(n)} f32", grid_sum, kapi.NdRange((groups * WIDTH,), (WIDTH,)),
        (x, sums, kapi.LocalAccessor(WIDTH, np.float32)),
        GRID_SUM, "grid_sum", (groups,), (WIDTH,), (x, sums, np.int32(n)),
        [sums], expected, "grid_sum", (x, sums), rtol=1e-4,
    )  # fmt: skip


# -- two streams of float64 in a loop over the grid, combined in sub-groups


def dot(item: kapi.NdItem, x, y, sums):
    own = 0.0
    for i in range(item.get_global_id(0), x.shape[0], item.get_global_range(0)):
        own += x[i] * y[i]
    total = kapi.reduce_over_group(item.get_group(), own, kapi.plus)
    if item.get_local_id(0) == 0:
        sums[item.get_group().get_group_id(0)] = total


DOT = f"""
constexpr int WIDTH = {WIDTH};
extern "C" __global__ void dot(const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ sums,
                               int n) {{
    __shared__ double totals[32];
    const int lane = threadIdx.x;
    double own = 0.0;
    for (int i = blockIdx.x * WIDTH + lane; i < n; i += gridDim.x * WIDTH) own += x[i] * y[i];
    for (int d = 16; d > 0; d /= 2) own += __shfl_down_sync(0xffffffffu, own, d);
    if (lane % 32 == 0) totals[lane / 32] = own;
    __syncthreads();
    if (lane < 32) {{
        own = lane < WIDTH / 32 ? totals[lane] : 0.0;
        for (int d = WIDTH / 64; d > 0; d /= 2) own += __shfl_down_sync(0xffffffffu, own, d);
        if (lane == 0) sums[blockIdx.x] = own;
    }}
}}
"""


def build_dot(xp: Any, quick: bool) -> Problem:
    groups, rounds = (16, 16) if quick else (1056, 256)
    n = groups * WIDTH * rounds
    x, y, sums = uniform(xp, n, np.float64), uniform(xp, n + 1, np.float64)[1:], xp.empty(groups)
    return Problem(
        "grid-stride dot", f"{n} f64", dot, kapi.NdRange((groups * WIDTH,), (WIDTH,)), (x, y, sums),
        DOT, "dot", (groups,), (WIDTH,), (x, y, sums, np.int32(n)),
        [sums], lambda: [(x * y).reshape(rounds, groups, WIDTH).sum(axis=(0, 2))], "dot", (x, y, sums), rtol=1e-12,
    )  # fmt: skip


# -- logarithms and trigonometry in float64


def series(item: kapi.Item, x, y):
    i = item.get_id(0)
    angle = x[i]
    total = 0.0
    for k in range(1, SERIES + 1):
        total += math.sin(k * angle) * math.log(1.0 + k * angle) / k
    y[i] = total + math.cos(angle)


SERIES_CPP = f"""
extern "C" __global__ void series(const double* __restrict__ x, double* __restrict__ y, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double angle = x[i];
    double total = 0.0;
    for (int k = 1; k <= {SERIES}; k++) total += sin(k * angle) * log(1.0 + k * angle) / k;
    y[i] = total + cos(angle);
}}
"""


def build_series(xp: Any, quick: bool) -> Problem:
    n = 1 << (10 if quick else 22)
    x, y = uniform(xp, n, np.float64, 0, 3), xp.empty(n)
    return Problem(
        "series of sin and log", f"{binary_size(n)} f64", series, kapi.Range(n), (x, y),
        SERIES_CPP, "series", (groups_of(n),), (WIDTH,), (x, y, np.int32(n)),
        [y],
        lambda: [sum(xp.sin(k * x) * xp.log(1 + k * x) / k for k in range(1, SERIES + 1)) + xp.cos(x)],
        "series", (x, y), rtol=1e-12, atol=1e-13,
    )  # fmt: skip


# -- hashes by 64-bit integers


def mix(item: kapi.Item, keys, hashes):
    i = item.get_id(0)
    z = keys[i]
    for _ in range(8):
        z += np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST_MIX)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_MIX)
        z = z ^ (z >> np.uint64(31))
    hashes[i] = z


MIX = f"""
extern "C" __global__ void mix(const unsigned long long* __restrict__ keys, unsigned long long* __restrict__ hashes,
                               int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long z = keys[i];
    for (int k = 0; k < 8; k++) {{
        z += {GOLDEN}ull;
        z = (z ^ (z >> 30)) * {FIRST_MIX}ull;
        z = (z ^ (z >> 27)) * {SECOND_MIX}ull;
        z = z ^ (z >> 31);
    }}
    hashes[i] = z;
}}
"""


def build_mix(xp: Any, quick: bool) -> Problem:
    n = 1 << (12 if quick else 26)
    keys, hashes = xp.arange(n, dtype=np.uint64), xp.empty(n, np.uint64)

    def expected() -> list[Any]:
        z = keys.copy()
        for _ in range(8):
            z += np.uint64(GOLDEN)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST_MIX)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND_MIX)
            z = z ^ (z >> np.uint64(31))
        return [z]

    return Problem(
        "hashes", f"{binary_size(n)} u64", mix, kapi.Range(n), (keys, hashes),
        MIX, "mix", (groups_of(n),), (WIDTH,), (keys, hashes, np.int32(n)),
        [hashes], expected, "mix", (keys, hashes), rtol=0, poison=0,
    )  # fmt: skip


# -- rows of 32 by shuffles


def norms(item: kapi.NdItem, x, y):
    i = item.get_global_id(0)
    sub_group = item.get_sub_group()
    own = x[i]
    largest = abs(own)
    distance = 16
    while distance > 0:
        largest = max(largest, kapi.permute_group_by_xor(sub_group, largest, distance))
        distance //= 2
    y[i] = own / largest


NORMS = """
extern "C" __global__ void norms(const float* __restrict__ x, float* __restrict__ y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float own = x[i];
    float largest = fabsf(own);
    for (int d = 16; d > 0; d /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, d));
    y[i] = own / largest;
}
"""


def build_norms(xp: Any, quick: bool) -> Problem:
    n = 1 << (14 if quick else 27)
    x, y = uniform(xp, n, np.float32, -1, 1), xp.empty(n, np.float32)
    rows = x.reshape(-1, 32)
    return Problem(
        "norms by shuffles", f"{binary_size(n)} f32", norms, kapi.NdRange((n,), (WIDTH,)), (x, y),
        NORMS, "norms", (n // WIDTH,), (WIDTH,), (x, y),
        [y], lambda: [(rows / abs(rows).max(axis=1, keepdims=True)).ravel()], "norms", (x, y),
    )  # fmt: skip


# -- a transpose through local memory


def transpose(item: kapi.NdItem, x, y, tile):
    group = item.get_group()
    row = item.get_local_id(0)
    column = item.get_local_id(1)
    top = group.get_group_id(0) * TILE
    left = group.get_group_id(1) * TILE
    for k in range(0, TILE, 8):
        tile[row + k, column] = x[top + row + k, left + column]
    kapi.group_barrier(group)
    for k in range(0, TILE, 8):
        y[left + row + k, top + column] = tile[column, row + k]


TRANSPOSE = f"""
constexpr int TILE = {TILE};
extern "C" __global__ void transpose(const float* __restrict__ x, float* __restrict__ y, int n) {{
    __shared__ float tile[TILE][TILE + 1];
    const int column = threadIdx.x, row = threadIdx.y, left = blockIdx.x * TILE, top = blockIdx.y * TILE;
    for (int k = 0; k < TILE; k += 8) tile[row + k][column] = x[(top + row + k) * n + left + column];
    __syncthreads();
    for (int k = 0; k < TILE; k += 8) y[(left + row + k) * n + top + column] = tile[column][row + k];
}}
"""


def build_transpose(xp: Any, quick: bool) -> Problem:
    n = 64 if quick else 8192
    x, y = uniform(xp, n * n).reshape(n, n), xp.empty((n, n), np.float32)
    return Problem(
        "transpose", f"{n} f32", transpose, kapi.NdRange((n // 4, n), (8, TILE)),
        (x, y, kapi.LocalAccessor((TILE, TILE + 1), np.float32)),
        TRANSPOSE, "transpose", (n // TILE, n // TILE), (TILE, 8), (x, y, np.int32(n)),
        [y], lambda: [x.T], "transpose", (x, y), rtol=0,
    )  # fmt: skip


# -- atomics with few targets


def count(item: kapi.Item, kinds, counters):
    i = item.get_id(0)
    kapi.AtomicRef(counters, kinds[i]).fetch_add(1)


COUNT = """
extern "C" __global__ void count(const int* __restrict__ kinds, int* __restrict__ counters, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counters[kinds[i]], 1);
}
"""


def build_count(xp: Any, quick: bool) -> Problem:
    n = 1 << (12 if quick else 24)
    kinds, counters = (uniform(xp, n) * COUNTERS).astype(np.int32), xp.zeros(COUNTERS, np.int32)
    return Problem(
        "counters", f"{binary_size(n)} in {COUNTERS}", count, kapi.Range(n), (kinds, counters),
        COUNT, "count", (groups_of(n),), (WIDTH,), (kinds, counters, np.int32(n)),
        [counters], lambda: [xp.bincount(kinds, minlength=COUNTERS)], "count", (kinds, counters), rtol=0, poison=0,
    )  # fmt: skip


# -- many small systems of equations


def solve(item: kapi.Item, matrices, sides, solutions):
    i = item.get_id(0)
    a = kapi.PrivateArray((ORDER, ORDER), np.float32)
    b = kapi.PrivateArray(ORDER, np.float32)
    for r in range(ORDER):
        b[r] = sides[i, r]
        for c in range(ORDER):
            a[r, c] = matrices[i, r, c]
    for p in range(ORDER):
        for r in range(p + 1, ORDER):
            factor = a[r, p] / a[p, p]
            for c in range(p + 1, ORDER):
                a[r, c] -= factor * a[p, c]
            b[r] -= factor * b[p]
    for p in range(ORDER - 1, -1, -1):
        for c in range(p + 1, ORDER):
            b[p] -= a[p, c] * b[c]
        b[p] /= a[p, p]
        solutions[i, p] = b[p]


SOLVE = f"""
constexpr int ORDER = {ORDER};
extern "C" __global__ void solve(const float* __restrict__ matrices, const float* __restrict__ sides,
                                 float* __restrict__ solutions, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a[ORDER][ORDER], b[ORDER];
    for (int r = 0; r < ORDER; r++) {{
        b[r] = sides[i * ORDER + r];
        for (int c = 0; c < ORDER; c++) a[r][c] = matrices[(i * ORDER + r) * ORDER + c];
    }}
    for (int p = 0; p < ORDER; p++)
        for (int r = p + 1; r < ORDER; r++) {{
            const float factor = a[r][p] / a[p][p];
            for (int c = p + 1; c < ORDER; c++) a[r][c] -= factor * a[p][c];
            b[r] -= factor * b[p];
        }}
    for (int p = ORDER - 1; p >= 0; p--) {{
        for (int c = p + 1; c < ORDER; c++) b[p] -= a[p][c] * b[c];
        b[p] /= a[p][p];
        solutions[i * ORDER + p] = b[p];
    }}
}}
"""


def build_solve(xp: Any, quick: bool) -> Problem:
    n = 1 << (10 if quick else 22)
    matrices = uniform(xp, n * ORDER * ORDER).reshape(n, ORDER, ORDER) + ORDER * xp.eye(ORDER, dtype=np.float32)
    sides, solutions = uniform(xp, n * ORDER).reshape(n, ORDER), xp.empty((n, ORDER), np.float32)
    return Problem(
        "small solves", f"{binary_size(n)} of {ORDER} f32", solve, kapi.Range(n), (matrices, sides, solutions),
        SOLVE, "solve", (groups_of(n),), (WIDTH,), (matrices, sides, solutions, np.int32(n)),
        [solutions],
        lambda: [xp.linalg.solve(matrices.astype(np.float64), sides.astype(np.float64)[:, :, None])[:, :, 0]],
        "solve", (matrices, sides, solutions), rtol=1e-3, atol=1e-5,
    )  # fmt: skip


# -- a stencil of seven points


def heat(item: kapi.Item, x, y, rate):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    k = item.get_id(2) + 1
    around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
    y[i, j, k] = x[i, j, k] + rate * (around - np.float32(6.0) * x[i, j, k])


HEAT = """
extern "C" __global__ void heat(const float* __restrict__ x, float* __restrict__ y, float rate, int n) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int i = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    const int at = (i * n + j) * n + k;
    const float around = x[at - n * n] + x[at + n * n] + x[at - n] + x[at + n] + x[at - 1] + x[at + 1];
    y[at] = x[at] + rate * (around - 6.0f * x[at]);
}
"""


def build_heat(xp: Any, quick: bool) -> Problem:
    n, rate = 34 if quick else 514, np.float32(0.1)
    x, y = uniform(xp, n * n * n).reshape(n, n, n), xp.empty((n, n, n), np.float32)
    inner = slice(1, -1)

    def expected() -> list[Any]:
        around = (
            x[:-2, inner, inner] + x[2:, inner, inner] + x[inner, :-2, inner]
            + x[inner, 2:, inner] + x[inner, inner, :-2] + x[inner, inner, 2:]
        )  # fmt: skip
        own = x[inner, inner, inner]
        return [own + rate * (around - 6 * own)]

    return Problem(
        "heat in 3-D", f"{n} f32", heat, kapi.Range(n - 2, n - 2, n - 2), (x, y, rate),
        HEAT, "heat", (groups_of(n - 2, 32), groups_of(n - 2, 8), n - 2), (32, 8, 1), (x, y, rate, np.int32(n)),
        [y[inner, inner, inner]], expected, "heat", (x, y, rate), atol=1e-6,
    )  # fmt: skip


# -- an early exit


def collatz(item: kapi.Item, lengths, most):
    i = item.get_id(0)
    z = i + 1
    n = 0
    while z != 1:
        if n == most:
            break
        if z % 2 == 0:
            z //= 2
        else:
            z = 3 * z + 1
        n += 1
    lengths[i] = n


COLLATZ = """
extern "C" __global__ void collatz(int* __restrict__ lengths, int most, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long z = i + 1;
    int n = 0;
    while (z != 1) {
        if (n == most) break;
        if (z % 2 == 0) z /= 2;
        else z = 3 * z + 1;
        n++;
    }
    lengths[i] = n;
}
"""


def build_collatz(xp: Any, quick: bool) -> Problem:
    n, most = (1 << 10, 50) if quick else (1 << 23, 200)
    lengths = xp.empty(n, np.int32)

    def expected() -> list[Any]:
        z, found = xp.arange(1, n + 1, dtype=np.int64), xp.zeros(n, np.int32)
        for _ in range(most):
            goes_on = z != 1
            found += goes_on
            z = xp.where(goes_on, xp.where(z % 2 == 0, z // 2, 3 * z + 1), z)
        return [found]

    return Problem(
        "Collatz", f"{binary_size(n)} i64", collatz, kapi.Range(n), (lengths, most),
        COLLATZ, "collatz", (groups_of(n),), (WIDTH,), (lengths, np.int32(most), np.int32(n)),
        [lengths], expected, "collatz", (lengths, most), rtol=0, poison=-1,
    )  # fmt: skip


# -- distances of texts, by a private row


def edits(item: kapi.Item, texts, others, distances):
    i = item.get_id(0)
    row = kapi.PrivateArray(TEXT + 1, np.int32)
    for k in range(TEXT + 1):
        row[k] = k
    for j in range(TEXT):
        letter = others[j, i]
        corner = row[0]
        row[0] = j + 1
        for k in range(TEXT):
            change = corner if texts[k, i] == letter else corner + 1
            corner = row[k + 1]
            row[k + 1] = min(change, min(corner, row[k]) + 1)
    distances[i] = row[TEXT]


EDITS = f"""
constexpr int TEXT = {TEXT};
extern "C" __global__ void edits(const unsigned char* __restrict__ texts, const unsigned char* __restrict__ others,
                                 int* __restrict__ distances, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int row[TEXT + 1];
    for (int k = 0; k <= TEXT; k++) row[k] = k;
    for (int j = 0; j < TEXT; j++) {{
        const unsigned char letter = others[j * n + i];
        int corner = row[0];
        row[0] = j + 1;
        for (int k = 0; k < TEXT; k++) {{
            const int change = texts[k * n + i] == letter ? corner : corner + 1;
            corner = row[k + 1];
            row[k + 1] = min(change, min(corner, row[k]) + 1);
        }}
    }}
    distances[i] = row[TEXT];
}}
"""


def build_edits(xp: Any, quick: bool) -> Problem:
    n = 1 << (9 if quick else 20)
    texts, others = ((uniform(xp, n * TEXT + k)[: n * TEXT] * 4).astype(np.uint8).reshape(TEXT, n) for k in (0, 1))
    distances = xp.empty(n, np.int32)

    def expected() -> list[Any]:
        row = [xp.full(n, k, np.int32) for k in range(TEXT + 1)]
        for j in range(TEXT):
            corner, row[0] = row[0], xp.full(n, j + 1, np.int32)
            for k in range(TEXT):
                change = corner + (texts[k] != others[j])
                corner = row[k + 1]
                row[k + 1] = xp.minimum(change, xp.minimum(corner, row[k]) + 1)
        return [row[TEXT]]

    return Problem(
        "edit distances", f"{binary_size(n)} of {TEXT}", edits, kapi.Range(n), (texts, others, distances),
        EDITS, "edits", (groups_of(n),), (WIDTH,), (texts, others, distances, np.int32(n)),
        [distances], expected, "edits", (texts, others, distances), rtol=0, poison=-1,
    )  # fmt: skip


# -- a filter whose taps are arguments


def smooth(item: kapi.Item, x, taps, y):
    i = item.get_id(0)
    total = np.float32(0.0)
    for k in range(TAPS):
        total += taps[k] * x[i + k]
    y[i] = total


SMOOTH = f"""
constexpr int TAPS = {TAPS};
extern "C" __global__ void smooth(const float* __restrict__ x, const float* __restrict__ taps, float* __restrict__ y,
                                  int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f;
    for (int k = 0; k < TAPS; k++) total += taps[k] * x[i + k];
    y[i] = total;
}}
"""


def build_smooth(xp: Any, quick: bool) -> Problem:
    n = 1 << (12 if quick else 26)
    x, taps, y = uniform(xp, n + TAPS - 1), uniform(xp, TAPS), xp.empty(n, np.float32)
    return Problem(
        "filter", f"{binary_size(n)}, {TAPS} taps", smooth, kapi.Range(n), (x, taps, y),
        SMOOTH, "smooth", (groups_of(n),), (WIDTH,), (x, taps, y, np.int32(n)),
        [y], lambda: [sum(taps[k] * x[k : n + k] for k in range(TAPS))], "smooth", (x, taps, y),
    )  # fmt: skip


# -- sparse products, a sub-group for each row


def sparse(item: kapi.NdItem, starts, columns, values, x, y):
    sub_group = item.get_sub_group()
    row = item.get_global_id(0) // 32
    lane = sub_group.get_local_id()
    own = np.float32(0.0)
    for k in range(starts[row] + lane, starts[row + 1], 32):
        own += values[k] * x[columns[k]]
    total = kapi.reduce_over_group(sub_group, own, kapi.plus)
    if lane == 0:
        y[row] = total


SPARSE = """
extern "C" __global__ void sparse(const int* __restrict__ starts, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float* __restrict__ x,
                                  float* __restrict__ y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float own = 0.0f;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) own += values[k] * x[columns[k]];
    for (int d = 16; d > 0; d /= 2) own += __shfl_down_sync(0xffffffffu, own, d);
    if (lane == 0) y[row] = own;
}
"""


def build_sparse(xp: Any, quick: bool) -> Problem:
    rows = 1 << (8 if quick else 20)
    lengths = 16 + (uniform(xp, rows) * 64).astype(np.int32)
    starts = xp.concatenate([xp.zeros(1, np.int32), xp.cumsum(lengths).astype(np.int32)])
    stored = int(starts[-1])
    columns = xp.minimum((uniform(xp, stored) * rows).astype(np.int32), rows - 1)
    values, x, y = uniform(xp, stored + 1)[1:], uniform(xp, rows), xp.empty(rows, np.float32)

    def expected() -> list[Any]:
        sums = xp.concatenate([xp.zeros(1), xp.cumsum((values * x[columns]).astype(np.float64))])
        return [sums[starts[1:]] - sums[starts[:-1]]]

    return Problem(
        "sparse product", f"{binary_size(rows)} rows f32", sparse, kapi.NdRange((rows * 32,), (WIDTH,)),
        (starts, columns, values, x, y),
        SPARSE, "sparse", (rows * 32 // WIDTH,), (WIDTH,), (starts, columns, values, x, y),
        [y], expected, "sparse", (starts, columns, values, x, y), rtol=1e-4,
    )  # fmt: skip


# -- rays that march to a sphere


def march(item: kapi.Item, depths, most, size):
    i = item.get_id(0)
    j = item.get_id(1)
    dx = (np.float32(j) + np.float32(0.5)) / size - np.float32(0.5)
    dy = (np.float32(i) + np.float32(0.5)) / size - np.float32(0.5)
    length = math.sqrt(dx * dx + dy * dy + np.float32(1.0))
    dx /= length
    dy /= length
    dz = np.float32(1.0) / length
    depth = np.float32(0.0)
    for _ in range(most):
        x = depth * dx
        y = depth * dy
        z = depth * dz - np.float32(4.0)
        ball = math.sqrt(x * x + y * y + z * z) - np.float32(1.0)
        floor = y + np.float32(1.2)
        near = min(ball, floor)
        if near < np.float32(1e-3):
            break
        depth += near
        if depth > np.float32(20.0):
            break
    depths[i, j] = depth


MARCH = """
extern "C" __global__ void march(float* __restrict__ depths, int most, float size, int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    float dx = (j + 0.5f) / size - 0.5f, dy = (i + 0.5f) / size - 0.5f;
    const float length = sqrtf(dx * dx + dy * dy + 1.0f);
    dx /= length;
    dy /= length;
    const float dz = 1.0f / length;
    float depth = 0.0f;
    for (int k = 0; k < most; k++) {
        const float x = depth * dx, y = depth * dy, z = depth * dz - 4.0f;
        const float near = fminf(sqrtf(x * x + y * y + z * z) - 1.0f, y + 1.2f);
        if (near < 1e-3f) break;
        depth += near;
        if (depth > 20.0f) break;
    }
    depths[i * n + j] = depth;
}
"""


def build_march(xp: Any, quick: bool) -> Problem:
    n, most = (64, 32) if quick else (4096, 128)
    depths, size = xp.empty((n, n), np.float32), np.float32(n)

    def expected() -> list[Any]:
        index = (xp.arange(n, dtype=np.float32) + np.float32(0.5)) / size - np.float32(0.5)
        dx, dy = xp.broadcast_arrays(index[None, :], index[:, None])
        length = xp.sqrt(dx * dx + dy * dy + np.float32(1))
        dx, dy, dz = dx / length, dy / length, np.float32(1) / length
        depth, goes_on = xp.zeros((n, n), np.float32), xp.ones((n, n), bool)
        for _ in range(most):
            x, y, z = depth * dx, depth * dy, depth * dz - np.float32(4)
            near = xp.minimum(xp.sqrt(x * x + y * y + z * z) - np.float32(1), y + np.float32(1.2))
            goes_on &= near >= np.float32(1e-3)
            depth = xp.where(goes_on, depth + near, depth)
            goes_on &= depth <= 20
        return [depth]

    return Problem(
        "marching rays", f"{n} f32", march, kapi.Range(n, n), (depths, np.int32(most), size),
        MARCH, "march", (groups_of(n, 32), groups_of(n, 8)), (32, 8), (depths, np.int32(most), size, np.int32(n)),
        # Contraction moves a few rays of the edges by a step.
        [depths], expected, "march", (depths, np.int32(most), size), rtol=1e-3, misses=0.01,
    )  # fmt: skip


FURTHER_PROBLEMS: dict[str, Callable[[Any, bool], Problem]] = {
    "nearest": build_nearest,
    "grid_sum": build_grid_sum,
    "dot": build_dot,
    "series": build_series,
    "mix": build_mix,
    "norms": build_norms,
    "transpose": build_transpose,
    "count": build_count,
    "solve": build_solve,
    "heat": build_heat,
    "collatz": build_collatz,
    "edits": build_edits,
    "smooth": build_smooth,
    "sparse": build_sparse,
    "march": build_march,
}
