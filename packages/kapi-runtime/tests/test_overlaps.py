"""Arguments that share memory, one of them written: an error before the launch, unless they are the same view."""

from __future__ import annotations

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises

pytestmark = pytest.mark.usefixtures("native")


@kapi.kernel
def copy(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] = source[i]


@kapi.kernel
def add(item: kapi.Item, left, right, target):
    i = item.get_id(0)
    target[i] = left[i] + right[i]


@kapi.device_func
def put(target, i, value):
    target[i] = value


@kapi.kernel
def copy_by_function(item: kapi.Item, source, target):
    i = item.get_id(0)
    put(target, i, source[i])


@kapi.kernel
def count(item: kapi.Item, source, target):
    kapi.AtomicRef(target, source[item.get_id(0)]).fetch_add(1)


@kapi.kernel
def copy_in_tuple(item: kapi.Item, arrays):
    i = item.get_id(0)
    arrays[1][i] = arrays[0][i]


@kapi.kernel
def transpose(item: kapi.Item, source, target):
    i = item.get_id(0)
    j = item.get_id(1)
    target[j, i] = source[i, j]


def ten():
    return dpnp.arange(10, dtype="int64")


def test_message_names_arguments_bytes_and_the_remedy():
    a = ten()
    with pytest.raises(kapi.KernelLaunchError) as caught:
        copy[9](a[:-1], a[1:])
    pointer = a.get_array()._pointer
    assert caught.value.message == (
        "arguments `source` and `target` of kernel `copy`, which writes `target`, must not overlap unless they are the "
        "same view, since work-items run in any order, got\n"
        f"  `source` in bytes {pointer:#x} to {pointer + 71:#x}\n"
        f"  `target` in bytes {pointer + 8:#x} to {pointer + 79:#x}\n"
        "Give the kernel a copy of one: `source = source.copy()`"
    )
    source = a[:-1].copy()
    copy[9](source, a[1:])
    assert list(a.asnumpy()) == [0, *range(9)]


@pytest.mark.parametrize("kernel", [copy, copy_by_function, count], ids=lambda each: each.__name__)
@pytest.mark.parametrize("repeated", [False, True], ids=["first launch", "after a plan"])
def test_overlap_is_refused_however_the_kernel_writes(kernel, repeated):
    a, b = ten(), ten()
    if repeated:
        for _ in range(3):
            kernel[9](a[:-1], b[1:])
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        kernel[9](a[:-1], a[1:])


def test_overlap_within_a_tuple_is_refused(slow_path):
    a, b = ten(), ten()
    for _ in range(4):
        copy_in_tuple[9]((a[:-1], b[1:]))
    assert len(slow_path) == 1
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        copy_in_tuple[9]((a[:-1], a[1:]))


def test_bound_launch_refuses_overlap_when_it_is_bound_and_when_it_is_given_other_arguments():
    a, b = ten(), ten()
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        copy.bind(kapi.Range(9), a[:-1], a[1:])
    launch = copy.bind(kapi.Range(9), a[:-1], b[1:])
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        launch.replace(target=a[1:])


def test_overlap_of_what_is_only_read_is_accepted(slow_path):
    a = ten()
    for _ in range(3):
        target = dpnp.zeros(9, dtype="int64")
        add[9](a[:-1], a[1:], target)
        assert list(target.asnumpy()) == [2 * i + 1 for i in range(9)]
    assert len(slow_path) == 1


@pytest.mark.parametrize(
    "views",
    [
        lambda a: (a, a),
        lambda a: (a[:], a[:]),
        lambda a: (a[::2], a[::2]),
        lambda a: (a[::-1], a[::-1]),
    ],
    ids=["one array", "two views", "steps", "backwards"],
)
def test_one_view_twice_takes_the_plan(views, slow_path):
    for _ in range(3):
        a = ten()
        source, target = views(a)
        copy[source.shape[0]](source, target)
        assert list(a.asnumpy()) == list(range(10))
    assert len(slow_path) <= 1


@pytest.mark.parametrize(
    ("views", "is_refused"),
    [
        (lambda a: (a[:5], a[5:]), False),
        (lambda a: (a[::2], a[1::2]), False),
        (lambda a: (a[1::3], a[::3][:3]), False),
        (lambda a: (a[8::-2], a[1::2]), False),
        (lambda a: (a[:0], a[:0]), False),
        (lambda a: (a[3:3], a[1:6]), False),
        (lambda a: (a[::2], a[:5]), True),
        (lambda a: (a[::-1], a), True),
        (lambda a: (a[::2], a[::3]), True),
    ],
    ids=["halves", "even and odd", "thirds", "backwards", "empty", "empty within", "steps", "reversed", "2, 3"],
)
def test_memory_is_compared_exactly(views, is_refused):
    a = ten()
    values = a.asnumpy()
    source, target = views(a)
    size = max(1, min(source.shape[0], target.shape[0]))
    space = kapi.Range(0 if 0 in source.shape + target.shape else size)
    for _ in range(2):  # the second may go by a plan
        if is_refused:
            with raises(kapi.KernelLaunchError, "arguments-overlap"):
                kapi.call_kernel(copy, space, source, target)
        else:
            kapi.call_kernel(copy, space, source, target)
    assert np.shares_memory(*views(values)) == is_refused


def test_axis_of_one_element_is_never_stepped():
    """An index means the same element in a view and its reverse."""
    a = ten()
    for step in range(3):  # the later ones go by a plan
        a[0] = step
        kapi.call_kernel(add, kapi.Range(1), a[:1], a[:1], a[:1][::-1])
        assert a.asnumpy()[0] == 2 * step


def test_matrix_and_its_transpose_are_two_views(slow_path):
    a, b = (dpnp.arange(16.0).reshape(4, 4) for _ in range(2))
    for _ in range(2):
        kapi.call_kernel(transpose, kapi.Range(4, 4), a, b)
        with raises(kapi.KernelLaunchError, "arguments-overlap"):
            kapi.call_kernel(transpose, kapi.Range(4, 4), a, a.T)


def test_columns_and_blocks_of_a_matrix_are_disjoint():
    for _ in range(2):
        a = dpnp.arange(16, dtype="int64").reshape(4, 4)
        expected = np.arange(16).reshape(4, 4)
        copy[4](a[:, 0], a[:, 3])
        expected[:, 3] = expected[:, 0]
        kapi.call_kernel(transpose, kapi.Range(2, 2), a[:2, :2], a[:2, 2:])
        expected[:2, 2:] = expected[:2, :2].T
        np.testing.assert_array_equal(a.asnumpy(), expected)


def test_host_arrays_that_overlap_are_refused():
    a = np.arange(10)
    with kapi.device_context("opencl:cpu"), raises(kapi.KernelLaunchError, "arguments-overlap"):
        copy[9](a[:-1], a[1:])


def test_read_only_array_is_read_and_not_written():
    source, target = ten(), dpnp.zeros(10, dtype="int64")
    source.flags.writable = False
    for _ in range(2):
        copy[10](source, target)
    assert list(target.asnumpy()) == list(range(10))
    with raises(kapi.KernelCompilationError, "argument-read-only"):
        copy[10](target, source)
    with raises(kapi.KernelCompilationError, "argument-read-only"):
        count[10](target, source)


@kapi.kernel
def double_thrice(item: kapi.Item, source, target, more):
    i = item.get_id(0)
    for _ in range(3):
        target[i] = 2 * source[i] + more[i]


def test_one_array_under_two_names_is_read_as_it_was_written():
    zeros = dpnp.zeros(10, dtype="int64")
    for _ in range(4):  # the slow path, and by plans
        x, y = ten(), ten()
        kapi.call_kernel(double_thrice, kapi.Range(10), x, y, zeros)
        np.testing.assert_array_equal(y.asnumpy(), 2 * np.arange(10))
        kapi.call_kernel(double_thrice, kapi.Range(10), x, x, zeros)
        np.testing.assert_array_equal(x.asnumpy(), 8 * np.arange(10))
        kapi.call_kernel(double_thrice, kapi.Range(10), y, y, y)
        np.testing.assert_array_equal(y.asnumpy(), 54 * np.arange(10))


def test_kernel_compiled_for_disjoint_arrays_refuses_one_array_under_two_names():
    x, y = ten(), ten()
    own = kapi.kernel(copy.py_func)
    kapi.call_kernel(own, kapi.Range(10), x, y)
    (module,) = own.modules.values()
    assert module.target.reads_apart
    loaded = kapi.load_spirv(module)
    kapi.call_kernel(loaded, kapi.Range(10), x, y)
    with raises(kapi.KernelLaunchError, "arguments-overlap"):
        kapi.call_kernel(loaded, kapi.Range(10), x, x)
