"""USM arrays in plain njit functions, which run on the host: what they see, what they change, what comes back."""

from __future__ import annotations

import gc
import sys

import numba
import numpy as np
import pytest

from kapi_sim import KapiError
from kapi_sim.testing.reports import raises
from kapi_types import UsmArrayType, UsmView, typeof_usm_array

pytestmark = pytest.mark.usefixtures("registered")


@pytest.fixture
def host(usm_array):
    """A USM array that the host reaches."""
    return lambda array, **kwargs: usm_array(np.asarray(array), **{"usm_type": "shared", **kwargs})


@numba.njit
def describe(array):
    return array.shape, array.strides, array.ndim, array.size, array.itemsize, array.nbytes, len(array), array.usm_type


@numba.njit
def same(value):
    return value


@numba.njit
def weighted_sum(array):
    total = 0.0
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            total += (i + 1) * (10 * j + 1) * array[i, j]
    return total


@numba.njit
def first(array):
    return array[0]


TABLE = np.arange(24.0).reshape(4, 6)
VIEWS = {
    "plain": TABLE,
    "transposed": TABLE.T,
    "stepped": TABLE[::2, 1::3],
    "reversed": TABLE[::-1, ::-1],
    "broadcast": np.broadcast_to(TABLE[0], (3, 6)),
    "empty": TABLE[2:2],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["shared", "host", "device"])
def test_host_function_sees_what_numpy_says(host, view, kind):
    """Shape, strides in bytes and sizes, of any layout; nothing of it touches the memory."""
    facts = (view.shape, view.strides, 2, view.size, 8, view.nbytes, len(view))
    assert describe(host(view, usm_type=kind)) == (*facts, kind)


def test_host_function_knows_no_kind_where_none_is_reported(usm_array):
    """The protocol does not tell the USM kind."""
    assert describe(usm_array(np.zeros(3)))[-1] is None


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("kind", ["shared", "host"])
def test_host_function_indexes_memory_that_the_host_reaches(host, view, kind):
    """The same elements as NumPy's, of any strides, negative and zero too."""
    rows, columns = np.indices(view.shape)
    assert weighted_sum(host(view, usm_type=kind)) == np.sum((rows + 1) * (10 * columns + 1) * view)


DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_host_function_reads_and_writes_each_dtype(host, dtype):
    """An element that is stored is found by NumPy."""
    array = np.array([1, 0, 1], dtype)

    @numba.njit
    def copy_first(array):
        array[1] = array[0]
        return array[2]

    assert copy_first(host(array)) == array[2]
    assert array[1] == array[0] == 1


def test_host_function_describes_elements_that_only_devices_have(host):
    """Numba has no float16 on the host: such an array comes and goes, and its elements are refused in plain words."""
    array = host(np.ones((3, 2), np.float16))
    assert describe(array) == ((3, 2), (4, 2), 2, 6, 2, 12, 3, "shared")
    assert same(array) is array
    with raises(KapiError, "host-elements", line="return array[0]"):
        first(array)


def test_host_function_writes_through_numpy_functions(host):
    """Numba's array functions work where the result has memory."""
    array, out = np.arange(6.0).reshape(2, 3), np.zeros((2, 3))

    @numba.njit
    def compute(array, out):
        np.add(array, 1, out)
        out[0] = array[1]
        return array.sum()

    assert compute(host(array), host(out)) == 15
    np.testing.assert_array_equal(out, [[3, 4, 5], [4, 5, 6]])


def test_host_function_exchanges_elements_with_numpy_arrays(host):
    """A NumPy array takes a USM array's elements and gives them back, changed by any expression."""
    array = np.arange(4.0)

    @numba.njit
    def square(array):
        copied = np.empty(array.shape, array.dtype)
        copied[:] = array
        array[:] = copied * copied
        return copied

    copied = square(host(array))
    assert type(copied) is np.ndarray
    np.testing.assert_array_equal(copied, [0, 1, 2, 3])
    np.testing.assert_array_equal(array, [0, 1, 4, 9])


def test_host_function_runs_parallel_loops(host):
    """`prange` over a USM array is Numba's own, on the host's cores."""
    array = np.arange(100.0)

    @numba.njit(parallel=True)
    def double(array):
        for i in numba.prange(array.shape[0]):
            array[i] *= 2

    double(host(array))
    np.testing.assert_array_equal(array, 2 * np.arange(100.0))


def test_host_function_takes_rank_zero(host):
    """An array without axes has one element."""
    array = np.array(3.0)

    @numba.njit
    def increment(array):
        array[()] += 1
        return array.shape, array

    double = host(array)
    shape, returned = increment(double)
    assert (shape, array[()]) == ((), 4.0)
    assert returned is double


def test_host_function_returns_the_same_object(host, usm_array):
    """An array that comes back as it went is the object that was passed in, device memory included."""
    for array in (host(TABLE), host(TABLE.T), host(TABLE, usm_type="device"), usm_array(TABLE[::2])):
        assert same(array) is array


def test_host_function_returns_tuples_of_arrays(host):
    """Arrays keep who they are inside of tuples, nested ones and named ones too."""
    pair = host(np.zeros(3)), host(np.zeros((2, 2), np.int32), usm_type="device")
    assert all(a is b for a, b in zip(same(pair), pair, strict=True))
    nested = (pair, 1)
    assert same(nested)[0][1] is pair[1]


def test_host_function_returns_views_of_the_same_memory(host, queue_class):
    """A part of an array speaks the protocol, shares memory with its owner and keeps it alive."""
    array, queue = np.arange(24, dtype=np.int32).reshape(4, 6), queue_class()

    @numba.njit
    def part(array):
        return array[1::2, ::-2]

    double = host(array[1:], queue=queue)
    view = part(double)
    assert isinstance(view, UsmView)
    assert (view.owner, view.usm_type, view.sycl_queue) == (double, "shared", queue)
    assert typeof_usm_array(view) == UsmArrayType(numba.int32, 2, "A", usm_type="shared")
    expected = array[1:][1::2, ::-2]
    assert describe(view)[:2] == (expected.shape, expected.strides)
    assert weighted_sum(view) == weighted_sum(expected)
    assert weighted_sum(part(view)) == weighted_sum(expected[1::2, ::-2])


def test_host_function_returns_other_readings_of_the_same_memory(host):
    """The dtype of what comes back is that of the view, and its protocol says so."""

    @numba.njit
    def as_bytes(array):
        return array.view(np.uint8)

    view = as_bytes(host(np.array([1.5])))
    assert typeof_usm_array(view).dtype == numba.uint8
    assert view.__sycl_usm_array_interface__["shape"] == (8,)


def test_host_function_does_not_change_what_is_readonly(host):
    """The owner's word holds: storing does not compile."""
    array = np.zeros(3)
    array.flags.writeable = False

    @numba.njit
    def store(array):
        array[0] = 1

    with pytest.raises(numba.TypingError, match="Cannot modify readonly array"):
        store(host(array))


def test_host_function_holds_either_of_two_arrays(host):
    """Arrays of one rank and dtype unify; where their kinds differ, the memory is out of reach."""

    @numba.njit
    def either(a, b, condition):
        chosen = a if condition else b
        return chosen.shape, chosen

    dense, stepped, device = host(np.zeros(3)), host(np.zeros(6)[::2]), host(np.zeros(3), usm_type="device")
    assert either(dense, stepped, False)[1] is stepped
    assert either(dense, device, False)[1] is device


@pytest.mark.parametrize(
    "touch",
    [
        lambda array: array[0],
        lambda array: array.sum(),
        lambda array: list(array),
        lambda array: array + array,
        lambda array: array.flat[0],
        lambda array: array.fill(0),
    ],
    ids=["index", "reduce", "iterate", "compute", "flat", "fill"],
)
def test_device_memory_is_out_of_reach_on_the_host(host, touch):
    """A compile error in words of its own: where, what, and the remedies."""
    with raises(KapiError, "host-memory-access") as caught:
        numba.njit(touch)(host(np.zeros(3), usm_type="device"))
    text = str(caught.value)
    assert f"{__file__}:{touch.__code__.co_firstlineno}: " in text
    assert "`lambda array: " in text
    assert "must be in memory that the host reaches (USM kind shared or host)" in text
    assert "got usm_array(float64, 1d, C, device) in device memory" in text
    assert 'usm_type="shared"' in text
    assert "kapi-numba-offload" in text


def test_device_memory_is_out_of_reach_of_parallel_loops(host):
    """The check holds in every way that Numba has to get at memory."""

    @numba.njit(parallel=True)
    def double(array):
        for i in numba.prange(array.shape[0]):
            array[i] *= 2

    with raises(KapiError, "host-memory-access", line="array[i] *= 2"):
        double(host(np.zeros(3), usm_type="device"))


def test_memory_of_unknown_kind_is_out_of_reach_on_the_host(usm_array):
    """Memory that may be the device's is treated as such."""
    with raises(KapiError, "host-memory-access", line="return array[0]"):
        first(usm_array(np.zeros(3)))


@pytest.mark.parametrize("make", [lambda a: a + 1, lambda a: a.copy(), lambda a: np.empty_like(a), lambda a: np.sin(a)])
def test_host_function_makes_no_usm_array(host, make):
    """A new array would need a queue; nothing becomes a NumPy array in silence."""
    with raises(KapiError, "host-allocation", line='@pytest.mark.parametrize("make", [lambda a: a + 1, lambda'):
        numba.njit(make)(host(np.zeros(3)))


GLOBAL = None


def test_host_function_takes_no_global_array(host, monkeypatch):
    """Compiled code may outlive a global's memory."""
    monkeypatch.setitem(globals(), "GLOBAL", host(np.zeros(3)))

    @numba.njit
    def read():
        return GLOBAL[0]

    with pytest.raises(numba.TypingError, match=r"usm_array\(.*\) must be an argument .*; add a parameter for it"):
        read()


def test_host_function_waits_before_it_touches_memory(host, queue_class):
    """Work that was submitted to the queue is done before the function begins; device memory waits for nothing."""
    queue = queue_class()
    first(host(np.zeros(3), queue=queue))
    assert queue.waits == 1
    same((host(np.zeros(3), queue=queue), host(np.zeros(3), queue=queue, usm_type="device")))
    assert queue.waits == 2


def test_host_function_raises_what_waiting_raises(host, queue_class):
    """An error of the device arrives, and no reference stays."""
    queue = queue_class()
    queue.wait = lambda: 1 // 0
    array = host(np.zeros(3), queue=queue)
    before = sys.getrefcount(array)
    for _ in range(10):
        with pytest.raises(ZeroDivisionError):
            same(array)
    assert sys.getrefcount(array) == before


def test_host_function_notices_an_array_that_changes_during_the_call(host):
    """The type is asked for first and the memory later; what no longer fits is refused."""

    class Changing(type(host(np.zeros(1)))):
        @property
        def __sycl_usm_array_interface__(self):
            interface = {**self.interface, "shape": self.interface["shape"][: self.ranks.pop(0)], "strides": None}
            return interface

        @__sycl_usm_array_interface__.setter
        def __sycl_usm_array_interface__(self, interface):
            self.interface = interface

    array = Changing(np.zeros((2, 3)), usm_type="device")
    array.ranks = [2] * 2
    typeof_usm_array(array)
    array.ranks = [2] * 20
    same(array)
    used = 20 - len(array.ranks)
    array.ranks = [2] * (used // 2) + [1] * used
    with pytest.raises(ValueError, match="array must have rank 2, got 1; it was changed during the call"):
        same(array)


@numba.njit
def fails(array):
    part = array[1:]
    if part.shape[0] > 0:
        raise ValueError("as asked")
    return part


@numba.njit
def caught(array):
    try:
        fails(array)
    except Exception:
        return array
    return array


def call(function, *args):
    try:
        function(*args)
    except ValueError:
        pass


@pytest.mark.parametrize("function", [same, first, fails, caught], ids=["same", "first", "fails", "caught"])
def test_host_function_balances_references(host, function):
    """Nothing is left of many calls: neither of the array nor of memory, exceptions included."""
    array, calls = host(np.zeros(3)), 10_000
    call(function, array)
    gc.collect()
    references, blocks = sys.getrefcount(array), sys.getallocatedblocks()
    for _ in range(calls):
        call(function, array)
    assert sys.getrefcount(array) == references
    # Python keeps some thousand tuples that were freed, for later ones of their sizes.
    assert sys.getallocatedblocks() - blocks < calls / 2
