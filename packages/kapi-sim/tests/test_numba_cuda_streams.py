"""The order of launches, copies and the host's accesses over streams, as CUDA's documentation has it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import kapi_sim
from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import DataRaceError
from kapi_sim.testing.reports import raises


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@cuda.jit
def shifted(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


@cuda.jit
def count(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, 1)


_race = partial(raises, DataRaceError, "stream-race", words=False)  # streams are numbered through the process


@pytest.fixture(autouse=True)
def all_is_done():
    cuda.synchronize()
    yield
    cuda.synchronize()


def _streams() -> tuple[Any, Any]:
    return cuda.stream(), cuda.stream()


def _device(values: int = 8) -> Any:
    return cuda.to_device(np.ones(values))


# Two streams


def test_launches_on_two_streams_race():
    first, second = _streams()
    x, y = _device(), cuda.device_array(8)
    scale[1, 8, first](x, 2.0)
    with _race() as info:
        shifted[1, 8, second](x, y)
    lines = str(info.value).split("\n")
    assert lines[0] == "data race on x[0] (global memory): two streams use the element, and nothing orders them"
    assert lines[1].startswith(f"  kernel `scale` on {first!r} wrote it, at test_numba_cuda_streams.py:")
    assert lines[1].endswith("`scale[1, 8, first](x, 2.0)`")
    assert lines[2].startswith(f"  kernel `shifted` on {second!r} reads it, at test_numba_cuda_streams.py:")
    assert "event.wait(second)" in lines[3]


def _event(first: Any, second: Any) -> None:
    event = cuda.event()
    event.record(first)
    event.wait(second)


def _event_of_host(first: Any, second: Any) -> None:
    event = cuda.event()
    event.record(first)
    event.synchronize()


def _polled(first: Any, second: Any) -> None:
    event = cuda.event(timing=False)
    event.record(first)
    while not event.query():
        pass


def _by_third(first: Any, second: Any) -> None:
    third = cuda.stream()
    _event(first, third)
    _event(third, second)


def _by_default_stream(first: Any, second: Any) -> None:
    scale[1, 1](_device(1), 2.0)


def _by_copy_of_other(first: Any, second: Any) -> None:
    _device(1).copy_to_host()


def _by_callback(first: Any, second: Any) -> None:
    first.add_callback(lambda stream, status, arg: None)


@pytest.mark.parametrize(
    "orders",
    [
        _event,
        _event_of_host,
        _polled,
        _by_third,
        _by_default_stream,
        _by_copy_of_other,
        _by_callback,
        lambda first, second: first.synchronize(),
        lambda first, second: cuda.synchronize(),
        lambda first, second: cuda.current_context().synchronize(),
    ],
)
def test_streams_are_ordered(orders: Callable[[Any, Any], None]):
    first, second = _streams()
    x, y = _device(), cuda.device_array(8)
    scale[1, 8, first](x, 2.0)
    orders(first, second)
    shifted[1, 8, second](x, y)
    second.synchronize()
    assert y.copy_to_host().tolist() == [3.0] * 8


@pytest.mark.parametrize(
    "orders_not",
    [
        lambda first, second, x: second.synchronize(),
        lambda first, second, x: _event(second, first),
        lambda first, second, x: cuda.event().wait(second),
        lambda first, second, x: cuda.stream().synchronize(),
    ],
)
def test_streams_are_not_ordered(orders_not: Callable[[Any, Any, Any], None]):
    first, second = _streams()
    x = _device()
    scale[1, 8, first](x, 2.0)
    orders_not(first, second, x)
    with _race():
        scale[1, 8, second](x, 2.0)


def test_an_event_orders_what_was_put_before_its_record():
    first, second = _streams()
    x, event = _device(), cuda.event()
    event.record(first)
    scale[1, 8, first](x, 2.0)
    event.wait(second)
    with _race():
        scale[1, 8, second](x, 2.0)


def test_launches_that_only_read_need_no_order():
    first, second = _streams()
    x = _device()
    shifted[1, 8, first](x, cuda.device_array(8))
    shifted[1, 8, second](x, cuda.device_array(8))


def test_a_write_after_a_read_needs_an_order():
    first, second = _streams()
    x = _device()
    shifted[1, 8, first](x, cuda.device_array(8))
    with pytest.raises(DataRaceError, match=r"`shifted` on .* read it[^\n]*\n  kernel `scale` on .* writes it"):
        scale[1, 8, second](x, 2.0)


@pytest.mark.parametrize("parts", [(slice(0, 4), slice(4, None)), (slice(0, None, 2), slice(1, None, 2))])
def test_parts_that_share_no_element_need_no_order(parts):
    first, second = _streams()
    x = _device()
    scale[1, 8, first](x[parts[0]], 2.0)
    scale[1, 8, second](x[parts[1]], 3.0)
    with pytest.raises(DataRaceError, match=r"data race on x\[0\]"):
        scale[1, 8, cuda.stream()](x[3:4], 1.0)


def test_atomics_of_two_streams_need_no_order_among_themselves():
    first, second = _streams()
    x, total = _device(), cuda.to_device(np.zeros(1, np.int64))
    count[1, 8, first](x, total)
    count[1, 8, second](x, total)
    with pytest.raises(DataRaceError, match=r"`count` on .* changed it atomically"):
        scale[1, 1, cuda.stream()](total, 2)


def test_a_copy_and_a_launch_on_two_streams_race():
    first, second = _streams()
    x = _device()
    scale[1, 8, first](x, 2.0)
    with pytest.raises(DataRaceError, match=rf"a copy to the host on {second!r} reads it"):
        x.copy_to_host(stream=second)
    cuda.synchronize()
    y = cuda.to_device(np.ones(8), stream=first)
    with pytest.raises(DataRaceError, match=rf"a copy to the device on {first!r} wrote it"):
        scale[1, 8, second](y, 2.0)


def test_copies_without_a_stream_use_that_of_the_array():
    first, second = _streams()
    x = cuda.device_array(8, stream=first)
    x.copy_to_device(np.ones(8))
    scale[1, 8, first](x, 2.0)
    assert x.copy_to_host().tolist() == [2.0] * 8
    scale[1, 8, second](x, 2.0)
    with _race():
        x.copy_to_host()


def test_an_allocation_at_the_address_of_a_freed_one_is_another():
    first, second = _streams()
    for _ in range(20):
        x = _device()
        scale[1, 8, first](x, 2.0)
        del x
        gc.collect()
        y = _device()
        scale[1, 8, second](y, 2.0)
        del y


# Memory that the host reaches


@pytest.mark.parametrize("make", [cuda.managed_array, cuda.mapped_array])
@pytest.mark.parametrize(
    "use",
    [
        lambda m: m[0],
        lambda m: m[[1, 2]],
        lambda m: m[2:5].sum(),
        lambda m: m + 1,
        lambda m: np.add(np.ones(8), 1.0, out=m),
        lambda m: m.tolist(),
        lambda m: m.max(),
        lambda m: np.concatenate([m, m]),
        lambda m: str(m),
        lambda m: m.__setitem__(3, 1.0),
        lambda m: m.fill(0),
        lambda m: np.copyto(m, 0),
        lambda m: list(m),
    ],
)
def test_the_host_waits_for_the_device(make, use):
    m = make(8)
    m[:] = 1.0
    scale[1, 8](m, 2.0)
    with pytest.raises(DataRaceError, match="the host and a stream use the element") as info:
        use(m)
    assert info.value.code == "stream-race"
    cuda.synchronize()
    use(m)


def test_the_host_uses_elements_that_no_launch_writes():
    m = cuda.managed_array(8)
    m[:] = 1.0
    scale[1, 4](m[:4], 2.0)
    m[5] = 3.0
    assert m[4:].tolist() == [1.0, 3.0, 1.0, 1.0]
    shifted[1, 4](m[4:], _device(4))
    assert m[5] == 3.0
    with _race():
        m[5] = 4.0


def test_a_copy_to_pinned_memory_has_to_be_waited_for():
    stream = cuda.stream()
    host = cuda.pinned_array(8)
    host[:] = 1.0
    x = cuda.to_device(host, stream=stream)
    with pytest.raises(DataRaceError, match="a copy to the device on .* read it"):
        host[0] = 2.0
    x.copy_to_host(host, stream=stream)
    with pytest.raises(DataRaceError, match="a copy to the host on .* wrote it"):
        host.sum()
    stream.synchronize()
    assert host.sum() == 8.0


def test_a_copy_to_other_host_memory_is_done_when_the_call_returns():
    stream = cuda.stream()
    x = cuda.to_device(np.ones(8), stream=stream)
    host = np.zeros(8)
    x.copy_to_host(host, stream=stream)
    scale[1, 8, cuda.stream()](x, 2.0)
    assert host.tolist() == [1.0] * 8


def test_a_launch_over_host_arrays_is_done_when_it_returns():
    m, a = cuda.managed_array(8), np.ones(8)
    shifted[1, 8](a, m)
    assert m.tolist() == [2.0] * 8


def test_arrays_that_the_host_reaches_are_arrays_of_numpy():
    m = cuda.managed_array((2, 3), np.float32)
    m[...] = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (m @ m.T).shape == (2, 2)
    assert m.T[2, 1] == 5
    assert np.where(m > 2, m, 0).sum() == 12
    m += 1
    assert m.mean() == 3.5
    m.sort(axis=0)
    assert np.array_equal(np.asarray(m), [[1, 2, 3], [4, 5, 6]])
    records = cuda.mapped_array(2, np.dtype([("x", np.float64), ("n", np.int32)]))
    records["x"] = 1.5
    assert records["x"].sum() == 3.0


# Settings


def test_without_the_check_for_races_streams_are_not_followed():
    first, second = _streams()
    x = _device()
    with kapi_sim.simulation(checks=["bounds"]):
        scale[1, 8, first](x, 2.0)
        scale[1, 8, second](x, 2.0)
    assert x.copy_to_host().tolist() == [4.0] * 8


def test_the_report_has_the_race_once():
    first, second = _streams()
    x = _device()
    with kapi_sim.simulation() as report:
        scale[1, 8, first](x, 2.0)
        with pytest.raises(DataRaceError):
            scale[1, 8, second](x, 2.0)
    assert [fault.error.code for fault in report.faults] == ["stream-race"]
