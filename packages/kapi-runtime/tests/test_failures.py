"""Failures of work-items on the device are raised by the wait for the launch."""

from __future__ import annotations

import linecache
import re
from zlib import crc32

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_sim
from kapi_sim.testing.reports import raises


def made(source, **options):
    """A kernel of source text: pytest rewrites the asserts of a test file."""
    filename = f"<kernel of {crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"kapi": kapi, "np": np}
    exec(compile(source, filename, "exec"), namespace)
    return kapi.kernel(**options)(namespace["body"])


def launched(kernel, n, *args):
    kapi.call_kernel(kernel, kapi.Range(n), *args)


@pytest.fixture(scope="module")
def checked():
    return made(
        """def body(item, a, divisor):
    i = item.get_id(0)
    assert i < 8, "too many work-items"
    if a[i] < 0:
        raise ValueError("negative element", 3)
    if a[i] == 77:
        raise OverflowError
    assert a[i] != 78
    a[i] = a[i] // divisor + a[i + 1] % divisor
""",
        debug=True,
    )


def array(values):
    return dpnp.asarray(np.asarray(values, dtype=np.int32))


def test_debug_kernel_without_failure_is_as_without_debug(checked):
    """The checks change no result, and nothing is raised."""
    data = array(range(9))
    launched(checked, 1, data, 2)
    assert data.asnumpy().tolist() == [1, *range(1, 9)]


@pytest.mark.parametrize(
    ("n", "values", "divisor", "error", "said", "line"),
    [
        (9, range(20), 3, kapi.KernelAssertionError, r"too many work-items\n  in work-item global \(8,\)", 3),
        (1, [78, 1], 3, kapi.KernelAssertionError, r"assert must hold for every work-item, got one that fails\n", 8),
        (1, [-1, 1], 3, ValueError, r"\('negative element', 3\)", 5),
        (1, [77, 1], 3, OverflowError, "in work-item global", 7),
        (1, [1, 1], 0, kapi.DivisionByZeroError, "divisor of // must not be zero, got 0", 9),
        (1, [1], 3, kapi.OutOfBoundsError, "index 1 is out of bounds: axis 0 of `a` has length 1\n", 9),
        (1, [], 3, kapi.OutOfBoundsError, "index 0 is out of bounds: axis 0 of `a` has length 0", 4),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_debug_launch_raises_the_failure_of_a_work_item(checked, n, values, divisor, error, said, line):
    """Class and words are the kernel's own, with the work-item and the line."""
    with pytest.raises(error, match=said) as caught:
        launched(checked, n, array(values), divisor)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert re.search(f"of kernel `body`, at <kernel of .*>:{line}\n", text)


def test_debug_failure_is_raised_where_the_event_is_waited_for(checked):
    """Submitting does not raise; each wait does."""
    host_event, device_event = kapi.call_kernel_async(checked, kapi.Range(1), [], array([-5, 0]), 3)
    device_event.wait()
    for _ in range(2):
        with pytest.raises(ValueError, match="negative element"):
            host_event.wait()


def test_debug_failure_that_nobody_waits_for_is_a_warning(checked):
    """Told when the launch's memory is let go: a failure is never lost in silence."""

    def forget():
        events = kapi.call_kernel_async(checked, kapi.Range(1), [], array([-5, 0]), 3)
        events[1].wait()
        del events
        # A later launch lets go of what earlier ones used, if nothing else has before.
        launched(checked, 1, array([1, 1]), 3)

    with pytest.warns(kapi.KapiWarning, match="`body` failed, and no one waited for its host event: ValueError: "):
        forget()


def test_debug_records_of_launches_are_their_own(checked):
    """A failed launch does not fail the next."""
    good = array([4, 4])
    events = [kapi.call_kernel_async(checked, kapi.Range(1), [], data, 3)[0] for data in (array([-5, 0]), good)]
    events[1].wait()
    with pytest.raises(ValueError, match="negative element"):
        events[0].wait()
    assert good.asnumpy()[0] == 4 // 3 + 4 % 3


def test_boundscheck_names_array_axis_and_device_function():
    """The failing line may be one of a function that the kernel calls."""
    kernel = made(
        """@kapi.device_func
def left(table, i, j):
    return table[i, j - 1]

def body(item, table):
    i, j = item.get_id(0), item.get_id(1)
    table[i, j] = left(table, i, j)
""",
        boundscheck=True,
    )
    table = dpnp.zeros((4, 5), dtype=np.float32)
    with raises(kapi.OutOfBoundsError, "negative-index") as caught:
        kapi.call_kernel(kernel, kapi.Range(1, 5), table)
    assert "axis 1 of `table` has length 5" in str(caught.value)
    assert "return table[i, j - 1]" in str(caught.value)


def test_boundscheck_names_a_constant_index_beyond_the_start():
    kernel = made("def body(item, table):\n    table[item.get_id(0), -5] = 1\n", boundscheck=True)
    kapi.call_kernel(kernel, kapi.Range(4), dpnp.zeros((4, 5), dtype=np.float32))
    with raises(kapi.OutOfBoundsError, "negative-index") as caught:
        kapi.call_kernel(kernel, kapi.Range(4), dpnp.zeros((4, 3), dtype=np.float32))
    assert "index -5 is negative: axis 1 of `table` has length 3" in str(caught.value)


def test_boundscheck_keeps_far_accesses_from_ending_the_process():
    """Addresses that are nobody's are neither read nor written, in any direction."""
    kernel = made("def body(item, a, far):\n    a[item.get_id(0) + far] = a[far - item.get_id(0)]\n", boundscheck=True)
    for far in (2**40, -(2**40), 2**62, -(2**63)):
        with raises(kapi.OutOfBoundsError, "negative-index" if far < 0 else "index-out-of-bounds"):
            launched(kernel, 1, array([1]), far)


def test_debug_kernel_with_barriers_does_not_hang():
    """A work-item that fails leaves its group; the others go on, and the launch ends."""
    kernel = made(
        """def body(nd_item, a, out, partial, bad):
    i = nd_item.get_local_id(0)
    group = nd_item.get_group()
    partial[i] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    step = 128
    while step > 0:
        if i < step:
            partial[i] += partial[i + step]
        assert nd_item.get_global_id(0) != bad or step > 32
        kapi.group_barrier(group)
        step //= 2
    if i == 0:
        out[group.get_group_id(0)] = partial[0]
""",
        debug=True,
    )
    space = kapi.NdRange(1024, 256)
    out = dpnp.zeros(4, dtype=np.float32)
    memory = kapi.LocalAccessor(256, np.float32)
    # One work-item in all, since the first of several to say so is another one on each machine.
    for bad in (0, 356, 1023):
        with raises(kapi.KernelAssertionError, "assert-failed"):
            kapi.call_kernel(kernel, space, dpnp.ones(1024, dtype=np.float32), out, memory, bad)
    kapi.call_kernel(kernel, space, dpnp.ones(1024, dtype=np.float32), out, memory, -1)
    assert out.asnumpy().tolist() == [256.0] * 4
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
        kapi.call_kernel(kernel, space, dpnp.ones(1023, dtype=np.float32), out, memory, -1)


def test_assert_is_not_compiled_in_without_debug():
    """The same kernel, with the assert that would fail."""
    kernel = made("def body(item, a):\n    assert a[0] > 5, f'text {a}'\n    a[item.get_id(0)] += 1\n")
    data = array([1, 2])
    launched(kernel, 2, data)
    assert data.asnumpy().tolist() == [2, 3]


def test_options_are_kept_by_launches():
    """Work-group sizes are held to, before the device sees them."""

    @kapi.kernel(work_group_size=16, sub_group_size=8)
    def fill(nd_item: kapi.NdItem, a):
        a[nd_item.get_global_id(0)] = 7

    data = dpnp.zeros(32, dtype=np.int32)
    kapi.call_kernel(fill, kapi.NdRange(32, 16), data)
    assert (data.asnumpy() == 7).all()
    with raises(kapi.LimitError, "work-group-size-other"):
        kapi.call_kernel(fill, kapi.NdRange(32, 8), data)
    seven = kapi.kernel(sub_group_size=7)(fill.py_func)
    with raises(kapi.LimitError, "sub-group-size-unknown"):
        kapi.call_kernel(seven, kapi.NdRange(32, 8), data)
    with raises(kapi.KernelCompilationError, "option-unknown"):
        kapi.kernel(cache=True)


def test_debug_kernel_with_group_algorithms_does_not_hang():
    """A collective that one work-item does not reach ends, too, on the CPU driver."""
    kernel = made(
        """def body(nd_item, a, out, bad):
    i, group = nd_item.get_global_id(0), nd_item.get_group()
    assert i != bad
    total = kapi.inclusive_scan_over_group(group, a[i], kapi.plus)
    out[i] = total + kapi.reduce_over_group(nd_item.get_sub_group(), a[i], kapi.maximum)
""",
        debug=True,
    )
    a, out = dpnp.ones(128, dtype=np.int32), dpnp.zeros(128, dtype=np.int32)
    for bad in (0, 127):
        with raises(kapi.KernelAssertionError, "assert-failed"):
            kapi.call_kernel(kernel, kapi.NdRange(128, 64), a, out, bad)
    kapi.call_kernel(kernel, kapi.NdRange(128, 64), a, out, -1)
    assert out.asnumpy().tolist() == [*range(2, 66)] * 2


def test_boundscheck_covers_atomics_and_private_memory():
    """Every element that is named is checked, whatever is done with it."""
    kernel = made(
        """def body(item, a, shift):
    i = item.get_id(0)
    cells = kapi.PrivateArray(4, np.int32, fill_zeros=True)
    cells[i + shift] = 1
    kapi.AtomicRef(a, i + 2).fetch_add(cells[i])
""",
        boundscheck=True,
    )
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
        launched(kernel, 1, array([0, 0]), 0)
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
        launched(kernel, 1, array([0, 0, 0]), 9)


def _broadcast(module):
    @module.kernel(debug=True)
    def ask(nd_item: module.NdItem, a, lane):
        i = nd_item.get_global_id(0)
        a[i] = module.group_broadcast(nd_item.get_group(), a[i], lane)

    return ask


def _select(module):
    @module.kernel(debug=True)
    def ask(nd_item: module.NdItem, a, lane):
        i = nd_item.get_global_id(0)
        a[i] = module.select_from_group(nd_item.get_sub_group(), a[i], lane)

    return ask


@pytest.mark.parametrize("make", [_broadcast, _select])
def test_debug_launch_raises_for_a_member_that_the_group_has_not(make):
    """In the simulator's words, once all have converged; a member that it has is answered."""
    space, answer = kapi.NdRange(8, 8), dpnp.arange(8, dtype=np.int32)
    kapi.call_kernel(make(kapi), space, answer, 3)
    assert answer.asnumpy().tolist() == [3] * 8
    for lane in (8, -1, 2**40):
        with pytest.raises(kapi.CollectiveMismatchError) as simulated:
            kapi_sim.call_kernel(make(kapi_sim), space, np.arange(8, dtype=np.int32), lane)
        with raises(kapi.CollectiveMismatchError, "no-such-work-item") as raised:
            kapi.call_kernel(make(kapi), space, dpnp.arange(8, dtype=np.int32), lane)
        assert str(raised.value).splitlines()[0] == str(simulated.value).splitlines()[0]


def test_debug_checks_indices_of_tuples_and_exponents():
    """A tuple's index may count from its end, as in Python."""
    body = made(
        """def body(item, a, k):
    t = (5, 6, 7)
    a[0] = t[k] * 2 ** k
""",
        debug=True,
    )
    data = array([0])
    launched(body, 1, data, 2)
    assert data.asnumpy().tolist() == [28]
    for k in (3, -4):
        with pytest.raises(kapi.OutOfBoundsError, match=f"index {k} is ") as caught:
            launched(body, 1, data, k)
        assert "kernel of" in str(caught.value)
    with pytest.raises(kapi.OperandError, match="exponent of") as caught:
        launched(body, 1, data, -3)
    assert caught.value.code == "negative-exponent"
