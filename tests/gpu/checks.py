"""Checks of kapi_runtime on a machine with an NVIDIA GPU, each a function: ``python tests/gpu/checks.py NAME...``.

Without a name all are run.  Each prints a line of JSON: its name, whether it passed, what it found.  Checks of order
have a control: the same without the order, which must go wrong, or the check could not have failed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np

import kapi_runtime as kapi
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import device_at
from kapi_runtime.cuda.native import native_functions, torch_tensors
from kapi_runtime.cuda.native.cupy_arrays import learned_layout
from kapi_runtime.cuda.native.torch_tensors import exchange_of
from kapi_runtime.cuda.programs import program as programs
from kapi_runtime.cuda.queues import keep_alive
from kapi_sim.errors import (
    DriverError,
    DtypeError,
    ExecutionPlacementError,
    KernelAssertionError,
    KernelCompilationError,
    KernelLaunchError,
    LimitError,
    OutOfBoundsError,
    UsmAllocationError,
)

RECORDED = (
    Path(__file__).resolve().parents[2] / "packages" / "kapi-runtime" / "tests" / "cuda_recorded.json",
    Path(__file__).resolve().parent / "cuda_recorded.json",
)

CHECKS: list[Callable[[], Any]] = []


def check(function: Callable[[], Any]) -> Callable[[], Any]:
    CHECKS.append(function)
    return function


@contextlib.contextmanager
def raises(error: type[BaseException], *words: str) -> Iterator[None]:
    try:
        yield
    except error as raised:
        said = str(raised) + " ".join(getattr(raised, "__notes__", ()))
        missing = [word for word in words if word not in said]
        assert not missing, f"{error.__name__} must say {missing}, got: {said}"
        return
    raise AssertionError(f"{error.__name__} must be raised, got nothing")


def torch_() -> Any:
    import torch

    return torch


@kapi.kernel
def add_one(item: kapi.Item, x, y):  # type: ignore[no-untyped-def]
    i = item.get_id(0)
    y[i] = x[i] + 1


@kapi.kernel
def scaled(item: kapi.Item, x, y, factor):  # type: ignore[no-untyped-def]
    i = item.get_id(0)
    y[i] = x[i] * factor


@kapi.kernel
def slowly(item: kapi.Item, x, y, iterations):  # type: ignore[no-untyped-def]
    i = item.get_id(0)
    s = x[i]
    for _ in range(iterations):
        s = s * 0.5 + x[i] * 0.5
    y[i] = s + 1


N = 1 << 16
ITERATIONS = 20_000_000  # about 0.2 s of dependent arithmetic


# -- the table of the double


@check
def recorded_answers() -> Any:
    """The double's answers are those of this driver; attributes only on the same kind of device."""
    table = json.loads(next(path for path in RECORDED if path.exists()).read_text())
    bound, device = driver.bindings(), device_at(0)
    wrong = {}
    for code, name in table["errors"].items():
        if driver.name_of(int(code)) != name:
            wrong[code] = driver.name_of(int(code))
    for enumeration, members in table["enumerations"].items():
        for name, value in members.items():
            if int(getattr(getattr(bound, enumeration), name)) != value:
                wrong[name] = int(getattr(getattr(bound, enumeration), name))
    found = {name: device.attribute(name) for name in table["device"] if name != "name"}
    if device.name == table["device"]["name"]:
        wrong |= {name: value for name, value in found.items() if value != table["device"][name]}
    assert not wrong, f"recorded answers must be this driver's, got {wrong}"
    return {"device": device.name, "driver": ".".join(map(str, driver.version())), **found}


# -- libraries


@check
def arrays_of_libraries() -> Any:
    """Kernels read and write arrays of each library that is here."""
    host = np.arange(N, dtype=np.float32)
    done = []
    x, y = cupy.asarray(host), cupy.zeros(N, cupy.float32)
    add_one[kapi.Range(N)](x, y)
    assert (cupy.asnumpy(y) == host + 1).all()
    add_one[kapi.Range(N // 2)](x[::2], y[::-2])
    assert (cupy.asnumpy(y)[::-2] == host[::2] + 1).all()
    done.append("cupy")
    torch = torch_()
    for dtype in ("float32", "int64", "float16", "float64", "int8", "uint8"):
        t = torch.arange(100, device="cuda").to(getattr(torch, dtype))
        out = torch.zeros_like(t)
        add_one[kapi.Range(100)](t, out)
        assert (out.cpu() == (t + 1).cpu()).all(), dtype
    two = torch.arange(12, device="cuda", dtype=torch.float32).reshape(3, 4)
    into = torch.zeros(4, device="cuda")
    add_one[kapi.Range(4)](two.T[:, 1], into)
    assert into.tolist() == [5, 6, 7, 8]
    mixed = torch.zeros(N, device="cuda")
    add_one[kapi.Range(N)](x, mixed)
    assert (mixed.cpu().numpy() == host + 1).all()
    done.append("torch")
    own = kapi.memory.asarray(host, queue=kapi.default_queue("cuda:0"))
    into = kapi.memory.device_array(N, "float32", queue=kapi.default_queue("cuda:0"), fill=0)
    add_one[kapi.Range(N)](own, into)
    assert (kapi.memory.asnumpy(into) == host + 1).all()
    done.append("kapi")
    try:
        from numba import cuda
    except ImportError:
        cuda = None
    if cuda is not None:
        n, out = cuda.to_device(host), cuda.device_array(N, np.float32)
        add_one[kapi.Range(N)](n, out)
        assert (out.copy_to_host() == host + 1).all()
        for make in (cuda.mapped_array, cuda.managed_array):  # of classes of NumPy's, too
            n = make(N, np.float32)
            n[:] = host
            add_one[kapi.Range(N)](n, n)
            assert (n == host + 1).all()
        done.append("numba")
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        jax = None
    if jax is not None and jax.default_backend() == "gpu":
        j = jnp.arange(N, dtype=jnp.float32) * 1
        add_one[kapi.Range(N)](j, y)
        assert (cupy.asnumpy(y) == host + 1).all()
        with raises(KernelCompilationError):
            add_one[kapi.Range(N)](x, j)
        done.append("jax")

    class OnlyDlpack:
        def __dlpack_device__(self) -> Any:
            return x.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            return x.__dlpack__(**keywords)

    y[...] = 0
    add_one[kapi.Range(N)](OnlyDlpack(), y)
    assert (cupy.asnumpy(y) == host + 1).all()
    done.append("dlpack")
    empty = cupy.zeros(0, cupy.float32)
    add_one[kapi.Range(0)](empty, empty)
    return done


@check
def arrays_read_by_native_code() -> Any:
    """CuPy's arrays are read where this version keeps what they are, and others than a plan's take the general path."""
    layout = learned_layout(cupy.ndarray)
    assert layout is not None, f"CuPy {cupy.__version__} must be known, got arrays that are read by attributes"
    host = np.arange(N, dtype=np.float32)
    kernel = kapi.kernel(add_one.py_func)
    kernel.bind(kapi.Range(8), cupy.zeros(8, cupy.float32), cupy.zeros(8, cupy.float32))  # makes native code
    x, y = cupy.asarray(host), cupy.zeros(N, cupy.float32)
    space = kapi.Range(1000)
    for _ in range(3):
        kernel[space](x, y)
    assert _readers(kernel, space) == 1, "the plan's function must call native code"
    both = cupy.asarray(np.arange(2 * N, dtype=np.float32))
    for given, into in (
        (x[500:], y[500:]), (x[::2], y[::2]), (x[::-1], y), (x.astype(np.int16), y), (x.reshape(-1, 4)[:, 1], y),
        (x, x), (both[:N], both[N:]), (both[: N // 2], both[N // 2 : N]), (cupy.broadcast_to(x[:1], (N,)), y),
    ):  # fmt: skip
        for _ in range(2):
            expected = cupy.asnumpy(given[:1000]).astype(np.float32) + 1
            kernel[space](given, into)
            assert (cupy.asnumpy(into[:1000]) == expected).all(), (given.shape, given.strides, given.dtype)
    with raises(KernelLaunchError, "must not overlap"):
        kernel[kapi.Range(1000)](both[:N], both[1 : N + 1])
    return layout


def _readers(kernel: Any, space: Any) -> int:
    """The number of libraries whose arrays native code reads by the only plan of a kernel."""
    (plan,) = kernel._plans[space]
    assert plan.launch.func is native_functions.native_functions().launch
    assert plan.packing.function is None, "native code must tell CuPy's stream"
    return sum(table is not None for table in (plan.packing.cupy, plan.packing.torch))


@check
def tensors_read_by_native_code() -> Any:
    """PyTorch's tensors are read by DLPack's exchange, and others than a plan's take the general path."""
    torch = torch_()
    exchange, layout = exchange_of(torch.Tensor), torch_tensors.learned_layout(torch.Tensor)
    if exchange is None:
        return f"PyTorch {torch.__version__} has no exchange by DLPack's C functions"
    assert layout is not None, f"PyTorch {torch.__version__} must be known, got tensors that are asked by attributes"
    kernel, space = kapi.kernel(add_one.py_func), kapi.Range(1000)
    x, y = torch.arange(N, dtype=torch.float32, device="cuda"), torch.zeros(N, device="cuda")
    kernel.bind(space, x, y)  # makes native code
    for _ in range(3):
        kernel[space](x, y)
    assert _readers(kernel, space) == 1, "the plan's function must call native code"
    both = torch.arange(2 * N, dtype=torch.float32, device="cuda")
    for given, into in (
        (x[500:], y[500:]), (x[::2], y[::2]), (x.to(torch.int16), y), (x.reshape(-1, 4)[:, 1], y), (x, x),
        (both[:N], both[N:]), (both[N:], both[:N]), (x[:1].expand(N), y), (x.clone(), torch.zeros_like(y)),
    ):  # fmt: skip
        for _ in range(2):
            expected = given[:1000].to(torch.float32) + 1
            kernel[space](given, into)
            assert (into[:1000] == expected).all(), (given.shape, given.stride(), given.dtype)
    negated = torch.zeros(N, dtype=torch.complex64, device="cuda").conj().imag
    for refused in (
        x.clone().requires_grad_(),
        x.clone().requires_grad_()[:N],
        x.clone().requires_grad_() * 2,
        negated,
    ):
        with raises(DtypeError):
            kernel[space](refused, y)
    with raises(ExecutionPlacementError):
        kernel[space](x.cpu(), y)
    with raises(KernelLaunchError, "must not overlap"):
        kernel[space](both[:N], both[1 : N + 1])
    stream = torch.cuda.Stream()
    _delay(stream)
    with torch.cuda.stream(stream):  # the plan's is not current
        x.fill_(5)
        kapi.call_kernel_async(kernel, space, [], x, y)
    torch.cuda.synchronize()
    assert (y[:1000] == 6).all()
    mixed, a = kapi.kernel(add_one.py_func), cupy.zeros(N, cupy.float32)
    for k in range(4):
        a[...] = k
        torch.cuda.synchronize()
        mixed[space](a, y)
        assert (y[:1000] == k + 1).all()
    assert _readers(mixed, space) == 2
    return {"torch": torch.__version__, **layout}


@check
def arrays_refused() -> Any:
    torch = torch_()
    x = cupy.zeros(10, cupy.float32)
    with raises(DtypeError, "requires_grad", "detach"):
        add_one[kapi.Range(10)](torch.zeros(10, device="cuda", requires_grad=True), x)
    with raises(ExecutionPlacementError):
        add_one[kapi.Range(10)](torch.zeros(10), x)
    with raises(ExecutionPlacementError):
        add_one[kapi.Range(10)](np.zeros(10, np.float32), x)
    conjugated = torch.zeros(10, device="cuda", dtype=torch.complex64).conj()
    with raises(DtypeError, "resolve_conj"):
        add_one[kapi.Range(10)](conjugated, conjugated)
    with raises(DtypeError, "bfloat16"):
        add_one[kapi.Range(10)](torch.zeros(10, device="cuda", dtype=torch.bfloat16), x)
    with raises(kapi.KernelLaunchError, "overlap"):
        add_one[kapi.Range(5)](x[:5], x[1:6])


# -- order


def _delay(stream: Any) -> None:
    torch = torch_()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)  # cycles: about 0.2 s


def _pytorch_before(launch_inside: bool) -> bool:
    torch = torch_()
    stream = torch.cuda.Stream()
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    add_one[kapi.Range(N)](x, y)  # compiled before
    torch.cuda.synchronize()
    _delay(stream)
    with torch.cuda.stream(stream):
        x.fill_(5)
        if launch_inside:
            kapi.call_kernel_async(add_one, kapi.Range(N), [], x, y)
    if not launch_inside:
        kapi.call_kernel_async(add_one, kapi.Range(N), [], x, y)
    torch.cuda.synchronize()
    return bool((y == 6).all())


@check
def order_pytorch_before() -> Any:
    """Work that PyTorch has put on its current stream runs before a launch."""
    assert all(_pytorch_before(True) for _ in range(5))
    assert not _pytorch_before(False), "without the order the result must be wrong, or this check has no power"


@check
def order_pytorch_after() -> Any:
    """PyTorch's work on its current stream after a launch sees the kernel's stores."""
    torch = torch_()
    x = torch.ones(N, device="cuda")
    slowly[kapi.Range(N)](x, torch.zeros(N, device="cuda"), 3)

    def result(inside: bool) -> bool:
        stream, other = torch.cuda.Stream(), torch.cuda.Stream()
        y = torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            kapi.call_kernel_async(slowly, kapi.Range(N), [], x, y, ITERATIONS)
        with torch.cuda.stream(stream if inside else other):
            z = y * 10
        torch.cuda.synchronize()
        return bool((z == 20).all())

    assert all(result(True) for _ in range(3))
    assert not result(False), "without the order the result must be wrong, or this check has no power"


@check
def order_cupy() -> Any:
    """The same for CuPy's current stream, in both directions, in one chain."""
    x, y = cupy.ones(N, cupy.float32), cupy.zeros(N, cupy.float32)
    slowly[kapi.Range(N)](x, y, 3)

    def result(inside: bool) -> bool:
        stream, other = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
        x[...] = 0
        y[...] = 0
        cupy.cuda.Device().synchronize()
        with stream:
            kapi.call_kernel_async(slowly, kapi.Range(N), [], x, y, ITERATIONS)  # y = 1
            x[...] = 3
            kapi.call_kernel_async(add_one, kapi.Range(N), [], x, y)  # y = 4
        with stream if inside else other:
            z = y * 10
        cupy.cuda.Device().synchronize()
        return bool((z == 40).all())

    assert all(result(True) for _ in range(3))
    assert not result(False), "without the order the result must be wrong, or this check has no power"


@check
def order_between_libraries() -> Any:
    """Arrays of two libraries on two streams in one launch: work of both before it, and after it."""
    torch = torch_()
    a, b = cupy.zeros(N, cupy.float32), torch.zeros(N, device="cuda")
    slowly[kapi.Range(N)](a, b, 3)
    for _ in range(3):
        theirs, ours = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
        a[...] = 0
        b.zero_()
        torch.cuda.synchronize()
        _delay(theirs)
        with ours, torch.cuda.stream(theirs):
            b.fill_(7)  # late, on PyTorch's stream
            kapi.call_kernel_async(add_one, kapi.Range(N), [], b, a)  # on PyTorch's, the first argument's
            c = a * 10  # on CuPy's: after the launch
            kapi.call_kernel_async(slowly, kapi.Range(N), [], a, b, ITERATIONS)  # on CuPy's
            d = b * 10  # on PyTorch's: after the launch
        torch.cuda.synchronize()
        assert (c == 80).all(), c
        assert (d == 90).all(), d


@check
def order_of_launches() -> Any:
    """Launches of one queue run in order; events order those of two."""
    x = cupy.zeros(N, cupy.float32)
    for _ in range(200):
        kapi.call_kernel_async(add_one, kapi.Range(N), [], x, x)
    cupy.cuda.Device().synchronize()
    assert (x == 200).all()
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    y, z = cupy.zeros(N, cupy.float32), cupy.zeros(N, cupy.float32)
    slowly[kapi.Range(N)](x, y, 3)
    for _ in range(3):
        x[...] = 1
        cupy.cuda.Device().synchronize()
        with first:
            events = kapi.call_kernel_async(slowly, kapi.Range(N), [], x, y, ITERATIONS)
        with second:
            kapi.call_kernel_async(add_one, kapi.Range(N), events, y, z)
        second.synchronize()
        assert (z == 3).all()


@check
def owners_stay_alive() -> Any:
    """The memory of a launch is not reused before it has run."""
    torch = torch_()
    x, stream = torch.ones(N, device="cuda"), torch.cuda.Stream()
    slowly[kapi.Range(N)](x, torch.zeros(N, device="cuda"), 3)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        y = torch.zeros(N, device="cuda")
        temporary = kapi.memory.asarray(np.full(N, 2, np.float32), queue=kapi.default_queue("cuda:0"))
        host, _ = kapi.call_kernel_async(slowly, kapi.Range(N), [], temporary, y, ITERATIONS)
        del temporary
        gc.collect()
        assert keep_alive.in_flight() >= 1
    host.wait()
    torch.cuda.synchronize()
    assert (y == 3).all()
    keep_alive.finish()
    assert keep_alive.in_flight() == 0


# -- numbers


@check
def atomic_sums_of_subnormal_numbers() -> Any:
    """Exact in local memory and in float64; the GPU takes subnormal float32 in global memory for zero, as pages say."""

    @kapi.kernel
    def add(item: kapi.NdItem, total, value, through_local, tile):  # type: ignore[no-untyped-def]
        tile[0] = 0
        kapi.group_barrier(item.get_group())
        local = kapi.AtomicRef(tile, 0, address_space=kapi.AddressSpace.LOCAL, memory_scope=kapi.MemoryScope.WORK_GROUP)
        local.fetch_add(value[0])
        kapi.group_barrier(item.get_group())
        through_local[0] = tile[0]
        kapi.AtomicRef(total, 0).fetch_add(value[0])

    found = {}
    for code in ("float32", "float64"):
        least = np.finfo(code).smallest_subnormal
        value, total, through_local = cupy.full(1, 3 * least, code), cupy.zeros(1, code), cupy.zeros(1, code)
        add[kapi.NdRange((1,), (1,))](total, value, through_local, kapi.LocalAccessor(1, code))
        assert float(through_local[0]) == 3 * least, code
        found[code] = float(total[0]) / float(least)
    assert found["float64"] == 3, found
    assert found["float32"] == 0, "this GPU keeps subnormal numbers, and the pages say that none does"
    return found


# -- errors


@check
def errors_of_debug() -> Any:
    @kapi.kernel(debug=True)
    def outside(item: kapi.Item, x):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        x[i + 3] = 1

    @kapi.kernel(debug=True)
    def asserts(item: kapi.Item, x):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        assert x[i] < 5, "too large"

    @kapi.kernel(debug=True)
    def divides(item: kapi.NdItem, x):  # type: ignore[no-untyped-def]
        i = item.get_global_id(0)
        x[i] = 7 // x[i]

    x = cupy.arange(8, dtype=cupy.int32)
    with raises(OutOfBoundsError, "x", "checks.py", "work-item"):
        outside[kapi.Range(8)](x)
    with raises(KernelAssertionError, "too large", "checks.py"):
        asserts[kapi.Range(8)](cupy.arange(8))
    with raises(ZeroDivisionError):
        divides[kapi.NdRange((8,), (4,))](cupy.zeros(8, cupy.int32))
    asserts[kapi.Range(4)](cupy.arange(4))


ILLEGAL = """
import cupy, kapi_runtime as kapi
@kapi.kernel
def outside(item: kapi.Item, x, far):
    x[item.get_id(0) + far] = 1
x = cupy.zeros(8, cupy.float32)
for _ in range(2):
    try:
        kapi.call_kernel(outside, kapi.Range(8), x, 1 << 40)
    except kapi.DriverError as error:
        print(error)
"""


@check
def errors_of_the_context() -> Any:
    """An illegal access says that the context is lost, and what to do; later calls say the same."""
    ran = subprocess.run([sys.executable, "-c", ILLEGAL], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.count("CUDA_ERROR_ILLEGAL_ADDRESS") >= 2, ran.stdout + ran.stderr
    assert "context is lost" in ran.stdout, ran.stdout
    assert "debug=True" in ran.stdout, ran.stdout
    return {"exit": ran.returncode, "stderr": ran.stderr[-600:]}


@check
def errors_of_the_driver() -> Any:
    from kapi_runtime.cuda.programs.program import kernel_of_code

    with raises(DriverError, "ptxas", "broken"):
        kernel_of_code(
            "broken",
            b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry broken() { wrong; }",
            "broken",
            device_at(0),
        )
    assert driver.name_of(718) == "CUDA_ERROR_INVALID_PC"
    free, total = kapi.current_context("cuda:0").get_memory_info()
    with raises(UsmAllocationError, "free"):
        kapi.memory.device_array(total, "float64", queue=kapi.default_queue("cuda:0"))
    return {"free": free, "total": total}


# -- limits


@check
def limits_of_the_grid() -> Any:
    @kapi.kernel
    def mark(item: kapi.Item, out):  # type: ignore[no-untyped-def]
        out[item.get_id(0), item.get_id(1)] = item.get_linear_id()

    done = []
    for shape in ((600_000, 40), (40, 600_000), (1_000_003, 1), (3_000_000, 2), (1, 70_000), (70_001, 33)):
        out = cupy.zeros(shape, cupy.int32)
        mark[kapi.Range(*shape)](out)
        assert (out.ravel() == cupy.arange(math.prod(shape), dtype=cupy.int32)).all(), shape
        done.append(shape)

    @kapi.kernel
    def mark3(item: kapi.Item, out):  # type: ignore[no-untyped-def]
        out[item.get_id(0), item.get_id(1), item.get_id(2)] = item.get_linear_id()

    for cube in ((300_000, 3, 5), (3, 300_000, 5), (70_000, 2, 1)):
        out = cupy.zeros(cube, cupy.int32)
        mark3[kapi.Range(*cube)](out)
        assert (out.ravel() == cupy.arange(math.prod(cube), dtype=cupy.int32)).all(), cube

    @kapi.kernel
    def nd(item: kapi.NdItem, out):  # type: ignore[no-untyped-def]
        out[item.get_global_id(0), item.get_global_id(1)] = 1

    with raises(LimitError, "65535"):
        nd[kapi.NdRange((70_000, 1), (1, 1))](cupy.zeros((70_000, 1), cupy.int32))
    with raises(LimitError, "1024"):
        nd[kapi.NdRange((2048, 1), (2048, 1))](cupy.zeros((2048, 1), cupy.int32))
    return done


@check
def one_array_read_and_written() -> Any:
    """A kernel that is compiled for arrays apart sees what it writes where one array is two of its arguments."""
    torch = torch_()

    def twice(item: kapi.Item, x, y):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        first = x[i]
        y[i] = first + 1
        y[i] = x[i] + 10

    space = kapi.Range(1000)
    for is_apart_first in (False, True):
        for make in (lambda n: cupy.ones(n, cupy.float32), lambda n: torch.ones(n, device="cuda")):
            kernel = kapi.kernel(twice)
            for _ in range(4):
                if is_apart_first:
                    x, y = make(1000), make(1000)
                    kernel[space](x, y)
                    assert (y == 11).all()
                x = make(1000)
                kernel[space](x, x)
                assert (x == 12).all()
                both = make(2000)
                kernel[space](both[::2], both[1::2])  # they interlock
                assert (both[::2] == 1).all()
                assert (both[1::2] == 11).all()
                with raises(KernelLaunchError, "must not overlap"):
                    kernel[space](both[:1000], both[1:1001])
    memory = cupy.ones(1000, cupy.float32)
    kernel[space](memory, torch.as_tensor(memory, device="cuda"))
    assert (memory == 12).all(), "two libraries, one memory"
    bound = kernel.bind(space, memory, memory)
    bound()
    bound()
    cupy.cuda.Device().synchronize()
    assert (memory == 34).all()


@check
def extents_beyond_31_bits() -> Any:
    """After launches with small extents, arrays and ids beyond 2**31 are complete; so are offsets of strides alone."""

    @kapi.kernel
    def mark(item: kapi.Item, out):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        out[i] = i % 251

    @kapi.kernel
    def from_the_end(item: kapi.Item, x, y):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        y[i] = x[x.shape[0] - 1 - i]

    @kapi.kernel
    def linear(item: kapi.Item, out):  # type: ignore[no-untyped-def]
        out[item.get_id(0), item.get_id(1)] = item.get_linear_id() % 127

    small, ends = cupy.zeros(1000, cupy.uint8), cupy.zeros(64, cupy.uint8)
    for _ in range(3):
        mark[kapi.Range(1000)](small)
        from_the_end[kapi.Range(64)](small, ends)
        linear[kapi.Range(10, 100)](small.reshape(10, 100))
    done = []
    for n in (2**31 - 2**16 - 1, 2**31 - 2**16, 2**31 - 1, 2**31, 2**31 + 3, 2**32 + 5):
        if n > kapi.current_context("cuda:0").get_memory_info()[0] // 2:
            break
        out = cupy.zeros(n, cupy.uint8)
        mark[kapi.Range(n)](out)
        from_the_end[kapi.Range(64)](out, ends)
        assert (cupy.asnumpy(ends) == (n - 1 - np.arange(64)) % 251).all(), n
        for start in (0, 2**31 - 2**16 - 300, 2**31 - 300, n - 300):
            part = cupy.asnumpy(out[start : start + 300])
            assert (part == np.arange(start, start + len(part)) % 251).all(), (n, start)
        del out
        done.append(n)
    wide = cupy.zeros((50_000, 60_000), cupy.uint8)
    linear[kapi.Range(50_000, 60_000)](wide)
    for row in (0, 35_791, 35_792, 49_999):
        assert (cupy.asnumpy(wide[row]) == (row * 60_000 + np.arange(60_000)) % 127).all(), row
    del wide
    memory = cupy.zeros(2 * 2**31 + 100, cupy.uint8)
    rows = cupy.ndarray((3, 100), cupy.uint8, memptr=memory.data, strides=(2**31, 1))
    linear[kapi.Range(3, 100)](rows)
    assert (cupy.asnumpy(memory[2**32 :]) == np.arange(200, 300) % 127).all()
    del memory, rows
    cupy.get_default_memory_pool().free_all_blocks()
    return done


@check
def limits_of_local_memory() -> Any:
    @kapi.kernel
    def reverse(item: kapi.NdItem, x, tile):  # type: ignore[no-untyped-def]
        n = item.get_local_range(0)
        k = item.get_local_id(0)
        size = tile.shape[0]
        for j in range(k, size, n):
            tile[j] = x[item.get_group().get_group_id(0) * size + j]
        kapi.group_barrier(item.get_group())
        for j in range(k, size, n):
            x[item.get_group().get_group_id(0) * size + j] = tile[size - 1 - j]

    for kib in (16, 48, 64, 100, 160, 220):
        if kib * 1024 > device_at(0).local_mem_size - 1024:
            continue
        size = kib * 1024 // 4
        x = cupy.arange(3 * size, dtype=cupy.int32)
        reverse[kapi.NdRange((768,), (256,))](x, kapi.LocalAccessor(size, np.int32))
        wanted = np.arange(3 * size, dtype=np.int32).reshape(3, size)[:, ::-1].ravel()
        assert (cupy.asnumpy(x) == wanted).all(), kib
    with raises(LimitError, "local memory"):
        reverse[kapi.NdRange((256,), (256,))](cupy.zeros(100_000, cupy.int32), kapi.LocalAccessor(100_000, np.int32))


@check
def limits_of_registers() -> Any:
    """A kernel of many registers runs in groups of 1024: it is built once more, with fewer."""

    count = 110
    lines = [
        "def heavy(item, x, y):",
        "    i = item.get_global_id(0)",
        *(f"    v{k} = x[i + {k}]" for k in range(count)),
        "    for j in range(3):",
        *(f"        v{k} = v{k} * v{(k * 7 + 3) % count} + x[j]" for k in range(count)),
        "    y[i] = " + " + ".join(f"v{k}" for k in range(count)),
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    heavy = kapi.kernel(names["heavy"])
    x = cupy.asarray(np.random.default_rng(1).random(4096 + count, np.float32) * 0.5)
    small, large = cupy.zeros(4096, cupy.float32), cupy.zeros(4096, cupy.float32)
    heavy[kapi.NdRange((4096,), (64,))](x, small)
    heavy[kapi.NdRange((4096,), (1024,))](x, large)
    assert (small == large).all()
    assert float(small.sum()) > 0
    kernel = next(each for each in programs._kernels.values() if each.name == "heavy")
    crowded = kernel._crowded
    assert kernel.function.max_threads < 1024, "the kernel must be one that its registers limit, or this shows nothing"
    return {
        "registers": kernel.function.registers,
        "max_threads": kernel.function.max_threads,
        "crowded": None if crowded is None else [crowded.registers, crowded.local_bytes, crowded.max_threads],
    }


# -- the host's API


@check
def tensors_of_the_host() -> Any:
    torch = torch_()
    values = torch.ones(8, dtype=torch.float64)
    add_one[8](values, values)
    add_one[2](values[::4], values[1::4])
    assert values.tolist() == [2, 3, 2, 2, 2, 3, 2, 2]
    for given in (torch.ones(4, requires_grad=True), torch.ones(4, dtype=torch.bfloat16), torch.ones(4).to_sparse()):
        with raises(DtypeError, "tensor-form"):
            add_one[4](given, values)
    with raises(ExecutionPlacementError, "array-on-host"):
        add_one[8](values, values.cuda())
    with kapi.device_context(torch.device("cpu")) as queue:
        assert queue == kapi.default_queue("cpu")


@check
def numpy_arrays_in_a_device_context() -> Any:
    x, y = np.arange(1000.0), np.zeros(1000)
    with kapi.device_context("cuda:0") as queue:
        scaled[kapi.Range(1000)](x, y, 2.0)
        assert queue == kapi.default_queue("cuda:0")
    assert (y == 2 * x).all()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with kapi.device_context("cuda:0", warn=True):
            scaled[kapi.Range(1000)](x, y, 3.0)
    assert (y == 3 * x).all()
    return [str(each.message)[:100] for each in seen]


@check
def profiling_and_events() -> Any:
    x, y = cupy.ones(N, cupy.float32), cupy.zeros(N, cupy.float32)
    slowly[kapi.Range(N)](x, y, 3)
    with kapi.profiling() as recording:
        slowly[kapi.Range(N)](x, y, 1_000_000)
        kapi.memory.asarray(np.zeros(1 << 20), queue=kapi.default_queue("cuda:0"))
    launch = recording.launches[0]
    assert launch.submit <= launch.start < launch.end
    begin, finish = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    slowly[kapi.Range(N)](x, y, 1_000_000)
    finish.record()
    finish.synchronize()
    theirs = cupy.cuda.get_elapsed_time(begin, finish)
    ours = (launch.end - launch.start) / 1e6
    assert 0.5 < ours / theirs < 2, (ours, theirs)
    return {"launch ms": round(ours, 3), "cupy ms": round(theirs, 3), "copies": len(recording.copies)}


@check
def memory_and_sharing() -> Any:
    torch = torch_()
    queue = kapi.default_queue("cuda:0")
    done = []
    for kind in ("device_array", "shared_array", "host_array"):
        array = getattr(kapi.memory, kind)((5, 7), "float32", queue=queue, fill=2)
        array[1:3, ::2] = 5
        wanted = np.full((5, 7), 2, np.float32)
        wanted[1:3, ::2] = 5
        assert (kapi.memory.asnumpy(array) == wanted).all(), kind
        theirs = cupy.asarray(array)
        if kind == "device_array":
            theirs += 1
            assert (kapi.memory.asnumpy(array) == wanted + 1).all()
            tensor = torch.as_tensor(array, device="cuda")
            tensor += 1
            torch.cuda.synchronize()
            assert (kapi.memory.asnumpy(array) == wanted + 2).all()
            shared = torch.from_dlpack(array)
            shared += 1
            torch.cuda.synchronize()
            assert (kapi.memory.asnumpy(array) == wanted + 3).all()
        done.append(kind)
    own = kapi.queue("cuda:0")
    a = kapi.memory.asarray(np.arange(N, dtype=np.float32), queue=own)
    b = kapi.memory.device_array(N, "float32", queue=own, fill=0)
    add_one[kapi.Range(N)](a, b)
    assert (kapi.memory.asnumpy(b) == np.arange(N) + 1).all()
    other = kapi.memory.device_array(N, "float32", queue=kapi.queue("cuda:0"), fill=0)
    with raises(ExecutionPlacementError, "share one queue"):
        add_one[kapi.Range(N)](a, other)
    return done


@check
def copies_of_libraries() -> Any:
    """`memory.copy` takes arrays of each library, and refuses those that are constant or not dense."""
    torch = torch_()
    host = np.arange(N, dtype=np.float32)
    ours = kapi.memory.asarray(host, queue=kapi.default_queue("cuda:0"))
    for theirs in (cupy.zeros(N, cupy.float32), torch.zeros(N, device="cuda")):
        kapi.memory.copy(ours, theirs)
        assert (kapi.memory.asnumpy(theirs) == host).all()
        kapi.memory.copy(host + 1, theirs)
        back = np.zeros(N, np.float32)
        copied = kapi.memory.copy(theirs, back, depends=[])
        assert copied is not None
        copied.wait()
        assert (back == host + 1).all()
        with raises(DtypeError, "not contiguous"):
            kapi.memory.copy(theirs[::2], back[: N // 2])
    try:
        import jax.numpy as jnp
    except ImportError:
        return "no JAX here"
    with raises(DtypeError, "read-only"):
        kapi.memory.copy(ours, jnp.zeros(N, dtype=jnp.float32))
    return "cupy, torch, jax"


@check
def types_of_arrays_in_njit_functions() -> Any:
    import numba

    import kapi_types
    from kapi_types import DeviceArrayType

    kapi_types.register()
    same, part = numba.njit(lambda a: a), numba.njit(lambda a: a[1::2, ::3])
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    known = {"cupy": cupy.asarray(host), "torch": torch_().asarray(host, device="cuda")}
    with contextlib.suppress(ImportError):
        import jax

        if jax.default_backend() == "gpu":
            known["jax"] = jax.numpy.asarray(host)
    for library, array in known.items():
        found = numba.typeof(array)
        if library == "jax":
            assert found == DeviceArrayType("jax", numba.float32, 2, "C", readonly=True), found
        else:
            assert found == DeviceArrayType(library, numba.float32, 2, "C"), found
            assert numba.typeof(array.T).layout == "F"
            view = part(array)
            assert type(view) is type(array)
            np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(view)), host[1::2, ::3])
            view[...] = -1
            np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(array))[1::2, ::3], -1)
        same(array)
        references = sys.getrefcount(array)
        assert all(same(array) is array for _ in range(1000))
        assert sys.getrefcount(array) == references
        with raises(KernelCompilationError, "copy it to the host"):
            numba.njit(lambda a: a[0, 0])(array)
    for name in ("int8", "float16", "complex64", "bool"):
        assert numba.typeof(cupy.zeros(3, name)).dtype == numba.from_dtype(np.dtype(name))
        assert numba.typeof(torch_().zeros(3, dtype=getattr(torch_(), name), device="cuda")).dtype == numba.from_dtype(
            np.dtype(name)
        )
    with raises(DtypeError, "tensor.detach()"):
        same(torch_().zeros(3, device="cuda", requires_grad=True))
    with contextlib.suppress(ValueError):
        raise AssertionError(f"a CPU tensor has a type: {numba.typeof(torch_().zeros(3))}")
    return sorted(known)


@check
def devices_and_queues() -> Any:
    assert kapi.compat.is_available()
    device = kapi.select_device("cuda:0")
    assert device.name == cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    stream = cupy.cuda.Stream(non_blocking=True)
    queue = kapi.external_queue(stream)
    assert queue.handle == stream.ptr, (queue, stream)
    queue.synchronize()
    ours = kapi.queue("cuda:0")
    if hasattr(cupy.cuda.Stream, "from_external"):  # from CuPy 14 on
        assert cupy.cuda.Stream.from_external(ours).ptr == ours.handle
    torch = torch_()
    assert torch.cuda.ExternalStream(ours.handle).cuda_stream == ours.handle
    assert kapi.external_queue(torch.cuda.current_stream()).handle in (1, torch.cuda.current_stream().cuda_stream)
    information = next(iter(add_one.information("cuda:0").values()), None)
    return [str(device.summary), str(information)]


CPP = """
extern "C" __global__ void reversed_groups(const float *x, float *y, float factor, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] * factor : 0.0f;
    __syncthreads();
    if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x];
}
"""


@check
def ptx_of_other_compilers() -> Any:
    """PTX that NVRTC makes of C++, and nvcc where it is, by `load_ptx`; and a cubin of the same."""
    nvrtc = cupy.cuda.nvrtc
    major, minor = (device_at(0).attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    program = nvrtc.createProgram(CPP, "reversed_groups.cu", (), ())
    nvrtc.compileProgram(program, (f"--gpu-architecture=sm_{major}{minor}",))
    codes = {"NVRTC": nvrtc.getPTX(program), "NVRTC's cubin": nvrtc.getCUBIN(program)}
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "program.cu", Path(folder) / "program.ptx"
            source.write_text(CPP)
            subprocess.run([nvcc, "--ptx", str(source), "-o", str(target)], check=True, capture_output=True)
            codes["nvcc"] = target.read_text()
    parameters = {"x": "float32[:]", "y": "float32[:]", "factor": "float32", "n": "int32", "tile": "local float32[:]"}
    x = cupy.arange(1024, dtype=cupy.float32)
    wanted = 3 * np.arange(1024, dtype=np.float32).reshape(16, 64)[:, ::-1].ravel()
    for kind, code in codes.items():
        y = cupy.zeros_like(x)
        kernel = kapi.load_ptx(code, "reversed_groups", parameters)
        for _ in range(2):
            kernel[kapi.NdRange((1024,), (64,))](x, y, 3.0, 1024, kapi.LocalAccessor(64, np.float32))
        assert (cupy.asnumpy(y) == wanted).all(), kind
    return sorted(codes)


PROFILED = """
import cupy
import kapi_runtime as kapi

@kapi.kernel(lineinfo=True)
def saxpy(item: kapi.Item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]

x = cupy.arange(1_000_000, dtype="float32")
y = cupy.ones_like(x)
kapi.call_kernel(saxpy, kapi.Range(x.size), 2.0, x, y)
"""


@check
def profilers() -> Any:
    """NVIDIA's tools, where they are, name the kernel and its lines."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(PROFILED)
        ncu = shutil.which("ncu")
        if ncu is not None:
            command = [ncu, "--clock-control", "none", "--kernel-name", "kapi_saxpy", "--set", "full"]
            command += ["--import-source", "yes", "--page", "source", "--print-source", "cuda", "--csv"]
            said = _said([*command, sys.executable, str(path)])
            assert "y[i] = a * x[i] + y[i]" in said, said[-2000:]
            found["ncu"] = next(line for line in said.splitlines() if "y[i] = a * x[i]" in line)[:200]
        sanitizer = shutil.which("compute-sanitizer")
        if sanitizer is not None:
            said = _said([sanitizer, "--report-api-errors", "no", sys.executable, str(path)])
            assert "ERROR SUMMARY: 0 errors" in said, said[-2000:]
            found["compute-sanitizer"] = "0 errors"
        nsys = shutil.which("nsys")
        if nsys is not None:
            command = [nsys, "profile", "--output", str(Path(folder) / "report"), "--stats=true"]
            said = _said([*command, sys.executable, str(path)])
            assert "kapi_saxpy" in said, said[-2000:]
            found["nsys"] = "names kapi_saxpy"
    return found or "none of NVIDIA's tools is here"


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


@check
def two_devices() -> Any:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        return "one device here"
    with cupy.cuda.Device(1):
        there = cupy.ones(N, cupy.float32)
        into = cupy.zeros(N, cupy.float32)
    add_one[kapi.Range(N)](there, into)
    assert (cupy.asnumpy(into) == 2).all()
    with raises(ExecutionPlacementError, "cuda:0", "cuda:1"):
        add_one[kapi.Range(N)](cupy.ones(N, cupy.float32), into)
    torch = torch_()
    t = torch.ones(N, device="cuda:1")
    out = torch.zeros(N, device="cuda:1")
    for _ in range(3):
        add_one[kapi.Range(N)](t, out)
    assert (out == 2).all()
    own = kapi.queue("cuda:1")
    ours = kapi.memory.asarray(np.ones(N, np.float32), queue=own)
    for _ in range(3):
        add_one[kapi.Range(N)](ours, ours)
    assert (kapi.memory.asnumpy(ours) == 4).all()
    with raises(ExecutionPlacementError, "cuda:0", "cuda:1"):
        add_one[kapi.Range(N)](ours, cupy.zeros(N, cupy.float32))
    with contextlib.suppress(ImportError):
        from numba import cuda

        with cuda.gpus[1]:
            theirs = cuda.to_device(np.ones(N, np.float32))
            for _ in range(3):
                add_one[kapi.Range(N)](theirs, theirs)
            assert (theirs.copy_to_host() == 4).all()
    with kapi.device_context("cuda:1"):
        x, y = np.ones(10), np.zeros(10)
        add_one[kapi.Range(10)](x, y)
    assert (y == 2).all()
    return "two devices"


@check
def graphs() -> Any:
    """A replay runs what kapi and the libraries submitted in the block; slots are renewed on any current stream."""
    torch = torch_()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x, y, z = cupy.arange(N, dtype=cupy.float32), cupy.zeros(N, cupy.float32), cupy.zeros(N, cupy.float32)
        with kapi.graph(stream) as step:
            factor, source = step.slot("factor", 2.0), step.slot("source", x)
            scaled[kapi.Range(N)](source, y, factor)
            cupy.add(y, 1, out=z)
            add_one[kapi.Range(N)](z, z)
        assert not cupy.asnumpy(z).any()
        step.run()
        assert (cupy.asnumpy(z) == np.arange(N, dtype=np.float32) * 2 + 2).all()
    step.update(factor=3.0)
    step.run()
    assert (cupy.asnumpy(z) == np.arange(N, dtype=np.float32) * 3 + 2).all()
    other = cupy.ones(N, cupy.float32)
    with raises(KernelLaunchError, "queue"):
        step.update(source=other)
    cupy.cuda.Device().synchronize()
    with stream:
        step.update(source=other)
    step.run()
    assert (cupy.asnumpy(z) == 5).all()
    tensor = torch.zeros(N, device="cuda")
    with kapi.graph(kapi.default_queue("cuda")) as own:
        for _ in range(20):
            add_one[kapi.Range(N)](tensor, tensor)
        tensor.mul_(2)
    for _ in range(3):
        own.run()
    assert (tensor == 280).all()
    return "replayed"


@check
def tuning() -> Any:
    """A choice is made of copies, and arguments of each library stay as they are."""
    torch = torch_()

    @kapi.kernel
    def doubled(item: kapi.NdItem, x):  # type: ignore[no-untyped-def]
        x[item.get_global_id(0)] *= 2

    found = {}
    for name, array in {
        "cupy": cupy.arange(N, dtype=cupy.float32),
        "strided": cupy.arange(2 * N, dtype=cupy.float32)[::2],
        "torch": torch.arange(N, device="cuda", dtype=torch.float32),
    }.items():
        before = np.asarray(array.get() if name != "torch" else array.cpu())
        told = doubled.tune(kapi.Range(N), array, local_sizes=[64, 256, 4096], renew=True)
        assert (np.asarray(array.get() if name != "torch" else array.cpu()) == before).all(), name
        assert told.times[2] is None, told  # no device has groups of 4096
        found[name] = told.times[:2]
    return found


@check
def algorithms() -> Any:
    """`kapi.algorithms` over CuPy's arrays of odd lengths, against NumPy."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 31, 257, 4099, 1_000_003):
        for dtype in (np.int8, np.uint32, np.int64, np.float32, np.float64):
            host = (rng.standard_normal(n) * 50).astype(dtype) if dtype != np.uint32 else rng.integers(0, 99, n, dtype)
            x = cupy.asarray(host)
            case = f"{np.dtype(dtype)} of {n}"
            y = x.copy()
            kapi.algorithms.sort(y)
            assert (cupy.asnumpy(y) == np.sort(host)).all(), f"sort, {case}"
            if np.dtype(dtype).kind in "iu":
                y = kapi.algorithms.inclusive_scan(x)
                assert (cupy.asnumpy(y) == np.cumsum(host, dtype=dtype)).all(), f"inclusive_scan, {case}"
            assert kapi.algorithms.reduce(x, op=kapi.maximum).item() == host.max(), f"reduce, {case}"
    return "as NumPy"


# -- what it costs; nothing is asserted


def _per_call(run: Callable[[], Any], count: int = 2000) -> float:
    for _ in range(50):
        run()
    cupy.cuda.Device().synchronize()
    best = math.inf
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - start) / count)
        cupy.cuda.Device().synchronize()
    return round(best * 1e6, 2)


@check
def cost_of_a_launch() -> Any:
    torch = torch_()

    @kapi.kernel
    def three(item: kapi.Item, a, b, c):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        c[i] = a[i] + b[i]

    @kapi.kernel
    def six(item: kapi.Item, a, b, c, d, e, f):  # type: ignore[no-untyped-def]
        i = item.get_id(0)
        c[i] = a[i] + b[i] + d[i] + e[i] + f[i]

    found = {}
    space = kapi.Range(256)
    arrays = [cupy.ones(256, cupy.float32) for _ in range(6)]
    tensors = [torch.ones(256, device="cuda") for _ in range(6)]
    for name, given in (("cupy", arrays), ("torch", tensors)):
        found[f"{name}, 3 arrays"] = _per_call(lambda g=given: kapi.call_kernel_async(three, space, (), *g[:3]))
        found[f"{name}, 6 arrays"] = _per_call(lambda g=given: kapi.call_kernel_async(six, space, (), *g))
        bound = three.bind(space, *given[:3])
        found[f"{name}, bound"] = _per_call(bound)
        found[f"{name}, waited for"] = _per_call(lambda g=given: kapi.call_kernel(three, space, *g[:3]))
    found["cupy add"] = _per_call(lambda: cupy.add(arrays[0], arrays[1], out=arrays[2]))
    found["torch add"] = _per_call(lambda: torch.add(tensors[0], tensors[1], out=tensors[2]))
    return found


def main() -> int:
    wanted = sys.argv[1:]
    failed = 0
    for function in CHECKS:
        if wanted and function.__name__ not in wanted:
            continue
        start = time.perf_counter()
        told: dict[str, Any] = {"check": function.__name__}
        try:
            told |= {"passed": True, "found": function()}
        except BaseException:
            failed += 1
            told |= {"passed": False, "found": traceback.format_exc()[-3000:]}
        print(json.dumps(told | {"seconds": round(time.perf_counter() - start, 2)}, default=str), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
