"""The programs by which numba-cuda's documentation teaches, in words of our own: right, and with one fault each.

Each class is one program.  `right` runs and is compared with NumPy; `race`, `divergence` and `outside` differ from
it in the lines that end with the comment ``# named``, which the report must name.
"""

from __future__ import annotations

import inspect
import math
import warnings

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import BarrierDivergenceError, BenignRaceWarning, DataRaceError, KapiError, OutOfBoundsError
from kapi_sim.numba_cuda import random

FAULTS = {"race": DataRaceError, "divergence": BarrierDivergenceError, "outside": OutOfBoundsError}
TILE = 4


class VectorAddition:
    blocks, threads = 3, 8

    @staticmethod
    def arguments():
        return np.arange(20.0), np.arange(20.0) * 2, cuda.device_array(20)

    @staticmethod
    def check(a, b, c):
        np.testing.assert_array_equal(c.copy_to_host(), a + b)

    def right(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    def race(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i // 2] = a[i] + b[i]  # named

    def divergence(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]
            cuda.syncthreads()  # named

    def outside(a, b, c):
        i = cuda.grid(1)
        c[i] = a[i] + b[i]  # named


class TreeReduction:
    blocks, threads = 1, 32

    @staticmethod
    def arguments():
        return (cuda.to_device(np.arange(32)),)

    @staticmethod
    def check(data):
        assert data[0] == 496

    def right(data):
        t = cuda.threadIdx.x
        part = cuda.shared.array(32, np.int32)
        part[t] = data[cuda.grid(1)]
        cuda.syncthreads()
        step = 1
        while step < cuda.blockDim.x:
            if t % (2 * step) == 0:
                part[t] += part[t + step]
            step *= 2
            cuda.syncthreads()
        if t == 0:
            data[t] = part[t]

    def race(data):
        t = cuda.threadIdx.x
        part = cuda.shared.array(32, np.int32)
        part[t] = data[cuda.grid(1)]  # named
        step = 1
        while step < cuda.blockDim.x:
            if t % (2 * step) == 0:
                part[t] += part[t + step]  # named
            step *= 2
            cuda.syncthreads()
        if t == 0:
            data[t] = part[t]

    def divergence(data):
        t = cuda.threadIdx.x
        part = cuda.shared.array(32, np.int32)
        part[t] = data[cuda.grid(1)]
        cuda.syncthreads()
        step = 1
        while step < cuda.blockDim.x:
            if t % (2 * step) == 0:
                part[t] += part[t + step]
                cuda.syncthreads()  # named
            step *= 2
        if t == 0:
            data[t] = part[t]

    def outside(data):
        t = cuda.threadIdx.x
        part = cuda.shared.array(32, np.int32)
        part[t] = data[cuda.grid(1)]
        cuda.syncthreads()
        step = 1
        while step <= cuda.blockDim.x:
            if t % (2 * step) == 0:
                part[t] += part[t + step]  # named
            step *= 2
            cuda.syncthreads()
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

    def right(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    def race(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            for k in range(a.shape[1]):
                c[i, 0] += a[i, k] * b[k, j]  # named

    def divergence(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            cuda.syncthreads()  # named
            c[i, j] = total

    def outside(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[1] and j < c.shape[0]:
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]  # named
            c[i, j] = total


class TiledMatrixProduct:
    blocks, threads = (3, 3), (TILE, TILE)

    @staticmethod
    def arguments():
        return np.arange(50.0).reshape(5, 10), np.arange(70.0).reshape(10, 7), np.zeros((5, 7))

    @staticmethod
    def check(a, b, c):
        np.testing.assert_array_equal(c, a @ b)

    def right(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float64)
        above = cuda.shared.array((TILE, TILE), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for block in range(cuda.gridDim.x):
            u, v = tx + block * TILE, ty + block * TILE
            left[ty, tx] = a[y, u] if y < a.shape[0] and u < a.shape[1] else 0.0
            above[ty, tx] = b[v, x] if v < b.shape[0] and x < b.shape[1] else 0.0
            cuda.syncthreads()
            for k in range(TILE):
                total += left[ty, k] * above[k, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    def race(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float64)
        above = cuda.shared.array((TILE, TILE), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for block in range(cuda.gridDim.x):
            u, v = tx + block * TILE, ty + block * TILE
            left[ty, tx] = a[y, u] if y < a.shape[0] and u < a.shape[1] else 0.0  # named
            above[ty, tx] = b[v, x] if v < b.shape[0] and x < b.shape[1] else 0.0
            cuda.syncthreads()
            for k in range(TILE):
                total += left[ty, k] * above[k, tx]  # named
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    def divergence(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float64)
        above = cuda.shared.array((TILE, TILE), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for block in range(cuda.gridDim.x):
            u, v = tx + block * TILE, ty + block * TILE
            left[ty, tx] = a[y, u] if y < a.shape[0] and u < a.shape[1] else 0.0
            above[ty, tx] = b[v, x] if v < b.shape[0] and x < b.shape[1] else 0.0
            if u < a.shape[1]:
                cuda.syncthreads()  # named
                for k in range(TILE):
                    total += left[ty, k] * above[k, tx]
            cuda.syncthreads()  # named
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    def outside(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float64)
        above = cuda.shared.array((TILE, TILE), np.float64)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for block in range(cuda.gridDim.x):
            u, v = tx + block * TILE, ty + block * TILE
            left[ty, tx] = a[y, u] if y <= a.shape[0] and u < a.shape[1] else 0.0  # named
            above[ty, tx] = b[v, x] if v < b.shape[0] and x < b.shape[1] else 0.0
            cuda.syncthreads()
            for k in range(TILE):
                total += left[ty, k] * above[k, tx]
            cuda.syncthreads()
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

    def right(a, b, steps, k):
        i = cuda.grid(1)
        if i >= a.size:
            return
        grid = cuda.cg.this_grid()
        for step in range(steps):
            now, then = (a, b) if step % 2 == 0 else (b, a)
            left = now[i - 1] if i > 0 else 0.0
            right = now[i + 1] if i < a.size - 1 else 0.0
            then[i] = now[i] + k * (left - 2 * now[i] + right)
            grid.sync()

    def race(a, b, steps, k):
        i = cuda.grid(1)
        if i >= a.size:
            return
        for step in range(steps):
            now, then = (a, b) if step % 2 == 0 else (b, a)
            left = now[i - 1] if i > 0 else 0.0  # named
            right = now[i + 1] if i < a.size - 1 else 0.0
            then[i] = now[i] + k * (left - 2 * now[i] + right)  # named
            cuda.syncthreads()

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

    def outside(a, b, steps, k):
        i = cuda.grid(1)
        if i >= a.size:
            return
        grid = cuda.cg.this_grid()
        for step in range(steps):
            now, then = (a, b) if step % 2 == 0 else (b, a)
            left = now[i - 1]  # named
            right = now[i + 1] if i < a.size - 1 else 0.0
            then[i] = now[i] + k * (left - 2 * now[i] + right)
            grid.sync()


class RowsOneByOne:
    blocks, threads = 4, 4

    @staticmethod
    def arguments():
        return (np.zeros((5, 16), np.int32),)

    @staticmethod
    def check(rows):
        np.testing.assert_array_equal(rows, np.tile(np.arange(5), (16, 1)).T)

    def right(rows):
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for row in range(1, rows.shape[0]):
            rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
            grid.sync()

    def race(rows):
        column = cuda.grid(1)
        for row in range(1, rows.shape[0]):
            rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1  # named
            cuda.syncthreads()

    def divergence(rows):
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for row in range(1, rows.shape[0]):
            rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
            if cuda.threadIdx.x:
                grid.sync()  # named
            else:
                cuda.syncthreads()  # named

    def outside(rows):
        column = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for row in range(1, rows.shape[0]):
            rows[row, column] = rows[row - 1, rows.shape[1] - column] + 1  # named
            grid.sync()


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

    def right(users, times, sessions):
        i = cuda.grid(1)
        if i >= users.size:
            return
        starts = i == 0
        if not starts:
            starts = users[i] != users[i - 1] or times[i] - times[i - 1] > 3600
        if starts:
            sessions[i] = i
            cuda.cg.this_grid().sync()
            k = i + 1
            while k < sessions.size and sessions[k] == 0:
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

    def divergence(users, times, sessions):
        i = cuda.grid(1)
        if i >= users.size:
            return
        starts = i == 0
        if not starts:
            starts = users[i] != users[i - 1] or times[i] - times[i - 1] > 3600
        if starts:
            sessions[i] = i
            cuda.syncthreads()  # named
            k = i + 1
            while k < sessions.size and sessions[k] == 0:
                sessions[k] = i
                k += 1

    def outside(users, times, sessions):
        i = cuda.grid(1)
        if i >= users.size:
            return
        starts = i == 0
        if not starts:
            starts = users[i] != users[i - 1] or times[i] - times[i - 1] > 3600
        if starts:
            sessions[i] = i
            cuda.cg.this_grid().sync()
            k = i + 1
            while sessions[k] == 0:  # named
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

    def right(out, states, low, high):
        i = cuda.grid(1)
        if i < out.size:
            sample = random.xoroshiro128p_uniform_float32(states, i) * (high - low) + low
            out[i] = 1.0 / sample

    def race(out, states, low, high):
        i = cuda.grid(1)
        if i < out.size:
            sample = random.xoroshiro128p_uniform_float32(states, i % 100) * (high - low) + low  # named
            out[i] = 1.0 / sample

    def divergence(out, states, low, high):
        i = cuda.grid(1)
        if i < out.size:
            sample = random.xoroshiro128p_uniform_float32(states, i) * (high - low) + low
            out[i] = 1.0 / sample
            cuda.syncthreads()  # named

    def outside(out, states, low, high):
        i = cuda.grid(1)
        sample = random.xoroshiro128p_uniform_float32(states, i) * (high - low) + low  # named
        if i < out.size:
            out[i] = 1.0 / sample


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

    def right(volume, states):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        thread = z * ny * nx + y * nx + x
        for i in range(z, volume.shape[0], nz):
            for j in range(y, volume.shape[1], ny):
                for k in range(x, volume.shape[2], nx):
                    volume[i, j, k] = random.xoroshiro128p_uniform_float32(states, thread)

    def race(volume, states):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        thread = z * ny * nx + y * nx + x
        for i in range(z, volume.shape[0], nz):
            for j in range(y, volume.shape[1], ny):
                for k in range(x, volume.shape[2], 2):
                    volume[i, j, k] = random.xoroshiro128p_uniform_float32(states, thread)  # named

    def divergence(volume, states):
        x, y, z = cuda.grid(3)
        nx, ny, nz = cuda.gridsize(3)
        thread = z * ny * nx + y * nx + x
        for i in range(z, volume.shape[0], nz):
            for j in range(y, volume.shape[1], ny):
                for k in range(x, volume.shape[2], nx):
                    volume[i, j, k] = random.xoroshiro128p_uniform_float32(states, thread)
                    cuda.syncthreads()  # named

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

    def right(r, x):
        if cuda.threadIdx.x == 0:
            np.sin(x, r)

    def race(r, x):
        np.hypot(x, cuda.threadIdx.x, r)  # named

    def divergence(r, x):
        if cuda.threadIdx.x == 0:
            np.sin(x, r)
            cuda.syncthreads()  # named

    def outside(r, x):
        if cuda.threadIdx.x == 0:
            np.sin(x, r)
            r[x.size] = 0  # named


class ConstantsFromOutside:
    """Globals are as they were at the first launch."""

    blocks, threads = 1, 8

    @staticmethod
    def arguments():
        return np.arange(5.0), cuda.device_array(5)

    @staticmethod
    def check(count, total):
        np.testing.assert_allclose(total.copy_to_host(), [0, 27.5, 11, 49.5, 132])

    def right(count, total):
        i = cuda.threadIdx.x
        if i < total.size:
            total[i] = count[i] * PRICES[i] * (1 + TAX)

    def race(count, total):
        i = cuda.threadIdx.x
        if i < total.size:
            total[i // 2] = count[i] * PRICES[i] * (1 + TAX)  # named

    def divergence(count, total):
        i = cuda.threadIdx.x
        if i < total.size:
            cuda.syncthreads()  # named
            total[i] = count[i] * PRICES[i] * (1 + TAX)

    def outside(count, total):
        i = cuda.threadIdx.x
        if i <= total.size:
            price = PRICES[i]  # named
            total[i] = count[i] * price * (1 + TAX)


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

    def right(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = business(x[i], y[i])

    def race(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[0] = business(x[i], y[i])  # named

    def divergence(out, x, y):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = together(x[i], y[i])

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


PROGRAMS = [value for value in list(globals().values()) if inspect.isclass(value) and hasattr(value, "right")]
PLANTED = [
    pytest.param(program, fault, id=f"{program.__name__}-{fault}")
    for program in PROGRAMS
    for fault in FAULTS
    if hasattr(program, fault)
]


def launch(program, function):
    arguments = program.arguments()
    cuda.jit(function)[program.blocks, program.threads](*arguments)
    return arguments


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_right_programs_run(program):
    program.check(*launch(program, program.right))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_right_programs_run_in_any_order(program, seed):
    with kapi.simulation(seed=seed):
        program.check(*launch(program, program.right))


@pytest.mark.parametrize(("program", "fault"), PLANTED)
def test_fault_is_found(program, fault):
    function = getattr(program, fault)
    lines, first = inspect.getsourcelines(function)
    named = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# named")]
    # Of the threads that a race is between, the first two may store what is equal.
    warnings.simplefilter("ignore", BenignRaceWarning)
    with pytest.raises(FAULTS[fault]) as info:
        launch(program, function)
    text = str(info.value)
    assert [line for line in named if f".py:{line}" not in text] == []
    assert not [word for word in ("work-item", "work-group", "sub-group", "group_barrier") if word in text]
    assert "thread " in text
    assert isinstance(info.value, KapiError)
