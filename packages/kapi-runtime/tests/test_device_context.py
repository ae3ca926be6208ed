"""NumPy arrays as arguments, inside `device_context`."""

from __future__ import annotations

import asyncio
import warnings

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.launch import device_context
from kapi_runtime.platform import installed
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@pytest.fixture
def copying(monkeypatch):
    """Devices that do not read the host's memory, as most GPUs."""
    monkeypatch.setattr(device_context, "_is_regular", lambda array: False)


def test_numba_dppy_s_example_runs_on_each_device(sub_device):
    """numba-dppy's first example, `sum` of two vectors, in the Item form; each device gets the kernel built for it."""

    @kapi.kernel
    def sum_of_two(item: kapi.Item, a, b, c):
        i = item.get_id(0)
        c[i] = a[i] + b[i]

    global_size = 20
    a = np.arange(global_size, dtype=np.float32)
    b = np.full(global_size, 3, dtype=np.float32)
    results = []
    for device in (sub_device, "opencl:cpu"):
        c = np.ones_like(a)
        with kapi.device_context(device) as queue:
            sum_of_two[global_size, kapi.DEFAULT_LOCAL_SIZE](a, b, c)
        assert len(sum_of_two.built_for(queue)) == 1
        results.append(c)
    for result in results:
        np.testing.assert_array_equal(result, np.arange(3, 23, dtype=np.float32))


@pytest.mark.parametrize("name", ["opencl:cpu", 0], ids=repr)
def test_device_is_named_as_elsewhere(name):
    with kapi.device_context(name) as queue:
        assert queue == kapi.default_queue()
        assert kapi.devices.current == queue.sycl_device


def test_device_is_named_by_itself_its_name_or_its_queue():
    device = kapi.default_device()
    in_order = kapi.queue(in_order=True)
    for named in (device, device.name[:12], in_order):
        a, c = np.ones(8), np.zeros(8)
        with kapi.device_context(named) as queue:
            add[8](a, a, c)
        assert queue == (in_order if named is in_order else kapi.default_queue())
        assert set(c) == {2}


def test_unknown_device_is_refused():
    with raises(kapi.DeviceNotFoundError, "device-unknown"), kapi.device_context("no such device"):
        pass


def test_outside_of_the_block_numpy_arrays_are_the_cpu_s_again():
    a = np.ones(4)
    with pytest.raises(kapi.KernelLaunchError), kapi.device_context("opencl:cpu"):
        add[4](a, a)
    add[4](a, a, c := np.zeros(4))
    assert set(c) == {2}


def test_inner_block_wins(sub_device):
    with kapi.device_context(0):
        with kapi.device_context(sub_device) as inner:
            assert device_context.host_array_target.get().queue == inner
        assert device_context.host_array_target.get().queue == kapi.default_queue()


def test_each_task_has_its_own():
    async def chosen_queue(device):
        with kapi.device_context(device) as queue:
            await asyncio.sleep(0)
            return device_context.host_array_target.get().queue == queue

    async def both():
        return await asyncio.gather(chosen_queue(0), chosen_queue(kapi.queue()))

    assert asyncio.run(both()) == [True, True]


VIEWS = {
    "C": lambda a: a,
    "transposed": lambda a: a.T,
    "steps": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, 9)),
    "F": np.asfortranarray,
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "field": lambda a: np.rec.fromarrays([a.ravel(), a.ravel().astype("int8")])["f0"].reshape(6, 9),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("copies", [False, True], ids=["in place", "copied"])
def test_arrays_of_each_layout_are_read_and_written(view, copies, request):
    if copies:
        request.getfixturevalue("copying")

    @kapi.kernel
    def copy(item: kapi.Item, source, target):
        i = item.get_id(0)
        j = item.get_id(1)
        target[i, j] = source[i, j]

    source = view(np.arange(54.0).reshape(6, 9))
    target = np.zeros((20, 20))[::2, ::-2][: source.shape[0], : source.shape[1]]
    with kapi.device_context("opencl:cpu"):
        kapi.call_kernel(copy, kapi.Range(*source.shape), source, target)
    np.testing.assert_array_equal(target, source)


def test_nothing_is_copied_where_the_device_reads_the_host_s_memory():
    a, c = np.ones(4), np.zeros(4)
    with warnings.catch_warnings(), kapi.device_context("opencl:cpu", warn=True):
        warnings.simplefilter("error")
        add[4](a, a, c)
    assert set(c) == {2}


@pytest.mark.usefixtures("copying")
def test_copies_are_warned_of_where_asked():
    a = np.ones(4)
    message = "`a` of kernel `add` is copied to the device and back, 32 bytes"
    with kapi.device_context("opencl:cpu", warn=True), pytest.warns(kapi.ImplicitCopyWarning, match=message):
        add[4](a, a, a)
    assert set(a) == {2}


@pytest.mark.usefixtures("copying")
def test_array_given_twice_is_one_array():
    a = np.ones(4)
    with kapi.device_context("opencl:cpu"):
        add[4](a, a, a)
        add[4](a, a, a)
    assert set(a) == {4}


@pytest.mark.usefixtures("copying")
def test_copies_of_overlapping_views_are_refused():
    a, b = np.ones(8), np.ones(8)
    with kapi.device_context("opencl:cpu"), raises(kapi.ExecutionPlacementError, "copies-share-memory"):
        add[4](a[1:5], b, a[:4])


@pytest.mark.usefixtures("copying")
def test_views_that_share_no_element_are_copied():
    """Interleaved columns of one buffer, and one array by two names."""
    a = np.arange(8.0)
    table = np.zeros(4, [("x", "f8"), ("y", "f8")])
    with kapi.device_context("opencl:cpu"):
        add[4](a[::2], a[::2], a[1::2])
        add[4](a[:4], a[:4], table["y"])
        table["x"] = 1
        add[4](table["x"], table["x"], table["y"])
        b = np.ones(4)
        add[4](b, b[:], b[:])
    assert a.tolist() == [0, 0, 2, 4, 4, 8, 6, 12]
    assert table["y"].tolist() == [2] * 4
    assert b.tolist() == [2] * 4


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(np.ones(4), mask=[0, 1, 0, 0])
    with kapi.device_context("opencl:cpu"), raises(kapi.DtypeError, "argument-array-class"):
        add[4](np.ones(4), masked, np.ones(4))


@pytest.mark.usefixtures("copying")
def test_read_only_arrays_are_copied_in_only():
    a, c = np.ones(4), np.zeros(4)
    a.flags.writeable = False
    with kapi.device_context("opencl:cpu"):
        add[4](a, a, c)
    assert set(c) == {2}


@pytest.mark.parametrize("copies", [False, True], ids=["in place", "copied"])
def test_kernels_that_store_into_read_only_arrays_are_refused(copies, request):
    """Nothing runs, and the array is as it was."""
    if copies:
        request.getfixturevalue("copying")
    a, c = np.ones(4), np.zeros(4)
    c.flags.writeable = False
    with kapi.device_context("opencl:cpu"), pytest.raises(kapi.KernelCompilationError, match="read-only"):
        add[4](a, a, c)
    assert set(c) == {0}


@pytest.mark.parametrize("copies", [False, True], ids=["in place", "copied"])
def test_kernels_that_store_into_elements_with_several_indices_are_refused(copies, request):
    if copies:
        request.getfixturevalue("copying")
    a, one = np.ones(4), np.zeros(1)
    with kapi.device_context("opencl:cpu"):
        with raises(kapi.KernelLaunchError, "argument-overlaps-itself"):
            add[4](a, a, np.lib.stride_tricks.as_strided(one, (4,), (0,)))
        add[4](np.lib.stride_tricks.as_strided(one, (4,), (0,)), a, a)
    assert set(a) == {1}


@pytest.mark.parametrize("copies", [False, True], ids=["in place", "copied"])
def test_what_was_stored_before_a_failure_is_stored(copies, request):
    if copies:
        request.getfixturevalue("copying")

    @kapi.kernel(debug=True)
    def checked(item: kapi.Item, a, limits):
        i = item.get_id(0)
        a[i] = 5
        if limits[i] == 0:
            raise ValueError("a limit")

    a = np.zeros(3)
    with kapi.device_context("opencl:cpu"), pytest.raises(ValueError, match="a limit"):
        checked[3](a, np.array([1, 0, 1]))
    assert set(a) == {5}


@pytest.mark.usefixtures("copying")
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "complex64", "complex128"])
def test_elements_that_a_kernel_leaves_alone_are_not_written(dtype, monkeypatch):
    """Stores by the host in the meantime stay; signs of zero and other bits count as changes."""

    @kapi.kernel
    def copied(item: kapi.Item, a, source):
        a[item.get_id(0)] = source[item.get_id(0)]

    a, source = np.zeros(4).astype(dtype), np.zeros(2).astype(dtype)
    source[1] = 1
    if source.dtype.kind in "fc":
        source[0] = -source[0]
    own = device_context.HostArrays.copy_out

    def copy_out(self):
        a[2:] = 1  # as another thread would
        own(self)

    monkeypatch.setattr(device_context.HostArrays, "copy_out", copy_out)
    with kapi.device_context("opencl:cpu"):
        copied[2](a, source)
    assert a.tobytes() == np.array([source[0], 1, 1, 1]).astype(dtype).tobytes()


@pytest.mark.parametrize("copies", [False, True], ids=["in place", "copied"])
def test_asynchronous_and_bound_launches_take_numpy_arrays(copies, request):
    if copies:
        request.getfixturevalue("copying")
    a, c = np.ones(4), np.zeros(4)
    with kapi.device_context("opencl:cpu"):
        kapi.call_kernel_async(add, kapi.Range(4), [], a, a, c)[0].wait()
        assert set(c) == {2}
        launch = add.bind(kapi.Range(4), a, c, c)
        for expected in (3, 4):
            launch()[0].wait()
            assert set(c) == {expected}
        a[:] = 10
        launch()[0].wait()
        assert set(c) == {14}


def test_usm_arrays_stay_where_they_are():
    x, c = dpnp.ones(4), np.zeros(4)
    with kapi.device_context("opencl:cpu"):
        add[4](x, x, c)
    assert set(c) == {2}


def test_usm_arrays_elsewhere_are_refused():
    x = dpnp.ones(4, sycl_queue=dpctl.SyclQueue())
    with kapi.device_context("opencl:cpu"), pytest.raises(kapi.ExecutionPlacementError) as caught:
        add[4](x, x, np.zeros(4))
    message = str(caught.value)
    assert "arguments `a` and `c` of kernel `add` must share one queue" in message
    assert "`c`, a numpy.ndarray, moved by device_context to queue" in message
    assert "`c = dpnp.asarray(c, sycl_queue=a.sycl_queue)`" in message


def test_empty_arrays_are_taken():
    with kapi.device_context("opencl:cpu"):
        add[0](np.zeros(0), np.zeros(0), np.zeros(0))


def test_kernel_without_arrays_runs_where_the_block_says():
    @kapi.kernel
    def nothing(item: kapi.Item, number):
        pass

    queue = kapi.queue()
    for _ in range(2):
        with kapi.device_context(queue):
            kapi.call_kernel(nothing, kapi.Range(1), 3)
    assert len(nothing.built_for(queue)) == 1
    with raises(kapi.ExecutionPlacementError, "no-array"):
        kapi.call_kernel(nothing, kapi.Range(1), 3)


# ------------------------------------------------------------------------- what a device or a queue needs is named


class _Foreign:
    """A device or a queue of a library that is not installed here."""

    def __init__(self, library, **attributes):
        self.__class__ = type("Foreign", (_Foreign,), {"__module__": library, **attributes})


CUDA_S = {
    "filter string": "cuda:0",
    "back end": "CUDA",
    "vendor": "NVIDIA H100 80GB HBM3",
    "kind": "gpu:1",
    "CuPy's device": _Foreign("cupy.cuda.device", id=0),
    "PyTorch's device": _Foreign("torch", type="cuda", index=0),
}
CUDA_S_QUEUES = {
    "CuPy's stream": _Foreign("cupy.cuda.stream", ptr=5),
    "stream by protocol": _Foreign("mine", __cuda_stream__=lambda self: (0, 5)),
}


@pytest.fixture
def without(monkeypatch):
    """Hide a platform."""

    def hide(name):
        is_there = installed._is_there
        monkeypatch.setattr(installed, "_is_there", lambda known: known.name != name and is_there(known))

    return hide


@pytest.mark.parametrize("device", CUDA_S.values(), ids=CUDA_S)
@pytest.mark.parametrize(
    "ask",
    [
        lambda device: kapi.device_context(device).__enter__(),
        kapi.select_device,
        kapi.default_queue,
        kapi.queue,
        kapi.current_context,
    ],
    ids=["device_context", "select_device", "default_queue", "queue", "current_context"],
)
def test_device_of_a_platform_that_is_not_installed_names_its_extra(without, ask, device):
    without("cuda")
    with pytest.raises(kapi.DeviceNotFoundError) as refused:
        ask(device)
    assert str(refused.value.message).endswith('CUDA is not installed: `pip install "kapi-runtime[cuda]"`')
    assert refused.value.code == "device-unknown"


@pytest.mark.parametrize("queue", CUDA_S_QUEUES.values(), ids=CUDA_S_QUEUES)
@pytest.mark.parametrize(
    "ask",
    [
        lambda queue: kapi.memory.device_array(3, queue=queue),
        lambda queue: kapi.Event().record(queue),
        lambda queue: kapi.Event().wait(queue),
        kapi.external_queue,
        kapi.kernel(lambda item, a: None).built_for,
    ],
    ids=["array", "record", "wait", "external_queue", "built_for"],
)
def test_queue_of_a_platform_that_is_not_installed_names_its_extra(without, ask, queue):
    without("cuda")
    with pytest.raises(kapi.KernelLaunchError) as refused:
        ask(queue)
    assert str(refused.value.message).endswith('CUDA is not installed: `pip install "kapi-runtime[cuda]"`')
    assert refused.value.code == "no-queue"


def test_name_of_no_platform_names_no_extra(without):
    without("cuda")
    for device in ("abacus", 17):
        with pytest.raises(kapi.DeviceNotFoundError) as refused:
            kapi.select_device(device)
        assert "pip install" not in str(refused.value)


@pytest.mark.parametrize(
    ("device", "extra"),
    [("opencl:cpu:0", "opencl-cpu"), ("level_zero:gpu", "sycl"), ("Intel(R) Xeon", "opencl-cpu")],
)
def test_device_of_sycl_names_the_extra_that_brings_its_driver(without, device, extra):
    without("sycl")
    assert installed.what_is_missing(device).endswith(f'SYCL is not installed: `pip install "kapi-runtime[{extra}]"`')
    assert installed.what_is_missing(dpctl.SyclQueue()) == '; SYCL is not installed: `pip install "kapi-runtime[sycl]"`'
