"""New arrays get the memory of arrays that nobody has any more, and of no others."""

import dpctl
import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.libraries import usm_pool as buffer_pool

N = 200_000


@numba.njit
def doubled(a):
    return a * 2.0


@pytest.fixture(autouse=True)
def nothing_kept():
    buffer_pool.forget()
    yield
    buffer_pool.forget()


def address(array):
    return array.get_array()._pointer


def test_memory_of_arrays_that_are_gone_is_used_again():
    a = dpnp.ones(N)
    first = doubled(a)
    before = address(first)
    first.sycl_queue.wait()
    del first
    second = doubled(a + 1)
    assert address(second) == before
    assert second.usm_type == "device"
    np.testing.assert_array_equal(second.asnumpy(), np.full(N, 4.0))


def test_memory_that_somebody_has_is_not_used():
    """The array itself, a view of it, and what another library makes of it."""
    a = dpnp.ones(N)
    arrays = [doubled(a) for _ in range(3)]
    a.sycl_queue.wait()
    kept = [arrays[0], arrays[1][5:], dpnp.tensor.asarray(arrays[2].get_array())]
    taken = {address(each) for each in arrays}
    del arrays
    more = [doubled(a + 3) for _ in range(3)]
    assert taken.isdisjoint(map(address, more))
    for each in kept:
        np.testing.assert_array_equal(dpnp.asnumpy(each), 2.0)


def test_memory_stays_with_its_queue_and_kind():
    a = dpnp.ones(N)
    first = doubled(a)
    before = address(first)
    a.sycl_queue.wait()
    del first
    other = dpnp.ones(N, sycl_queue=dpctl.SyclQueue(a.sycl_device))
    shared = dpnp.ones(N, usm_type="shared")
    results = [doubled(other), doubled(shared)]
    assert before not in map(address, results)
    assert [each.usm_type for each in results] == ["device", "shared"]
    assert [each.sycl_queue == a.sycl_queue for each in results] == [False, True]


def test_work_that_is_submitted_comes_before_what_follows_in_its_memory():
    """No wait is needed: all work on a queue is in order."""
    a = dpnp.asarray(np.arange(float(N)))
    total = dpnp.zeros(N)
    for _ in range(60):
        step = doubled(a)
        total += step
        del step
    np.testing.assert_array_equal(total.asnumpy(), np.arange(float(N)) * 120)


@pytest.mark.parametrize("most", [0, 3 * N * 8])
def test_no_more_is_kept_than_the_environment_says(monkeypatch, most):
    monkeypatch.setenv("KAPI_OFFLOAD_KEPT", str(most))
    a = dpnp.ones(N)
    arrays = [doubled(a) for _ in range(5)]
    a.sycl_queue.wait()
    del arrays
    doubled(a).sycl_queue.wait()
    assert buffer_pool._size <= most
    assert sum(key[2] * len(blocks) for key, blocks in buffer_pool._free.items()) == buffer_pool._size
