"""The fast path of a repeated launch gives what the slow path gives, and leaves to it what it does not know."""

from __future__ import annotations

import sys
from collections import Counter, namedtuple

import dpctl
import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.kernels import kernel as kernels_module
from kapi_runtime.launch import packing
from kapi_runtime.sycl.native import native_functions as _native_functions
from kapi_runtime.sycl.native.structures import MAX_EVENTS
from kapi_sim.testing.reports import raises

pytestmark = pytest.mark.usefixtures("native")


@kapi.kernel
def axpy(item: kapi.Item, alpha, x, y):
    i = item.get_id(0)
    y[i] = alpha * x[i] + y[i]


@kapi.kernel
def transpose(item: kapi.Item, source, target):
    i = item.get_id(0)
    j = item.get_id(1)
    target[j, i] = source[i, j]


def test_repeated_launch_takes_the_plan(slow_path):
    axpy_again = kapi.kernel(axpy.py_func)
    y = dpnp.zeros(10)
    for step in range(5):
        kapi.call_kernel(axpy_again, kapi.Range(10), float(step), dpnp.full(10, 2.0), y)
    assert set(y.asnumpy()) == {20}
    assert len(slow_path) == 1


@pytest.mark.parametrize(
    "value",
    [2, 2.5, 1.5 + 2j, True, *(np.dtype(code).type(1.5) for code in "?bBhHiIlLefdFD")],
    ids=lambda value: type(value).__name__,
)
def test_number_of_each_type_is_packed_as_the_slow_path_packs_it(value, slow_path):
    @kapi.kernel
    def store(item: kapi.Item, target, number):
        target[item.get_id(0)] = number

    values = [value, type(value)(1), type(value)(0)]
    for each in values:
        is_complex = isinstance(value, (complex, np.complexfloating))
        target = dpnp.zeros(3, dtype="complex128" if is_complex else "float64")
        kapi.call_kernel(store, kapi.Range(3), target, each)
        assert set(target.asnumpy()) == {each}
    assert len(slow_path) == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[::-1, ::-1],
        lambda a: a[3:5],
        lambda a: a[:, :1],
        lambda a: dpnp.asfortranarray(a),
    ],
    ids=["C", "transposed", "steps", "reversed", "rows", "column", "F"],
)
def test_array_of_each_layout_is_packed_as_the_slow_path_packs_it(view, slow_path):
    base = np.arange(60.0).reshape(6, 10)
    again = kapi.kernel(transpose.py_func)
    for offset in (0, 100):
        source = view(dpnp.asarray(base + offset))
        target = dpnp.zeros(source.shape[::-1])
        kapi.call_kernel(again, kapi.Range(*source.shape), source, target)
        np.testing.assert_array_equal(target.asnumpy(), source.asnumpy().T)
    assert len(slow_path) == 1


def test_inner_arrays_are_packed(slow_path):
    again = kapi.kernel(axpy.py_func)
    for _ in range(3):
        y = dpnp.ones(4)
        kapi.call_kernel(again, kapi.Range(4), 2.0, dpnp.ones(4).get_array(), y.get_array())
        assert set(y.asnumpy()) == {3}
    assert len(slow_path) == 1


def test_local_memory_of_another_size_is_another_plan(slow_path):
    @kapi.kernel
    def extent(nd_item: kapi.NdItem, target, scratch):
        target[nd_item.get_global_id(0)] = scratch.shape[0]

    target = dpnp.zeros(8, dtype="int64")
    for size in (8, 8, 16, 16, 8):
        kapi.call_kernel(extent, kapi.NdRange(8, 4), target, kapi.LocalAccessor(size, "float32"))
        assert set(target.asnumpy()) == {size}
    assert len(slow_path) == 2


def test_other_types_ranks_and_layouts_leave_the_plan(slow_path):
    @kapi.kernel
    def ones(item: kapi.Item, target):
        target[item.get_id(0)] = 1

    targets = [dpnp.zeros(4), dpnp.zeros(4, dtype="int32"), dpnp.zeros(8)[::2], dpnp.zeros(4, dtype="float32")]
    for target in targets * 2:
        kapi.call_kernel(ones, kapi.Range(4), target)
        assert set(target.asnumpy()) == {1}
        target[...] = 0
    assert len(slow_path) == len(targets)


def test_extent_beyond_31_bits_leaves_the_plan(slow_path):
    @kapi.kernel
    def length(item: kapi.Item, x, y):
        y[item.get_id(0)] = x.shape[0]

    one, y = dpnp.ones(1, dtype="int8"), dpnp.zeros(1, dtype="int64")
    for extent, general_paths in ((10, 1), (11, 1), (2**31, 2), (12, 2)):
        kapi.call_kernel(length, kapi.Range(1), dpnp.broadcast_to(one, (extent,)), y)
        assert y.asnumpy()[0] == extent
        assert len(slow_path) == general_paths
    assert sorted(module.target.is_small for module in length.modules.values()) == [False, True]


def test_arrays_on_another_queue_leave_the_plan(sub_devices):
    for queue in (*sub_devices, *sub_devices):
        x, y = (dpnp.ones(4, sycl_queue=queue) for _ in range(2))
        axpy[4](2.0, x, y)
        assert set(y.asnumpy()) == {3}
    with pytest.raises(kapi.ExecutionPlacementError):
        axpy[4](2.0, x, dpnp.ones(4, sycl_queue=sub_devices[0]))


def test_equal_queues_share_a_plan(slow_path):
    again = kapi.kernel(axpy.py_func)
    queue = dpctl.SyclQueue()
    copies = [dpctl.SyclQueue(queue._get_capsule()) for _ in range(3)]
    for left in copies:
        x, y = dpnp.ones(4, sycl_queue=left), dpnp.ones(4, sycl_queue=queue)
        kapi.call_kernel(again, kapi.Range(4), 1.0, x, y)
        assert set(y.asnumpy()) == {2}
    assert len(slow_path) == 1


def test_integer_beyond_64_bits_leaves_the_plan():
    y = dpnp.ones(4, dtype="int64")
    axpy[4](1, y, y)
    with raises(kapi.DtypeError, "integer-too-wide"):
        axpy[4](2**64, y, y)


def test_plan_that_packs_otherwise_than_the_slow_path_is_not_used(monkeypatch, slow_path):
    from kapi_runtime.launch import preparation as launch

    again = kapi.kernel(axpy.py_func)
    real = packing.packed_arguments
    monkeypatch.setattr(launch, "packed_arguments", lambda *given: real(*given)[:-8] + b"another.")
    x, y = dpnp.ones(4), dpnp.ones(4)
    again.prepare(kapi.Range(4), (1.0, x, y))
    assert again.prepare(kapi.Range(4), (1.0, x, y)).plan() is None


Ends = namedtuple("Ends", "low high")


def test_tuples_are_packed(slow_path):
    @kapi.kernel
    def fill(item: kapi.Item, targets, ends, nested):
        i = item.get_id(0)
        targets[0][i] = ends.low + nested[1][0]
        targets[1][i] = ends.high * nested[0]

    for step in range(4):
        first, second = dpnp.zeros(4), dpnp.zeros(8, dtype="int64")[::2]
        kapi.call_kernel(fill, kapi.Range(4), (first, second), Ends(step, step + 1), (10, (0.5,)))
        assert set(first.asnumpy()) == {step + 0.5}
        assert set(second.asnumpy()) == {10 * (step + 1)}
    assert len(slow_path) == 1


def test_other_tuples_leave_the_plan(slow_path):
    @kapi.kernel
    def fill(item: kapi.Item, target, values):
        target[item.get_id(0)] = values[0]

    target = dpnp.zeros(4)
    for values in [(1, 2), (1,), (1, 2.0), [1, 2]] * 2:
        if isinstance(values, list):
            with pytest.raises(kapi.DtypeError):
                kapi.call_kernel(fill, kapi.Range(4), target, values)
        else:
            kapi.call_kernel(fill, kapi.Range(4), target, values)
            assert set(target.asnumpy()) == {1}
    assert len(slow_path) == 3 + 2


def test_named_tuple_whose_fields_are_others_leaves_the_plan(slow_path):
    class Pair(namedtuple("Pair", "a b")):
        __slots__ = ()

    @kapi.kernel
    def fill(item: kapi.Item, target, pair):
        target[item.get_id(0)] = pair.a

    target = dpnp.zeros(4)
    for fields in (("a", "b"), ("a", "b"), ("b", "a")):
        Pair._fields = fields
        kapi.call_kernel(fill, kapi.Range(4), target, Pair(1, 2))
    assert len(slow_path) == 2


def test_tuples_of_a_bound_launch_are_replaced(slow_path):
    @kapi.kernel
    def fill(item: kapi.Item, target, values):
        target[item.get_id(0)] = values[0] + values[1]

    target = dpnp.zeros(4)
    launch = fill.bind(kapi.Range(4), target, (1, 2))
    launch.replace(values=(3, 4))
    launch()[0].wait()
    assert set(target.asnumpy()) == {7}
    assert len(slow_path) == 1


def test_launch_without_arrays_takes_the_plan_of_its_context(slow_path, sub_devices):
    @kapi.kernel
    def nothing(item: kapi.Item, number):
        item.get_id(0) + number

    for queue in (*sub_devices, *sub_devices):
        with kapi.device_context(queue):
            for number in range(3):
                _, event = kapi.call_kernel_async(nothing, kapi.Range(4), (), number)
            event.wait()
    assert len(slow_path) == len(sub_devices)
    with raises(kapi.ExecutionPlacementError, "no-array"):
        nothing[4](1)


def test_defaults_are_packed(slow_path):
    @kapi.kernel
    def fill(item: kapi.Item, target, value=7.0):
        target[item.get_id(0)] = value

    target = dpnp.zeros(4)
    for _ in range(3):
        fill[4](target)
    assert set(target.asnumpy()) == {7}


def test_bound_launch_is_ordered_and_takes_events():
    y = dpnp.zeros(1000, dtype="int64")
    launch = axpy.bind(kapi.Range(1000), 2, y, y)
    expected = 0
    for step in range(40):
        y += step
        _, event = launch()
        launch([event])
        expected = (expected + step) * 9
        if expected > 2**50:
            y[...] = 0
            expected = 0
    assert set(y.asnumpy()) == {expected}


def test_bound_launch_takes_other_arguments(slow_path):
    x, y, z = dpnp.ones(4), dpnp.zeros(4), dpnp.zeros(4, dtype="float32")
    launch = axpy.bind(kapi.Range(4), 1.0, x, y)
    launch()
    launch.replace(alpha=5.0)
    launch()
    assert len(slow_path) == 1
    launch.replace(y=z, x=y)  # of another type
    launch()[0].wait()
    assert len(slow_path) == 2
    assert set(y.asnumpy()) == {6}
    assert set(z.asnumpy()) == {30}


def test_bound_launch_validates_when_it_is_bound():
    with raises(kapi.ExecutionPlacementError, "array-on-host"):
        axpy.bind(kapi.Range(4), 1.0, np.ones(4), dpnp.ones(4))
    with raises(kapi.KernelLaunchError, "argument-count"):
        axpy.bind(kapi.Range(4), 1.0)
    with raises(kapi.KernelLaunchError, "no-index-space"):
        axpy.bind(4, 1.0, dpnp.ones(4), dpnp.ones(4))
    launch = axpy.bind(kapi.Range(4), 1.0, dpnp.ones(4), dpnp.ones(4))
    with raises(kapi.KernelLaunchError, "argument-unknown"):
        launch.replace(z=3)


def test_bound_launch_over_no_work_items_runs_nothing():
    y = dpnp.ones(4)
    host_event, _ = axpy.bind(kapi.Range(0), 1.0, y, y)()
    host_event.wait()
    assert set(y.asnumpy()) == {1}


class Pair(namedtuple("Pair", "left right")):
    __slots__ = ()


@kapi.kernel
def with_all_kinds(nd_item: kapi.NdItem, y, pair, scratch):
    i = nd_item.get_global_id(0)
    scratch[nd_item.get_local_id(0)] = pair.left
    y[i] = scratch[nd_item.get_local_id(0)] + pair.right


OTHERS = {
    "read-only host array": lambda y, pair, scratch: (np.broadcast_to(1.0, 4), pair, scratch),
    "no array": lambda y, pair, scratch: (2.0, pair, scratch),
    "fewer arguments": lambda y, pair, scratch: (y, pair),
    "more arguments": lambda y, pair, scratch: (y, pair, scratch, y),
    "longer tuple": lambda y, pair, scratch: (y, (*pair, 5.0), scratch),
    "no tuple": lambda y, pair, scratch: (y, 1.0, scratch),
    "array for local memory": lambda y, pair, scratch: (y, pair, dpnp.ones(4)),
    "local memory for an array": lambda y, pair, scratch: (scratch, pair, scratch),
    "larger local memory": lambda y, pair, scratch: (y, pair, kapi.LocalAccessor(8, "float64")),
    "nothing": lambda y, pair, scratch: (),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_arguments_of_another_kind_are_reported_as_without_a_plan(other):
    """The plan has strided arrays that are written, a named tuple, and local memory, which Python reads."""
    space = kapi.NdRange(4, 4)
    given = dpnp.zeros(8)[::2], Pair(2.0, 3.0), kapi.LocalAccessor(4, "float64")

    def outcome(kernel):
        arguments = other(*given)
        try:
            kapi.call_kernel(kernel, space, *arguments)
        except kapi.KapiError as error:
            return type(error), str(error)
        return arguments[0].asnumpy().tolist()

    planned = kernels_module.kernel(with_all_kinds.py_func)
    for _ in range(3):
        kapi.call_kernel(planned, space, *given)
    assert len(planned._plans[space]) == 1
    assert outcome(planned) == outcome(kernels_module.kernel(with_all_kinds.py_func))
    kapi.call_kernel(planned, space, *given)
    assert given[0].asnumpy().tolist() == [5.0] * 4


def test_without_native_functions_launches_take_the_slow_path(monkeypatch, slow_path):
    monkeypatch.setattr(_native_functions, "_made", [None])
    again = kernels_module.kernel(axpy.py_func)
    y = dpnp.ones(4)
    launch = again.bind(kapi.Range(4), 1.0, y, y)
    launch()
    kapi.call_kernel(again, kapi.Range(4), 1.0, y, y)
    kapi.call_kernel(again, kapi.Range(4), 1.0, y, y)
    assert set(y.asnumpy()) == {8}
    assert len(slow_path) == 3


def calls_of(launch):
    """Count the calls of each function of kapi, and of each native one, by name."""
    counts: Counter[str] = Counter()

    def note(frame, event, what):
        if event == "call" and str(frame.f_globals.get("__name__")).startswith(("kapi_runtime.", "kapi_sim.")):
            counts[frame.f_code.co_name] += 1
        elif event == "c_call" and isinstance(what.__self__, bytes):  # their table
            counts[f"native {what.__name__}"] += 1

    sys.setprofile(note)
    try:
        launch()
    finally:
        sys.setprofile(None)
    return counts


PLAIN = {"packed_arguments": 1, "check_no_overlap": 1, "may_share": 1, "read_arguments": 1, "is_small": 1}
"""The work of one launch of `axpy` on the slow path: it has one pair of arrays of which one is written."""

PLANNED = dict.fromkeys(PLAIN, 0)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # A plan that is made packs once, which reads the plan: see `make_plan`.
        ("plain", PLAIN | {"native launch": 0, "native pack": 1, "native send": 0}),
        ("of another layout", PLAIN | {"native launch": 1, "native pack": 1, "native send": 0}),
        ("refused", PLAIN | {"native launch": 1, "native pack": 0, "native send": 0}),
        ("recorded", PLAIN | {"native launch": 0, "native pack": 0, "native send": 0}),
        ("planned", PLANNED | {"native launch": 1, "native pack": 0, "native send": 0}),
        ("bound", PLANNED | {"native launch": 0, "native pack": 0, "native send": 1}),
        ("replaced", PLANNED | {"native launch": 0, "native pack": 1, "native send": 1}),
        ("module", PLAIN | {"native launch": 0, "native send": 0}),
        ("OpenCL C", PLAIN | {"packed_arguments": 0, "check_no_overlap": 0, "may_share": 0, "is_small": 0}),
    ],
)
def test_launch_of_each_kind_is_packed_and_checked_once(kind, expected):
    again = kapi.kernel(axpy.py_func)
    given = 2.0, dpnp.ones(10), dpnp.zeros(10)
    kapi.call_kernel(again, kapi.Range(10), *given)
    bound = again.bind(kapi.Range(10), *given)
    module = kapi.load_spirv(again.modules.values()[0])
    source = "kernel void axpy(double a, global double *x, global double *y) { y[get_global_id(0)] += a; }"
    opencl = kapi.load_opencl(source, "axpy", {"a": "float64", "x": "float64[:]", "y": "float64[:]"})
    for each in (module, opencl):
        kapi.call_kernel(each, kapi.Range(10), *given)
    new = kapi.kernel(axpy.py_func)

    def replaced():
        bound.replace(alpha=3.0)
        bound()

    def recorded():
        with kapi.profiling():
            kapi.call_kernel(again, kapi.Range(10), *given)

    event = kapi.call_kernel_async(again, kapi.Range(10), [], *given)[1]
    other = 2.0, dpnp.ones(20)[::2], dpnp.zeros(10)
    counts = calls_of(
        {
            "plain": lambda: kapi.call_kernel(new, kapi.Range(10), *given),
            "of another layout": lambda: kapi.call_kernel(again, kapi.Range(10), *other),
            "refused": lambda: kapi.call_kernel_async(again, kapi.Range(10), [event] * (MAX_EVENTS + 1), *given),
            "recorded": recorded,
            "planned": lambda: kapi.call_kernel(again, kapi.Range(10), *given),
            "bound": bound,
            "replaced": replaced,
            "module": lambda: kapi.call_kernel(module, kapi.Range(10), *given),
            "OpenCL C": lambda: kapi.call_kernel(opencl, kapi.Range(10), *given),
        }[kind]
    )
    assert {name: counts[name] for name in expected} == expected
