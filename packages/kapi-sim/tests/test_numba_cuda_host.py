"""The host's part of numba.cuda: launches, arrays, streams, events, reductions, vectorized functions."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import (
    DtypeError,
    KernelCompilationError,
    KernelLaunchError,
    LimitError,
    UninitializedReadError,
)
from kapi_sim.numba_cuda import random
from kapi_sim.testing.reports import raises


@cuda.jit
def add_one(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


# Launches


@pytest.mark.parametrize(
    "configuration", [(2, 4), ((2,), (4,)), ([2], [4]), (np.int64(2), 4, cuda.stream()), (2, 4, 0, 16)]
)
def test_configurations(configuration):
    a = np.zeros(8)
    add_one[configuration](a)
    assert a.tolist() == [1] * 8


@pytest.mark.parametrize(
    ("configuration", "error", "message"),
    [
        (4, ValueError, "blocks and threads"),
        ((1,), ValueError, "blocks and threads"),
        ((1, 2, 3, 4, 5), ValueError, "blocks and threads"),
        ((1.5, 2), TypeError, "griddim must be a sequence of integers"),
        ((1, (2, 2, 2, 2)), ValueError, "blockdim must be a sequence of 1, 2 or 3"),
        ((0, 2), ValueError, "griddim must be made of integers from 1 on"),
        ((1, 2, 0, -1), ValueError, "sharedmem must be an integer from 0 on"),
    ],
)
def test_configurations_refused(configuration, error, message):
    with pytest.raises(error, match=message) as info:
        add_one[configuration](np.zeros(8))
    assert isinstance(info.value, KernelLaunchError)
    assert info.value.code in ("launch-configuration", "cuda-configuration")


def test_a_block_has_at_most_1024_threads():
    with raises(LimitError, "work-group-too-large"):
        add_one[1, (33, 32)](np.zeros(8))


@pytest.mark.parametrize(("grid", "block"), [(2**31, 1), ((1, 2**16), 1), ((1, 1, 2**16), 1), (1, (1, 1, 65))])
def test_a_grid_and_a_block_have_extents_that_a_device_has(grid, block):
    with raises(LimitError, "work-group-too-large"):
        add_one[grid, block](np.zeros(8))


def test_a_plain_call_says_how_a_kernel_is_launched():
    with pytest.raises(ValueError, match=r"add_one\[blocks, threads\]"):
        add_one(np.zeros(8))


def test_the_number_of_arguments_is_checked():
    with pytest.raises(TypeError, match=r"1 arguments \(a\), got 2"):
        add_one[1, 1](np.zeros(1), 2)


def test_forall():
    a = np.zeros(300)
    add_one.forall(300)(a)
    assert a.tolist() == [1] * 300
    add_one.forall(0)(a)
    with pytest.raises(ValueError, match="ntasks must be an integer from 0 on, got -1"):
        add_one.forall(-1)


@pytest.mark.parametrize(
    "signature",
    [
        "void(float64[:], float32, int8)",
        [cuda.void(cuda.float64[:], cuda.float32, cuda.int8)],
        (cuda.float64[:], cuda.f4, cuda.i1),
    ],
)
def test_numbers_take_the_types_of_a_signature(signature):
    @cuda.jit(signature, fastmath=True, cache=True, lineinfo=True)
    def store(out, x, n):
        out[0], out[1] = x, n

    out = np.zeros(2)
    store[1, 1](out, 0.1, 300)
    assert out.tolist() == [float(np.float32(0.1)), 44]


def test_the_signature_that_fits_is_taken():
    @cuda.jit(["void(float64[:], float32)", "void(float64[:], float64)"])
    def store(out, x):
        out[0] = x

    out = np.zeros(1)
    store[1, 1](out, 0.1)
    assert out[0] == 0.1
    store[1, 1](out, np.float32(0.1))
    assert out[0] == np.float32(0.1)


def test_integers_are_computed_with_in_64_bits():
    # numba.cuda's numbers, not NumPy's: int32 + int32 is int64, and an element keeps the low bits.
    @cuda.jit
    def compute(narrow, wide):
        wide[0] = narrow[0] + narrow[0]
        wide[1] = narrow[0] * 4
        narrow[1] = narrow[0] * 2 + 1

    narrow, wide = np.array([2**31 - 1, 0], np.int32), np.zeros(2, np.int64)
    compute[1, 1](narrow, wide)
    assert wide.tolist() == [2**32 - 2, 2**33 - 4]
    assert narrow[1] == -1


def test_device_functions_are_for_kernels():
    @cuda.jit(device=True)
    def twice(x):
        return 2 * x

    @cuda.jit
    def doubled(a):
        a[cuda.grid(1)] = twice(a[cuda.grid(1)])

    a = np.arange(4)
    doubled[1, 4](a)
    assert a.tolist() == [0, 2, 4, 6]
    with raises(KernelLaunchError, "outside-kernel"):
        twice(1)
    assert twice.py_func(2) == 4


def test_a_kernel_without_device_is_a_device_function_as_well():
    @cuda.jit
    def both(x):
        return x + 1

    @cuda.jit
    def caller(a):
        a[0] = both(a[0])

    a = np.zeros(1)
    caller[1, 1](a)
    assert a[0] == 1


def test_globals_are_those_of_the_first_launch():
    rates, factor = np.array([1.0, 2.0]), 3

    @cuda.jit
    def kernel(a):
        a[0] = rates[1] * factor

    a = np.zeros(1)
    kernel[1, 1](a)
    rates[1], factor = 10.0, 20
    kernel[1, 1](a)
    assert a[0] == 6
    assert factor == 20


def test_a_device_array_among_the_globals_is_the_array_itself():
    rates = cuda.to_device(np.array([1.0, 2.0]))

    @cuda.jit
    def kernel(a):
        a[0] = rates[1]

    a = np.zeros(1)
    kernel[1, 1](a)
    rates[1] = 5.0
    kernel[1, 1](a)
    assert a[0] == 5


def test_constants_are_not_written():
    rates = np.zeros(2)

    @cuda.jit
    def kernel(a):
        rates[0] = a[0]

    with raises(KernelCompilationError, "outside-array-stored", line="rates[0] = a[0]"):
        kernel[1, 1](np.ones(1))


def test_records():
    dtype = np.dtype([("x", np.int32), ("pair", np.float32, 2)], align=True)

    @cuda.jit
    def kernel(records):
        i = cuda.grid(1)
        records[i].x = records[i]["x"] + 1
        records[i].pair[1] = i
        records["pair"][i, 0] = 7

    records = np.zeros(2, dtype)
    kernel[1, 2](records)
    assert records["x"].tolist() == [1, 1]
    assert records["pair"].tolist() == [[7, 0], [7, 1]]


def test_fields_of_records_race_by_themselves():
    records = np.zeros(1, [("x", np.int32), ("y", np.int32)])

    @cuda.jit
    def separate(records):
        if cuda.threadIdx.x == 0:
            records[0].x = 1
        else:
            records[0].y = 2

    @cuda.jit
    def together(records):
        records[0].x = cuda.threadIdx.x

    separate[1, 2](records)
    assert records.tolist() == [(1, 2)]
    with raises(kapi.errors.DataRaceError, "data-race"):
        together[1, 2](records)


# Arrays


def test_a_device_array_is_a_copy():
    host = np.arange(6.0).reshape(2, 3)
    array = cuda.to_device(host)
    host[:] = 0
    assert array.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (array.shape, array.dtype, array.ndim, array.size) == ((2, 3), np.float64, 2, 6)
    assert (array.nbytes, array.strides, len(array)) == (48, (24, 8), 2)
    assert array.T.copy_to_host().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert array.reshape(6)[1:3].copy_to_host().tolist() == [1, 2]
    assert array[1, 2] == 5
    assert [part.copy_to_host().tolist() for part in array.ravel().split(4)] == [[0, 1, 2, 3], [4, 5]]
    assert cuda.is_cuda_array(array)
    assert not cuda.is_cuda_array(host)


def test_copies():
    array, out = cuda.device_array(3, np.int32), np.zeros(3, np.int32)
    array.copy_to_device(np.array([1, 2, 3], np.int32))
    assert array.copy_to_host(out, stream=cuda.stream()) is out
    assert out.tolist() == [1, 2, 3]
    array[1:] = np.array([8, 9])
    assert array.copy_to_host().tolist() == [1, 8, 9]
    with raises(DtypeError, "copy-unlike"):
        array.copy_to_host(np.zeros(3, np.int64))
    with pytest.raises(ValueError, match=r"shape of the copy must be \(3,\), got \(4,\)"):
        array.copy_to_device(np.zeros(4, np.int32))


def test_a_copy_to_what_is_not_contiguous_is_refused():
    rows = cuda.to_device(np.zeros((3, 4), order="F"))
    with pytest.raises(ValueError, match="must be contiguous to be copied as a whole"):
        rows[1].copy_to_device(np.ones(4))
    with pytest.raises(ValueError, match="must lie alike to be copied"):
        rows.copy_to_device(cuda.to_device(np.zeros((3, 4))))
    rows.copy_to_device(np.zeros((3, 4)))
    rows[1] = np.ones(4)
    assert rows.copy_to_host()[1].tolist() == [1] * 4
    assert rows.copy_to_host().flags.f_contiguous


def test_other_libraries_see_the_memory():
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    array = cuda.to_device(np.zeros(4))
    add_one[1, 4](Foreign(array[1:3]))
    assert array.copy_to_host().tolist() == [0, 1, 1, 0]
    assert cuda.as_cuda_array(Foreign(array)).copy_to_host().tolist() == [0, 1, 1, 0]


def test_memory_of_a_real_device_is_refused():
    class Real:
        def __init__(self):
            self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f8", "data": (64, False), "version": 3}

    with raises(DtypeError, "cuda-memory") as info:
        add_one[1, 4](Real())
    assert info.value.code == "cuda-memory"


@pytest.mark.parametrize("space", [cuda.shared, cuda.local])
def test_alignment(space):
    @cuda.jit
    def kernel(a, alignment):
        own = space.array(1, np.int32, alignment)
        own[0] = 3
        a[0] = own[0]

    a = np.zeros(1)
    kernel[1, 1](a, 16)
    assert a[0] == 3
    with raises(LimitError, "cuda-alignment") as info:
        kernel[1, 1](a, 12)
    assert info.value.code == "cuda-alignment"


def test_shared_memory_has_48_kilobytes():
    @cuda.jit
    def kernel(a):
        own = cuda.shared.array(12289, np.float32)
        own[0] = 1
        a[0] = own[0]

    with raises(LimitError, "work-group-too-large"):
        kernel[1, 1](np.zeros(1))


def test_a_mask_names_its_caller():
    @cuda.jit
    def kernel(a):
        a[cuda.laneid] = cuda.ballot_sync(0b0111, 1)

    with raises(kapi.errors.CollectiveMismatchError, "mask-without-caller") as info:
        kernel[1, 4](np.zeros(4))
    assert info.value.code == "mask-without-caller"


def test_a_mask_of_threads_that_do_not_come():
    @cuda.jit
    def kernel(a):
        if cuda.laneid < 2:
            a[cuda.laneid] = cuda.ballot_sync(0b1111, 1)
        else:
            cuda.syncwarp(0b1100)
            cuda.syncthreads()

    with raises(kapi.errors.CollectiveMismatchError, "meetings-differ"):
        kernel[1, 4](np.zeros(4))


def test_threads_that_have_returned_hold_up_no_barrier():
    @cuda.jit
    def early(a):
        i = cuda.grid(1)
        if i >= a.size:
            return
        a[i] = cuda.syncthreads_count(True)

    @cuda.jit
    def late(a):
        i = cuda.grid(1)
        if i < a.size:
            cuda.syncthreads()
            a[i] = 1

    a = np.zeros(5)
    early[1, 8](a)
    assert a.tolist() == [5] * 5
    with raises(kapi.errors.BarrierDivergenceError, "meeting-missed"):
        late[1, 8](a)


def test_a_lane_that_takes_no_part_gives_nothing():
    @cuda.jit
    def kernel(a):
        if cuda.laneid < 2:
            a[cuda.laneid] = cuda.shfl_sync(0b11, 1, 2)

    with raises(kapi.errors.CollectiveMismatchError, "undefined-value"):
        kernel[1, 4](np.zeros(4))


def test_a_race_between_warps_is_no_matter_of_syncwarp():
    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(64, np.int32)
        i = cuda.threadIdx.x
        tile[i] = i
        cuda.syncwarp()
        a[i] = tile[63 - i]

    with raises(kapi.errors.DataRaceError, "data-race"):
        kernel[1, 64](np.zeros(64))


def test_breakpoints_stop_in_one_thread(monkeypatch):
    stopped = []
    monkeypatch.setattr("sys.breakpointhook", lambda *_: stopped.append(cuda.grid(2)))

    @cuda.jit
    def kernel(a):
        x, y = cuda.grid(2)
        breakpoint()  # noqa: T100
        a[x, y] = 1

    with kapi.debug(item=(3, 1)):
        kernel[(2, 2), (2, 1)](np.zeros((4, 2)))
    assert stopped == [(3, 1)]


@pytest.mark.parametrize("name", sorted(kapi.PROFILES))
def test_every_profile_runs_kernels(name):
    with kapi.simulation(profile=name):
        add_one[2, 4](np.zeros(8, np.int32))


def test_a_block_that_waits_for_a_later_one():
    @cuda.jit
    def kernel(flag):
        if cuda.blockIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        else:
            cuda.atomic.exch(flag, 0, 1)

    with raises(kapi.errors.DeadlockError, "loop-without-change"):
        kernel[2, 1](np.zeros(1, np.int32))


def test_locks_of_blocks():
    @cuda.jit
    def kernel(lock, count):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            cuda.threadfence()
            count[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)

    count = np.zeros(1, np.int32)
    kernel[5, 4](np.zeros(1, np.int32), count)
    assert count[0] == 5

    @cuda.jit
    def unlocked(lock, count):
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(lock, 0, 1)
            count[0] += 1

    with raises(kapi.errors.DataRaceError, "data-race"):
        unlocked[5, 4](np.zeros(1, np.int32), count)


def test_traces_and_reports_have_cudas_names():
    with kapi.simulation(schedules=2) as report, kapi.trace() as trace:
        add_one[(2, 1), 3](np.zeros(4))
    assert "add_one over 2 blocks of 3 threads: 6 threads in total, program order" in report.text()
    text = trace.text(color=False)
    assert text.startswith("add_one over 2 blocks of 3 threads: 6 threads, ")
    assert "of each warp of 32" in text
    assert "work-item" not in text
    assert ">5</text>" in trace.svg()
    assert {event.kind for event in trace.launches[0].events} == {"line", "read", "write"}


@pytest.mark.parametrize("make", [cuda.device_array, cuda.pinned_array, cuda.mapped_array, cuda.managed_array])
def test_arrays_are_made(make):
    array = make((2, 3), np.float32, order="F")
    assert (array.shape, array.dtype, array.strides) == ((2, 3), np.float32, (4, 8))


@pytest.mark.parametrize("make", [cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like])
def test_arrays_are_made_like_others(make):
    array = make(np.zeros((2, 3), np.int16, order="F"))
    assert (array.shape, array.dtype, array.strides) == ((2, 3), np.int16, (2, 4))


def test_blocks_of_pinned_and_mapped_memory():
    host = np.zeros(4)
    with cuda.pinned(host), cuda.mapped(host) as array:
        add_one[1, 4](array)
    assert host.tolist() == [1] * 4


def test_in_and_out():
    host = np.zeros(4)
    add_one[1, 4](cuda.In(host))
    assert host.tolist() == [0] * 4
    add_one[1, 4](cuda.InOut(host))
    assert host.tolist() == [1] * 4
    add_one[1, 4](cuda.Out(host))
    assert host.tolist() == [2] * 4


def test_what_nothing_was_written_to_is_not_read():
    array = cuda.device_array(4)
    with raises(UninitializedReadError, "read-before-write"):
        add_one[1, 4](array)
    array = cuda.device_array(4)
    array[0:2] = 1
    with raises(UninitializedReadError, "read-before-write"):
        add_one[1, 4](array)

    @cuda.jit
    def fill(a):
        a[cuda.grid(1)] = 5

    fill[1, 4](array)
    add_one[1, 4](array)
    assert array.copy_to_host().tolist() == [6] * 4
    other = cuda.device_array_like(array)
    other.copy_to_device(array)
    add_one[1, 4](other)
    assert other.copy_to_host().tolist() == [7] * 4


# Streams, events, devices


def test_streams():
    seen = []
    for stream in (
        cuda.stream(),
        cuda.default_stream(),
        cuda.legacy_default_stream(),
        cuda.per_thread_default_stream(),
    ):
        with stream.auto_synchronize():
            add_one[1, 1, stream](np.zeros(1))
        stream.add_callback(lambda *each: seen.append(each[1:]), 7)
        stream.synchronize()
    assert seen == [(0, 7)] * 4
    assert int(cuda.external_stream(99)) == 99

    async def wait():
        return await stream.async_done()

    assert asyncio.run(wait()) is stream
    cuda.synchronize()


def test_events():
    start, end = cuda.event(), cuda.Event(timing=True)
    start.record()
    end.record(cuda.Stream())
    end.synchronize()
    end.wait()
    assert end.query()
    assert cuda.event_elapsed_time(start, end) >= 0
    with raises(KernelLaunchError, "event-unrecorded"):
        cuda.event().elapsed_time(end)


def test_the_device(capsys):
    assert cuda.is_available()
    assert cuda.is_supported_version()
    assert cuda.is_float16_supported()
    assert not cuda.is_bfloat16_supported()
    assert cuda.cuda_error() is None
    assert len(cuda.gpus) == len(list(cuda.list_devices())) == 1
    device = cuda.get_current_device()
    assert device is cuda.gpus[0] is cuda.select_device(0) is cuda.gpus.current
    assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK) == (32, 1024)
    assert device.compute_capability in cuda.get_supported_ccs()
    with cuda.gpus[0], cuda.defer_cleanup(), cuda.profiling():
        assert cuda.require_context(lambda x: x + 1)(1) == 2
    cuda.profile_start()
    cuda.profile_stop()
    context = cuda.current_context()
    assert context.get_memory_info().total > 0
    context.synchronize()
    with raises(KernelLaunchError, "device-unknown"):
        cuda.current_context(1)
    with raises(KernelLaunchError, "device-unknown"):
        cuda.select_device(1)
    assert cuda.detect()
    assert "the simulator" in capsys.readouterr().out
    cuda.close()


# Functions of arrays


def test_reduce():
    @cuda.reduce
    def total(a, b):
        return a + b

    data = np.arange(10)
    assert total(data) == 45
    assert total(cuda.to_device(data), size=3, init=100) == 103
    out = np.zeros(1)
    assert cuda.Reduce(lambda a, b: max(a, b))(data, res=out) is None
    assert out[0] == 9
    with raises(KernelLaunchError, "cuda-shape"):
        total(np.zeros((2, 2)))


def test_functions_of_arrays_say_what_they_take():
    with raises(KernelLaunchError, "cuda-shape") as info:
        list(cuda.to_device(np.zeros((2, 2))).split(1))
    assert info.value.code == "cuda-shape"


def test_vectorize():
    @cuda.vectorize(["int64(int64, int64)", "float64(float64, float64)"], target="cuda")
    def scaled(x, y):
        return x * y

    np.testing.assert_array_equal(scaled(np.arange(3), 2), [0, 2, 4])
    assert scaled(np.arange(3), 2).dtype == np.int64
    np.testing.assert_array_equal(scaled(np.ones((2, 1)), np.arange(3)), [[0, 1, 2], [0, 1, 2]])
    made = scaled(cuda.to_device(np.arange(3.0)), 2.5)
    assert made.copy_to_host().tolist() == [0, 2.5, 5]
    out = cuda.device_array(3)
    assert scaled(np.arange(3.0), 2.0, out=out) is out
    assert scaled.reduce(np.arange(1, 5)) == 24
    with raises(DtypeError, "argument-type"):
        scaled(1j, 1j)
    with raises(KernelLaunchError, "argument-count"):
        scaled(1)


def test_vectorize_without_types():
    @cuda.vectorize
    def half(x):
        return x / 2

    assert half(np.array([1, 2])).tolist() == [0.5, 1]


def test_guvectorize():
    @cuda.guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")
    def product(a, b, c):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] = 0
                for k in range(a.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    a, b = np.arange(12.0).reshape(2, 2, 3), np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(product(a, b), a @ b)
    out = cuda.device_array((2, 2, 2))
    assert product(a, b, out=out) is out
    with raises(KernelLaunchError, "cuda-shape"):
        product(a, np.zeros((2, 2)))


def test_guvectorize_checks_each_call():
    @cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->(n)")
    def shifted(a, b):
        for i in range(a.size):
            b[i] = a[i + 1]

    with raises(kapi.errors.OutOfBoundsError, "index-out-of-bounds"):
        shifted(np.arange(3))


# Random numbers


def test_random_numbers_match_numba():
    # What numba-cuda 0.30.4 gives for the same states.
    states = random.create_xoroshiro128p_states(4, seed=7, subsequence_start=2)
    uniform, normal = np.zeros(4, np.float32), np.zeros(4)

    @cuda.jit
    def draw(states, uniform, normal):
        i = cuda.grid(1)
        uniform[i] = random.xoroshiro128p_uniform_float32(states, i)
        normal[i] = random.xoroshiro128p_normal_float64(states, i)

    draw[1, 4](states, uniform, normal)
    np.testing.assert_allclose(uniform, [0.9711314, 0.5329804, 0.18314154, 0.33826745], rtol=1e-7)
    np.testing.assert_allclose(normal, [-0.37813604, 1.19433691, -0.10124431, 0.72652197], rtol=1e-7)
    assert states.copy_to_host()[3].tolist() == (6444290052894732268, 7363758797617679183)


def test_random_numbers_of_all_kinds():
    states = random.create_xoroshiro128p_states(1, seed=1)
    jumped = random.create_xoroshiro128p_states(2, seed=1)

    @cuda.jit
    def draw(states, out):
        for k in range(0, out.size, 4):
            out[k] = random.xoroshiro128p_uniform_float64(states, 0)
            out[k + 1] = random.xoroshiro128p_uniform_float32(states, 0)
            out[k + 2] = random.xoroshiro128p_normal_float64(states, 0)
            out[k + 3] = random.xoroshiro128p_normal_float32(states, 0)

    out = np.zeros(2000)
    draw[1, 1](states, out)
    kinds = out.reshape(-1, 4)
    # Mean and deviation of 500 numbers lie within four of their own deviations.
    np.testing.assert_allclose(kinds.mean(0), [0.5, 0.5, 0, 0], atol=0.18)
    np.testing.assert_allclose(kinds.std(0), [0.2887, 0.2887, 1, 1], atol=0.13)

    @cuda.jit
    def jump(states, out):
        random.xoroshiro128p_jump(states, 0)
        out[0] = random.xoroshiro128p_next(states, 0)
        out[1] = random.xoroshiro128p_next(states, 1)

    # The second state is the first, one jump on.
    both = np.zeros(2, np.uint64)
    jump[1, 1](jumped, both)
    assert both[0] == both[1] > 0
    again = np.zeros(2, random.xoroshiro128p_dtype)
    random.init_xoroshiro128p_states(again, seed=1)
    assert again[0] == random.create_xoroshiro128p_states(1, seed=1).copy_to_host()[0]


# What is refused


def test_a_kernel_that_calls_c_is_refused():
    linked = cuda.declare_device("linked", "int32(int32)", link=cuda.CUSource("int f;"))

    @cuda.jit(link=["code.cu"])
    def kernel(a):
        a[0] = linked(1)

    with pytest.raises(NotImplementedError, match="no CUDA C"):
        kernel[1, 1](np.zeros(1))


@pytest.mark.parametrize(
    "use", ["cuda.grid(1)", "cuda.threadIdx.x", "cuda.syncthreads()", "cuda.shared.array(1, 'i4')"]
)
def test_intrinsics_have_no_meaning_outside(use):
    with raises(KernelLaunchError, "outside-kernel"):
        eval(use, {"cuda": cuda})
