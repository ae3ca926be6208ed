"""The kernels of cuda_problems.py as numba-cuda has them; to be imported where numba-cuda is installed.

Constants are of the type that the arithmetic is meant in: Numba takes a literal for a float64.
"""

from __future__ import annotations

import math

import numpy as np

if not hasattr(np, "row_stack"):
    # numba-cuda 0.30 looks for what NumPy 2.5 has no longer.
    setattr(np, "row_stack", np.vstack)  # noqa: B010

from numba import cuda, float32, float64, int32, int64, uint64

WIDTH, SHARE, BINS = 256, 64, 256
ZERO, HALF, TWO, FOUR, FIFTH = (np.float32(each) for each in (0.0, 0.5, 2.0, 4.0, 0.2))
ROOT_HALF = np.float32(math.sqrt(0.5))
ONE, SIX = np.float32(1.0), np.float32(6.0)
GOLDEN, FIRST_MIX, SECOND_MIX = (
    np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def saxpy(a, x, y, z):
    i = cuda.grid(1)
    if i < x.shape[0]:
        z[i] = a * x[i] + y[i]


def pairwise(x, y, d):
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < y.shape[0]:
        total = ZERO
        for k in range(x.shape[1]):
            t = x[i, k] - y[j, k]
            total += t * t
        d[i, j] = math.sqrt(total)


def _matmul_of(tile):
    def matmul(a, b, c):
        ta = cuda.shared.array((tile, tile), float32)
        tb = cuda.shared.array((tile, tile), float32)
        j, i = cuda.grid(2)
        x = cuda.threadIdx.x
        y = cuda.threadIdx.y
        total = ZERO
        for t in range(0, a.shape[1], tile):
            ta[y, x] = a[i, t + x]
            tb[y, x] = b[t + y, j]
            cuda.syncthreads()
            for k in range(tile):
                total += ta[y, k] * tb[k, x]
            cuda.syncthreads()
        c[i, j] = total

    return matmul


matmul_16 = _matmul_of(16)
matmul_32 = _matmul_of(32)


def tree(x, sums):
    tile = cuda.shared.array(WIDTH, float32)
    lane = cuda.threadIdx.x
    first = cuda.blockIdx.x * WIDTH * SHARE
    own = ZERO
    for k in range(SHARE):
        own += x[first + k * WIDTH + lane]
    tile[lane] = own
    cuda.syncthreads()
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        cuda.syncthreads()
        width //= 2
    if lane == 0:
        sums[cuda.blockIdx.x] = tile[0]


def over_group(x, sums):
    totals = cuda.shared.array(32, float32)
    lane = cuda.threadIdx.x
    first = cuda.blockIdx.x * WIDTH * SHARE
    own = ZERO
    for k in range(SHARE):
        own += x[first + k * WIDTH + lane]
    step = 16
    while step > 0:
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
        step >>= 1
    if lane % 32 == 0:
        totals[lane // 32] = own
    cuda.syncthreads()
    if lane < 32:
        own = totals[lane] if lane < WIDTH // 32 else ZERO
        step = WIDTH // 64
        while step > 0:
            own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
            step >>= 1
        if lane == 0:
            sums[cuda.blockIdx.x] = own


def histogram(values, counts, share):
    bins = cuda.shared.array(BINS, int32)
    lane = cuda.threadIdx.x
    for k in range(lane, BINS, WIDTH):
        bins[k] = 0
    cuda.syncthreads()
    first = cuda.blockIdx.x * share
    for i in range(first + lane, first + share, WIDTH):
        cuda.atomic.add(bins, values[i], 1)
    cuda.syncthreads()
    for k in range(lane, BINS, WIDTH):
        cuda.atomic.add(counts, k, bins[k])


def n_body(bodies, velocity, softening, step):
    i = cuda.grid(1)
    if i < bodies.shape[0]:
        x = bodies[i, 0]
        y = bodies[i, 1]
        z = bodies[i, 2]
        ax = ZERO
        ay = ZERO
        az = ZERO
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - x
            dy = bodies[j, 1] - y
            dz = bodies[j, 2] - z
            square = dx * dx + dy * dy + dz * dz + softening
            force = bodies[j, 3] / (square * math.sqrt(square))
            ax += force * dx
            ay += force * dy
            az += force * dz
        velocity[i, 0] = step * ax
        velocity[i, 1] = step * ay
        velocity[i, 2] = step * az


def mandelbrot(steps, left, top, step, most):
    j, i = cuda.grid(2)
    if i < steps.shape[0] and j < steps.shape[1]:
        cx = left + float32(j) * step
        cy = top + float32(i) * step
        x = ZERO
        y = ZERO
        n = int32(0)
        while n < most and x * x + y * y <= FOUR:
            t = x * x - y * y + cx
            y = TWO * x * y + cy
            x = t
            n += int32(1)
        steps[i, j] = n


def black_scholes_f32(price, strike, years, rate, volatility, call, put):
    i = cuda.grid(1)
    if i < price.shape[0]:
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + HALF * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        in1 = HALF + HALF * math.erf(d1 * ROOT_HALF)
        in2 = HALF + HALF * math.erf(d2 * ROOT_HALF)
        value = price[i] * in1 - discounted * in2
        call[i] = value
        put[i] = value - price[i] + discounted


def black_scholes_f64(price, strike, years, rate, volatility, call, put):
    i = cuda.grid(1)
    if i < price.shape[0]:
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        in1 = 0.5 + 0.5 * math.erf(d1 * 0.7071067811865476)
        in2 = 0.5 + 0.5 * math.erf(d2 * 0.7071067811865476)
        value = price[i] * in1 - discounted * in2
        call[i] = value
        put[i] = value - price[i] + discounted


def stencil(x, y):
    j, i = cuda.grid(2)
    i += 1
    j += 1
    if i < x.shape[0] - 1 and j < x.shape[1] - 1:
        y[i, j] = FIFTH * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def gather(x, indices, y):
    i = cuda.grid(1)
    if i < y.shape[0]:
        y[i] = x[indices[i]]


def scan(x, y):
    totals = cuda.shared.array(32, int32)
    lane = cuda.threadIdx.x
    i = cuda.blockIdx.x * WIDTH + lane
    within = lane % 32
    warp = lane // 32
    own = x[i]
    total = own
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, total, step)
        if within >= step:
            total = int32(total + other)
        step <<= 1
    if within == 31:
        totals[warp] = total
    cuda.syncthreads()
    before = int32(0)
    for k in range(WIDTH // 32):
        if k < warp:
            before = int32(before + totals[k])
    y[i] = before + total - own


def add(x, y, z):
    i = cuda.grid(1)
    if i < x.shape[0]:
        z[i] = x[i] + y[i]


def nearest(points, others, found):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = cuda.local.array(4, float32)
        for k in range(4):
            best[k] = float32(math.inf)
        x = points[i, 0]
        y = points[i, 1]
        for j in range(others.shape[0]):
            dx = others[j, 0] - x
            dy = others[j, 1] - y
            d = dx * dx + dy * dy
            if d < best[3]:
                best[3] = d
                for k in range(3, 0, -1):
                    if best[k] < best[k - 1]:
                        t = best[k]
                        best[k] = best[k - 1]
                        best[k - 1] = t
        for k in range(4):
            found[i, k] = best[k]


def grid_sum(x, sums):
    tile = cuda.shared.array(WIDTH, float32)
    lane = cuda.threadIdx.x
    own = ZERO
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        own += x[i] * x[i]
    tile[lane] = own
    cuda.syncthreads()
    width = WIDTH // 2
    while width > 0:
        if lane < width:
            tile[lane] += tile[lane + width]
        cuda.syncthreads()
        width //= 2
    if lane == 0:
        sums[cuda.blockIdx.x] = tile[0]


def dot(x, y, sums):
    totals = cuda.shared.array(32, float64)
    lane = cuda.threadIdx.x
    own = 0.0
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        own += x[i] * y[i]
    step = 16
    while step > 0:
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
        step >>= 1
    if lane % 32 == 0:
        totals[lane // 32] = own
    cuda.syncthreads()
    if lane < 32:
        own = totals[lane] if lane < WIDTH // 32 else 0.0
        step = WIDTH // 64
        while step > 0:
            own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
            step >>= 1
        if lane == 0:
            sums[cuda.blockIdx.x] = own


def series(x, y):
    i = cuda.grid(1)
    if i < x.shape[0]:
        angle = x[i]
        total = 0.0
        for k in range(1, 17):
            total += math.sin(k * angle) * math.log(1.0 + k * angle) / k
        y[i] = total + math.cos(angle)


def mix(keys, hashes):
    i = cuda.grid(1)
    if i < keys.shape[0]:
        z = keys[i]
        for _ in range(8):
            z += GOLDEN
            z = (z ^ (z >> uint64(30))) * FIRST_MIX
            z = (z ^ (z >> uint64(27))) * SECOND_MIX
            z = z ^ (z >> uint64(31))
        hashes[i] = z


def norms(x, y):
    i = cuda.grid(1)
    own = x[i]
    largest = abs(own)
    step = 16
    while step > 0:
        largest = max(largest, cuda.shfl_xor_sync(0xFFFFFFFF, largest, step))
        step >>= 1
    y[i] = own / largest


def transpose(x, y):
    tile = cuda.shared.array((32, 33), float32)
    column = cuda.threadIdx.x
    row = cuda.threadIdx.y
    left = cuda.blockIdx.x * 32
    top = cuda.blockIdx.y * 32
    for k in range(0, 32, 8):
        tile[row + k, column] = x[top + row + k, left + column]
    cuda.syncthreads()
    for k in range(0, 32, 8):
        y[left + row + k, top + column] = tile[column, row + k]


def count(kinds, counters):
    i = cuda.grid(1)
    if i < kinds.shape[0]:
        cuda.atomic.add(counters, kinds[i], 1)


def solve(matrices, sides, solutions):
    i = cuda.grid(1)
    if i < sides.shape[0]:
        a = cuda.local.array((4, 4), float32)
        b = cuda.local.array(4, float32)
        for r in range(4):
            b[r] = sides[i, r]
            for c in range(4):
                a[r, c] = matrices[i, r, c]
        for p in range(4):
            for r in range(p + 1, 4):
                factor = a[r, p] / a[p, p]
                for c in range(p + 1, 4):
                    a[r, c] -= factor * a[p, c]
                b[r] -= factor * b[p]
        for p in range(3, -1, -1):
            for c in range(p + 1, 4):
                b[p] -= a[p, c] * b[c]
            b[p] /= a[p, p]
            solutions[i, p] = b[p]


def heat(x, y, rate):
    k, j, i = cuda.grid(3)
    i += 1
    j += 1
    k += 1
    if i < x.shape[0] - 1 and j < x.shape[1] - 1 and k < x.shape[2] - 1:
        around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
        y[i, j, k] = x[i, j, k] + rate * (around - SIX * x[i, j, k])


def collatz(lengths, most):
    i = cuda.grid(1)
    if i < lengths.shape[0]:
        z = int64(i + 1)
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


def edits(texts, others, distances):
    i = cuda.grid(1)
    if i < distances.shape[0]:
        row = cuda.local.array(25, int32)
        for k in range(25):
            row[k] = k
        for j in range(24):
            letter = others[j, i]
            corner = row[0]
            row[0] = j + 1
            for k in range(24):
                change = corner if texts[k, i] == letter else corner + 1
                corner = row[k + 1]
                row[k + 1] = min(change, min(corner, row[k]) + 1)
        distances[i] = row[24]


def smooth(x, taps, y):
    i = cuda.grid(1)
    if i < y.shape[0]:
        total = ZERO
        for k in range(17):
            total += taps[k] * x[i + k]
        y[i] = total


def sparse(starts, columns, values, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    own = ZERO
    for k in range(starts[row] + lane, starts[row + 1], 32):
        own += values[k] * x[columns[k]]
    step = 16
    while step > 0:
        own += cuda.shfl_down_sync(0xFFFFFFFF, own, step)
        step >>= 1
    if lane == 0:
        y[row] = own


def march(depths, most, size):
    j, i = cuda.grid(2)
    if i < depths.shape[0] and j < depths.shape[1]:
        dx = (float32(j) + HALF) / size - HALF
        dy = (float32(i) + HALF) / size - HALF
        length = math.sqrt(dx * dx + dy * dy + ONE)
        dx /= length
        dy /= length
        dz = ONE / length
        depth = ZERO
        for _ in range(most):
            x = depth * dx
            y = depth * dy
            z = depth * dz - FOUR
            near = min(math.sqrt(x * x + y * y + z * z) - ONE, y + float32(1.2))
            if near < float32(1e-3):
                break
            depth += near
            if depth > float32(20.0):
                break
        depths[i, j] = depth
