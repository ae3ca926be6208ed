"""The programs by which numba-cuda's documentation teaches, in words of our own: right, and with one fault each.

Each class is one program.  Its kernel has four versions, of which ``right`` runs and is compared with NumPy; ``race``,
``divergence`` and ``outside`` differ from it in lines that `planted.versions` describes.
"""

from __future__ import annotations

import math

import numpy as np

from kapi_sim import numba_cuda as cuda
from kapi_sim.numba_cuda import random

TILE = 4


class VectorAddition:
    blocks, threads = 3, 8

    @staticmethod
    def arguments():
        return np.arange(20.0), np.arange(20.0) * 2, cuda.device_array(20)

    @staticmethod
    def check(a, b, c):
        np.testing.assert_array_equal(c.copy_to_host(), a + b)

    def kernel(a, b, c):
        i = cuda.grid(1)
        if i < c.size:  # not outside
            c[i] = a[i] + b[i]  # not outside, named in race, race: c[i // 2] = a[i] + b[i]
            cuda.syncthreads()  # divergence, named
        c[i] = a[i] + b[i]  # outside, named


class TreeReduction:
    blocks, threads = 1, 32

    @staticmethod
    def arguments():
        return (cuda.to_device(np.arange(32)),)

    @staticmethod
    def check(data):
        assert data[0] == 496

    def kernel(data):
        t = cuda.threadIdx.x
        part = cuda.shared.array(32, np.int32)
        part[t] = data[cuda.grid(1)]  # named in race
        cuda.syncthreads()  # not race
        step = 1
        while step < cuda.blockDim.x:  # outside: while step <= cuda.blockDim.x:
            if t % (2 * step) == 0:
                part[t] += part[t + step]  # named in race, named in outside
                cuda.syncthreads()  # divergence, named
            step *= 2
            cuda.syncthreads()  # not divergence
        if t == 0:
            data[t] = part[t]


class PlainMatrixProduct:
    blocks, threads = (2, 2), (4, 4)

    @staticmethod
    def arguments():
        return np.arange(30.0).reshape(6, 5), np.arange(35.0).reshape(5, 7), np.zeros((6, 7))

    @staticmethod
    def check(a, b, c):
        np.testing.assert_array_equal(c, a @ b)

    def kernel(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:  # outside: if i < c.shape[1] and j < c.shape[0]:
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]  # named in outside
            cuda.syncthreads()  # divergence, named
            c[i, j] = total

    def race(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            for k in range(a.shape[1]):
                c[i, 0] += a[i, k] * b[k, j]  # named


class TiledMatrixProduct:
    blocks, threads = (3, 3), (TILE, TILE)

    @staticmethod
    def arguments():
        return np.arange(50.0).reshape(5, 10), np.arange(70.0).reshape(10, 7), np.zeros((5, 7))

    @staticmethod
    def check(a, b, c):
        np.testing.assert_array_equal(c, a @ b)

    def kernel(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float64)
        above = cuda.shared.array((TILE, TILE), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for block in range(cuda.gridDim.x):
            u, v = tx + block * TILE, ty + block * TILE
            left[ty, tx] = a[y, u] if y < a.shape[0] and u < a.shape[1] else 0.0  # not outside, named in race
            left[ty, tx] = a[y, u] if y <= a.shape[0] and u < a.shape[1] else 0.0  # outside, named
            above[ty, tx] = b[v, x] if v < b.shape[0] and x < b.shape[1] else 0.0
            cuda.syncthreads()  # not divergence
            for k in range(TILE):  # not divergence
                total += left[ty, k] * above[k, tx]  # not divergence, named in race
            if u < a.shape[1]:  # divergence
                cuda.syncthreads()  # divergence, named
                for k in range(TILE):  # divergence
                    total += left[ty, k] * above[k, tx]  # divergence
            cuda.syncthreads()  # not race, named in divergence
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total


class HeatEquation:
    """One launch takes all steps: the grid waits between them; threads beyond the rod have returned before."""

    blocks, threads = 3, 8

    @staticmethod
    def arguments():
        start = np.zeros(21)
        start[10] = 1000.0
        return cuda.to_device(start), cuda.to_device(start), 6, 0.25

    @staticmethod
    def check(a, b, steps, k):
        expected = np.zeros(21)
        expected[10] = 1000.0
        for _ in range(steps):
            around = np.pad(expected, 1)
            expected = expected + k * (around[:-2] - 2 * expected + around[2:])
        np.testing.assert_allclose(a.copy_to_host(), expected)

    def kernel(a, b, steps, k):
        i = cuda.grid(1)
        if i >= a.size:
            return
        grid = cuda.cg.this_grid()  # not race
        for step in range(steps):
            now, then = (a, b) if step % 2 == 0 else (b, a)
            left = now[i - 1] if i > 0 else 0.0  # named in race, named in outside, outside: left = now[i - 1]
            right = now[i + 1] if i < a.size - 1 else 0.0
            then[i] = now[i] + k * (left - 2 * now[i] + right)  # named in race
            grid.sync()  # race: cuda.syncthreads()

    def divergence(a, b, steps, k):
        i = cuda.grid(1)
        if i >= a.size:
            return
        grid = cuda.cg.this_grid()
        for step in range(steps):
            now, then = (a, b) if step % 2 == 0 else (b, a)
            if 0 < i < a.size - 1:
                then[i] = now[i] + k * (now[i - 1] - 2 * now[i] + now[i + 1])
                grid.sync()  # named
            else:
                then[i] = 0.0
                grid.sync()  # named


class RowsOneByOne:
    blocks, threads = 4, 4

    @staticmethod
    def arguments():
        return (np.zeros((5, 16), np.int32),)

    @staticmethod
    def check(rows):
        np.testing.assert_array_equal(rows, np.tile(np.arange(5), (16, 1)).T)

    def kernel(rows):
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()  # not race
        for row in range(1, rows.shape[0]):
            rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1  # not outside, named in race
            rows[row, column] = rows[row - 1, rows.shape[1] - column] + 1  # outside, named
            grid.sync()  # not divergence, race: cuda.syncthreads()
            if cuda.threadIdx.x:  # divergence
                grid.sync()  # divergence, named
            else:  # divergence
                cuda.syncthreads()  # divergence, named


class Sessions:
    blocks, threads = 1, 16

    @staticmethod
    def arguments():
        users = np.array([1, 1, 1, 1, 2, 2, 3, 3, 3, 3])
        times = np.array([1, 2, 5000, 5001, 1, 2, 1, 2, 9000, 9001])
        return cuda.to_device(users), cuda.to_device(times), cuda.to_device(np.zeros(10))

    @staticmethod
    def check(users, times, sessions):
        assert sessions.copy_to_host().tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8]

    def kernel(users, times, sessions):
        i = cuda.grid(1)
        if i >= users.size:
            return
        starts = i == 0
        if not starts:
            starts = users[i] != users[i - 1] or times[i] - times[i - 1] > 3600
        if starts:
            sessions[i] = i
            cuda.cg.this_grid().sync()  # named in divergence, divergence: cuda.syncthreads()
            k = i + 1
            while k < sessions.size and sessions[k] == 0:  # named in outside, outside: while sessions[k] == 0:
                sessions[k] = i
                k += 1

    def race(users, times, sessions):
        i = cuda.grid(1)
        if i >= users.size:
            return
        starts = i == 0
        if not starts:
            starts = users[i] != users[i - 1] or times[i] - times[i - 1] > 3600
        if starts:
            sessions[i] = i  # named
            k = i + 1
            while k < sessions.size and sessions[k] == 0:  # named
                sessions[k] = i
                k += 1


class MonteCarlo:
    blocks, threads = 8, 32

    @staticmethod
    def arguments():
        return np.zeros(200), random.create_xoroshiro128p_states(200, seed=3), 1.0, 2.0

    @staticmethod
    def check(out, states, low, high):
        # The mean of 1 / x from 1 to 2; of 200 samples it deviates by some 0.01.
        assert abs(out.mean() - math.log(2)) < 0.04

    def kernel(out, states, low, high):
        i = cuda.grid(1)
        sample = random.xoroshiro128p_uniform_float32(states, i) * (high - low) + low  # outside, named
        if i < out.size:
            sample = random.xoroshiro128p_uniform_float32(states, i) * (high - low) + low  # not race, not outside
            sample = random.xoroshiro128p_uniform_float32(states, i % 100) * (high - low) + low  # race, named
            out[i] = 1.0 / sample
            cuda.syncthreads()  # divergence, named


class RandomVolume:
    blocks, threads = (2, 2, 2), (2, 2, 2)

    @staticmethod
    def arguments():
        return cuda.device_array((5, 6, 7), np.float32), random.create_xoroshiro128p_states(64, seed=1)

    @staticmethod
    def check(volume, states):
        host = volume.copy_to_host()
        assert 0 <= host.min() < host.max() < 1
        assert len(np.unique(host)) == host.size

    def kernel(volume, states):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        thread = z * ny * nx + y * nx + x
        for i in range(z, volume.shape[0], nz):
            for j in range(y, volume.shape[1], ny):
                for k in range(x, volume.shape[2], nx):  # race: for k in range(x, volume.shape[2], 2):
                    volume[i, j, k] = random.xoroshiro128p_uniform_float32(states, thread)  # named in race
                    cuda.syncthreads()  # divergence, named

    def outside(volume, states):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        thread = z * ny * nx + y * nx + x + 1
        for i in range(z, volume.shape[0], nz):
            for j in range(y, volume.shape[1], ny):
                for k in range(x, volume.shape[2], nx):
                    volume[i, j, k] = random.xoroshiro128p_uniform_float32(states, thread)  # named


class UfuncInAKernel:
    blocks, threads = 1, 2

    @staticmethod
    def arguments():
        return np.zeros(10, np.float32), np.arange(10, dtype=np.float32)

    @staticmethod
    def check(r, x):
        np.testing.assert_array_equal(r, np.sin(x))

    def kernel(r, x):
        if cuda.threadIdx.x == 0:
            np.sin(x, r)
            cuda.syncthreads()  # divergence, named
            r[x.size] = 0  # outside, named

    def race(r, x):
        np.hypot(x, cuda.threadIdx.x, r)  # named


class ConstantsFromOutside:
    """Globals are as they were at the first launch."""

    blocks, threads = 1, 8

    @staticmethod
    def arguments():
        return np.arange(5.0), cuda.device_array(5)

    @staticmethod
    def check(count, total):
        np.testing.assert_allclose(total.copy_to_host(), [0, 27.5, 11, 49.5, 132])

    def kernel(count, total):
        i = cuda.threadIdx.x
        if i < total.size:  # not outside
            cuda.syncthreads()  # divergence, named
            total[i] = count[i] * PRICES[i] * (1 + TAX)  # not race, not outside
            total[i // 2] = count[i] * PRICES[i] * (1 + TAX)  # race, named
        if i <= total.size:  # outside
            price = PRICES[i]  # outside, named
            total[i] = count[i] * price * (1 + TAX)  # outside


TAX = 0.1
PRICES = np.array([10.0, 25.0, 5.0, 15.0, 30.0])


class BusinessLogic:
    """A device function that the host calls as well."""

    blocks, threads = 1, 4

    @staticmethod
    def arguments():
        return np.zeros(3), np.array([1, 10, 234]), np.array([2, 2, 4014])

    @staticmethod
    def check(out, x, y):
        assert out.tolist() == [business.py_func(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]

    def kernel(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = business(x[i], y[i])  # not divergence, named in race, race: out[0] = business(x[i], y[i])
            out[i] = together(x[i], y[i])  # divergence

    def outside(out, x, y):
        i = cuda.grid(1)
        out[i] = business(x[i], y[i])  # named


@cuda.jit(device=True)
def business(x, y):
    return 4 * x - math.pi * y / 2


@cuda.jit(device=True)
def together(x, y):
    cuda.syncthreads()
    return 4 * x - math.pi * y / 2
