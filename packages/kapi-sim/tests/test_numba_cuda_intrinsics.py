"""Each word of numba.cuda's kernels does what CUDA's documents say: a case for each, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kapi_sim import numba_cuda as cuda
from kapi_sim.numba_cuda import support, types
from kapi_sim.numba_cuda.values import vectors

CASES = {}
FULL = 0xFFFFFFFF


def case(*words, blocks=1, threads=1, gives, dtype=np.int64, size=None, shared=0):
    """Add a kernel that gets one array; `gives` is what the array holds afterwards."""

    def add(function):
        expected = np.array(gives)
        for word in words:
            CASES.setdefault(word, []).append(
                (function, blocks, threads, expected, dtype, size or expected.shape, shared)
            )
        return function

    return add


# Who runs


@case("grid", "threadIdx", "blockIdx", "blockDim", blocks=2, threads=3, gives=[0, 1, 2, 10, 11, 12])
def one_dimension(out):
    out[cuda.grid(1)] = cuda.blockIdx.x * 10 + cuda.threadIdx.x + (cuda.blockDim.x - 3)


@case("grid", "gridsize", blocks=(2, 3), threads=(2, 1), gives=[[0, 10, 20], [1, 11, 21], [2, 12, 22], [3, 13, 23]])
def two_dimensions(out):
    x, y = cuda.grid(2)
    width, height = cuda.gridsize(2)
    out[x, y] = x + 10 * y + (width - 4) + (height - 3)


@case("grid", "gridDim", blocks=(1, 2, 3), threads=(2, 1, 1), gives=[6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6])
def three_dimensions(out):
    x, y, z = cuda.grid(3)
    out[x + 2 * y + 4 * z] = cuda.gridDim.x * cuda.gridDim.y * cuda.gridDim.z


@case("threadIdx", "blockDim", threads=(2, 2, 2), gives=[0, 1, 10, 11, 100, 101, 110, 111])
def x_is_the_fastest(out):
    i = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    out[i] = cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.threadIdx.z


@case("laneid", "warpsize", threads=34, gives=[*range(32, 64), 32, 33])
def lanes(out):
    out[cuda.threadIdx.x] = cuda.laneid + cuda.warpsize


# Memory


@case("shared", threads=4, gives=[3, 2, 1, 0])
def shared_memory(out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array(4, np.int32)
    tile[i] = i
    cuda.syncthreads()
    out[i] = tile[3 - i]


@case("shared", blocks=2, threads=2, shared=16, gives=[1, 0, 11, 10])
def dynamic_shared_memory(out):
    i, b = cuda.threadIdx.x, cuda.blockIdx.x
    tile = cuda.shared.array(shape=0, dtype=np.int64)
    tile[i] = i + 10 * b
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[tile.size - 1 - i]


@case("local", threads=2, gives=[3, 13])
def local_memory(out):
    own = cuda.local.array((2, 2), np.int32)
    for k in range(4):
        own[k // 2, k % 2] = k + 10 * cuda.threadIdx.x
    out[cuda.threadIdx.x] = own[1, 1]


PRIMES = np.array([2, 3, 5, 7])


@case("const", threads=4, gives=[7, 5, 3, 2])
def constant_memory(out):
    primes = cuda.const.array_like(PRIMES)
    out[cuda.threadIdx.x] = primes[3 - cuda.threadIdx.x]


# Barriers and fences


@case("syncthreads", threads=64, gives=[2016])
def tree(out):
    i = cuda.threadIdx.x
    sums = cuda.shared.array(64, np.int64)
    sums[i] = i
    step = 32
    while step > 0:
        cuda.syncthreads()
        if i < step:
            sums[i] += sums[i + step]
        step //= 2
    if i == 0:
        out[0] = sums[0]


@case("syncthreads_count", "syncthreads_and", "syncthreads_or", threads=40, gives=[10, 0, 1])
def predicates(out):
    i = cuda.threadIdx.x
    count = cuda.syncthreads_count(i < 10)
    both, either = cuda.syncthreads_and(i < 39), cuda.syncthreads_or(i == 39)
    if i == 0:
        out[0], out[1], out[2] = count, both, either


@case("syncthreads_count", threads=4, gives=[3, 2, 1, 0])
def a_predicate_orders_memory(out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array(4, np.int32)
    tile[i] = i
    cuda.syncthreads_count(True)
    out[i] = tile[3 - i]


@case("syncwarp", threads=4, gives=[1, 2, 3, 0])
def warp_barrier(out):
    i = cuda.threadIdx.x
    tile = cuda.shared.array(4, np.int32)
    tile[i] = i
    cuda.syncwarp()
    out[i] = tile[(i + 1) % 4]


@case("threadfence", "threadfence_block", "threadfence_system", "atomic", threads=2, gives=[7])
def a_message(out):
    data = cuda.shared.array(1, np.int32)
    flag = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        flag[0] = 0
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        data[0] = 7
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence_block()
        out[0] = data[0]


@case("cg", blocks=3, threads=2, gives=[5, 4, 3, 2, 1, 0])
def the_full_grid(out):
    i, n = cuda.grid(1), cuda.gridsize(1)
    grid = cuda.cg.this_grid()
    out[i] = i
    cuda.cg.this_grid().sync()
    other = out[n - 1 - i]
    grid.sync()
    out[i] = other


# Warps


@case("shfl_sync", threads=4, gives=[2, 2, 2, 2])
def shuffle(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_sync(FULL, i, 2)


@case("shfl_up_sync", threads=32, gives=[0, 1, *range(30)])
def shuffle_up(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_up_sync(FULL, i, 2)


@case("shfl_down_sync", threads=32, gives=[*range(1, 32), 31])
def shuffle_down(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_down_sync(FULL, i, 1)


@case("shfl_xor_sync", threads=4, gives=[1, 0, 3, 2])
def shuffle_xor(out):
    i = cuda.threadIdx.x
    out[i] = cuda.shfl_xor_sync(FULL, i, 1)


@case("shfl_down_sync", threads=64, gives=[496, 1520])
def sum_of_warps(out):
    value = cuda.threadIdx.x
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, step)
    if cuda.laneid == 0:
        out[cuda.threadIdx.x // 32] = value


@case("all_sync", "any_sync", "eq_sync", "ballot_sync", threads=4, gives=[0, 1, 0, 0b1100])
def votes(out):
    i = cuda.threadIdx.x
    everyone, anyone = cuda.all_sync(FULL, i > 1), cuda.any_sync(FULL, i > 1)
    alike, ballot = cuda.eq_sync(FULL, i > 1), cuda.ballot_sync(FULL, i > 1)
    if i == 0:
        out[0], out[1], out[2], out[3] = everyone, anyone, alike, ballot


@case("match_any_sync", "match_all_sync", threads=4, gives=[0b0101, 0b1010, 0b0101, 0b1010, 0, 0b1111])
def matches(out):
    i = cuda.threadIdx.x
    out[i] = cuda.match_any_sync(FULL, i % 2)
    differ, is_one = cuda.match_all_sync(FULL, i)
    same, is_another = cuda.match_all_sync(FULL, 8)
    if i == 0 and not is_one and is_another:
        out[4], out[5] = differ, same


@case("ballot_sync", threads=32, gives=[0xF])
def a_part_of_a_warp(out):
    if cuda.threadIdx.x < 4:
        ballot = cuda.ballot_sync(0xF, 1)
        if cuda.threadIdx.x == 3:
            out[0] = ballot


@case("activemask", "lanemask_lt", threads=8, gives=[0b10101010, 1, 0b10101010, 7, 0b10101010, 31, 0b10101010, 127])
def masks(out):
    i = cuda.threadIdx.x
    if i % 2:
        out[i - 1] = cuda.activemask()
        out[i] = cuda.lanemask_lt()


# Atomics


@case("atomic", threads=10, gives=[45, 55, 3, 12, 1023])
def sums_and_bits(out):
    i = cuda.threadIdx.x
    if i == 0:
        out[1], out[2], out[3], out[4] = 100, 7, 12, 0
    cuda.syncthreads()
    cuda.atomic.add(out, 0, i)
    cuda.atomic.sub(out, 1, i)
    cuda.atomic.and_(out, 2, 3)
    cuda.atomic.xor(out, 3, 5)
    cuda.atomic.or_(out, 4, 1 << i)


@case("atomic", threads=10, dtype=np.float64, gives=[9, -9, 9, -9])
def extremes(out):
    i = cuda.threadIdx.x
    cuda.atomic.max(out, 0, i)
    cuda.atomic.min(out, 1, -i)
    cuda.atomic.nanmax(out, 2, math.nan if i == 3 else i)
    cuda.atomic.nanmin(out, 3, math.nan if i == 3 else -i)


@case("atomic", threads=10, dtype=np.uint32, gives=[2, 2, 5, 5, 9])
def counters(out):
    i = cuda.threadIdx.x
    cuda.atomic.inc(out, 0, 3)  # 1, 2, 3, 0, 1, ...
    cuda.atomic.dec(out, 1, 3)  # 3, 2, 1, 0, 3, ...
    cuda.atomic.cas(out, 2, 0, 5)
    cuda.atomic.exch(out, 3, 5)
    if cuda.atomic.compare_and_swap(out, 77, 1) != 77 and i == 9:
        out[4] = i


# Instructions


@case("popc", "clz", "ffs", "brev", dtype=np.uint32, gives=[3, 27, 5, 1 << 31])
def bits_of_32(out):
    out[0], out[1], out[2], out[3] = 0b10101, 0b10101, 0b10000, 1
    out[0], out[1] = cuda.popc(out[0]), cuda.clz(out[1])
    out[2], out[3] = cuda.ffs(out[2]), cuda.brev(out[3])


@case("popc", "clz", "ffs", "brev", dtype=np.int64, gives=[64, 59, 0, 1 << 62])
def bits_of_64(out):
    out[0], out[1], out[2], out[3] = -1, 0b10101, 0, 2
    out[0], out[1] = cuda.popc(out[0]), cuda.clz(out[1])
    out[2], out[3] = cuda.ffs(out[2]), cuda.brev(out[3])


@case("fma", "cbrt", "selp", "nanosleep", dtype=np.float64, gives=[7, 3, 5, 2.0**-104])
def arithmetic(out):
    cuda.nanosleep(100)
    out[0] = cuda.fma(2.0, 3.0, 1.0)
    out[1] = cuda.cbrt(27.0)
    out[2] = cuda.selp(False, 4.0, 5.0)
    one = 1.0 + 2.0**-52
    # The product is exact before -1 - 2**-51 is added: 2**-104 is left.
    out[3] = cuda.fma(one, one, -1.0 - 2.0**-51)


@case("fp16", dtype=np.float64, gives=[4, 2, 3, 3, 7, -3, 3, 1, 1, 2, 1])
def halves(out):
    two, three, one = np.float16(2), np.float16(3), np.float16(1)
    out[0], out[1], out[2] = cuda.fp16.hadd(three, one), cuda.fp16.hsub(three, one), cuda.fp16.hmul(three, one)
    out[3], out[4] = cuda.fp16.hdiv(three, one), cuda.fp16.hfma(two, three, one)
    out[5], out[6] = cuda.fp16.hneg(three), cuda.fp16.habs(cuda.fp16.hneg(three))
    out[7], out[8] = cuda.fp16.hgt(three, two), cuda.fp16.hle(two, two)
    out[9], out[10] = cuda.fp16.hmin(two, three), cuda.fp16.hfloor(np.float16(1.5))


# Numbers


@case("int32", "uint8", "int8", "float32", dtype=np.float64, gives=[-2147483648, 44, -128, np.float32(0.1)])
def conversions(out):
    out[0] = cuda.int32(2**31)
    out[1] = cuda.uint8(300)
    out[2] = cuda.int8(128)
    out[3] = cuda.float32(0.1)


@pytest.mark.parametrize("word", sorted(CASES))
def test_word(word):
    for function, blocks, threads, expected, dtype, size, shared in CASES[word]:
        out = np.zeros(size, dtype)
        cuda.jit(function)[blocks, threads, 0, shared](out)
        np.testing.assert_array_equal(out, expected, err_msg=function.__name__)


ON_THE_HOST = {
    *("Archive", "CSource", "CUSource", "Cubin", "Fatbin", "LTOIR", "Object", "PTXSource"),
    *("Event", "In", "InOut", "Out", "Reduce", "Stream"),
    *("as_cuda_array", "close", "cuda_error", "current_context", "declare_device", "default_stream", "defer_cleanup"),
    *("detect", "device_array", "device_array_like", "event", "event_elapsed_time", "external_stream"),
    *("get_current_device", "get_supported_ccs", "gpus", "guvectorize", "is_available", "is_bfloat16_supported"),
    *("is_cuda_array", "is_float16_supported", "is_supported_version", "jit", "legacy_default_stream"),
    *("list_devices", "managed_array", "mapped", "mapped_array", "mapped_array_like", "per_thread_default_stream"),
    *("pinned", "pinned_array", "pinned_array_like", "profile_start", "profile_stop", "profiling", "random", "reduce"),
    *("require_context", "select_device", "stream", "synchronize", "to_device", "types", "vectorize", "void"),
}
"""Names whose tests are in `test_numba_cuda_host`."""

FOR_IMPORTS = {
    *("CudaSupportError", "KernelRuntimeError", "MemoryInfo", "api", "args", "cache_hints", "compiler", "cudadrv"),
    *("decorators", "devicearray", "devices", "dispatcher", "driver", "errors", "extending", "kernels", "libdevice"),
    *("ldca", "ldcg", "ldcs", "ldcv", "ldlu", "nvvm", "runtime", "stcg", "stcs", "stwb", "stwt"),
}
"""Names whose tests are in `test_numba_cuda_names`."""


def test_every_word_has_a_case():
    tested = CASES.keys() | ON_THE_HOST | FOR_IMPORTS | types.TYPES.keys() | vectors.VECTOR_TYPES.keys()
    assert set(cuda.__all__) - tested == set()


def test_every_name_is_in_the_one_list():
    listed = set(" ".join(names for names, _ in support.WORKS.values()).split())
    assert listed - {*cuda.__all__, "laneid"} == set()
    assert set(cuda.__all__) - listed - types.TYPES.keys() - vectors.VECTOR_TYPES.keys() == set()
    # A function of theirs is refused, and they are modules that can be imported.
    assert listed & support.REFUSED.keys() - {"declare_device", "extending", "libdevice"} == set()


@pytest.mark.parametrize("name", sorted(types.TYPES))
def test_types_match_numpy(name):
    kind = types.TYPES[name]
    out = np.zeros(1, kind.dtype)

    @cuda.jit
    def store(out):
        own = cuda.local.array(1, kind)
        own[0] = kind(1)
        out[0] = own[0]

    store[1, 1](out)
    assert out[0] == 1
    assert getattr(cuda, name) is kind


@pytest.mark.parametrize("name", sorted(vectors.VECTOR_TYPES))
def test_vector_types(name):
    vector = vectors.VECTOR_TYPES[name]
    fields = "xyzw"[: int(name[-1])]
    assert getattr(cuda, name) is vector

    @cuda.jit
    def fill(out):
        made = vector(*range(1, out.size + 1))
        again = vector(made)
        k = 0
        for value in again:
            out[k] = value
            k += 1

    out = np.zeros(len(fields))
    fill[1, 1](out)
    assert out.tolist() == [1, 2, 3, 4][: len(fields)]
    made = vector(*range(1, len(fields) + 1))
    assert [getattr(made, field) for field in fields] == out.tolist()


def test_vectors_are_made_of_vectors():
    out = np.zeros(5)

    @cuda.jit
    def fill(out):
        pair = cuda.float32x2(1, 2)
        vector = cuda.float4(pair, 3, 4)
        vector.w = 9
        out[0], out[1], out[2], out[3] = vector.x, vector.y, vector.z, vector.w
        out[4] = cuda.int32x2(2.9, 1).x

    fill[1, 1](out)
    assert out.tolist() == [1, 2, 3, 9, 2]


def test_a_kernel_without_source():
    names = {"cuda": cuda, "np": np}
    text = "def reverse(out):\n    i = cuda.threadIdx.x\n    tile = cuda.shared.array(4, np.int32)\n    tile[i] = i\n"
    exec(f"{text}    cuda.syncthreads()\n    out[i] = tile[3 - i]\n    cuda.atomic.add(out, 4, 1)\n", names)
    out = np.zeros(5, np.int32)
    cuda.jit(names["reverse"])[1, 4](out)
    assert out.tolist() == [3, 2, 1, 0, 4]


def test_indices_are_printed_as_tuples(capsys):
    @cuda.jit
    def prints_block():
        print(cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim)

    prints_block[2, (1, 2)]()
    assert capsys.readouterr().out.splitlines() == [
        "(0, 0, 0) (0, 0, 0) (1, 2, 1) (2, 1, 1)",
        "(0, 1, 0) (0, 0, 0) (1, 2, 1) (2, 1, 1)",
        "(0, 0, 0) (1, 0, 0) (1, 2, 1) (2, 1, 1)",
        "(0, 1, 0) (1, 0, 0) (1, 2, 1) (2, 1, 1)",
    ]
    assert repr(cuda.threadIdx) == "<threadIdx.{x,y,z}>"


@pytest.mark.parametrize(("dtype", "text"), [("U4", "abc"), ("S4", b"abc")])
def test_texts_are_stored_in_arrays_of_texts(dtype, text):
    @cuda.jit
    def prints_block(a):
        a[cuda.grid(1)] = text

    a = np.zeros(2, dtype)
    prints_block[1, 2](a)
    assert a.tolist() == [text, text]
