"""Launches: their forms, what they validate, the order of work-items, exceptions, controls."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def fill(item: kapi.Item, a, value):
    a[item.get_id(0)] = value


@kapi.kernel
def fill_groups(nd_item: kapi.NdItem, a, value):
    a[nd_item.get_global_id(0)] = value + nd_item.get_group().get_group_id(0)


def test_forms_of_a_launch():
    a = np.zeros(4)
    kapi.call_kernel(fill, kapi.Range(4), a, 1)
    assert a.sum() == 4
    fill[kapi.Range(4)](a, 2)
    assert a.sum() == 8
    fill[4, kapi.DEFAULT_LOCAL_SIZE](a, 3)
    assert a.sum() == 12
    fill[4](a, 4)
    assert a.sum() == 16
    fill_groups[4, 2](a, 5)
    np.testing.assert_array_equal(a, [5, 5, 6, 6])
    fill_groups[(4,), (1,)](a, 0)
    np.testing.assert_array_equal(a, [0, 1, 2, 3])
    first, second = kapi.call_kernel_async(fill, kapi.Range(4), [], a, 7)
    first.wait()
    kapi.call_kernel_async(fill, kapi.Range(4), (event for event in (first, second)), a, 8)[1].wait()
    assert a.sum() == 32


@pytest.mark.parametrize(
    ("launch", "error", "code"),
    [
        (
            lambda a: kapi.call_kernel(fill.py_func, kapi.Range(4), a, 1),
            kapi.KernelLaunchError,
            "no-kernel",
        ),
        (
            lambda a: kapi.call_kernel(fill, 4, a, 1),
            kapi.KernelLaunchError,
            "no-index-space",
        ),
        (
            lambda a: kapi.call_kernel(fill, kapi.Range(4), a),
            kapi.KernelLaunchError,
            "argument-count",
        ),
        (
            lambda a: kapi.call_kernel(fill, kapi.NdRange(4, 2), a, 1),
            kapi.KernelLaunchError,
            "index-space-unsuited",
        ),
        (
            lambda a: kapi.call_kernel(fill_groups, kapi.Range(4), a, 1),
            kapi.KernelLaunchError,
            "index-space-unsuited",
        ),
        (lambda a: fill(a, 1), kapi.KernelLaunchError, "kernel-called"),
        (lambda a: fill[1, 2, 3], kapi.KernelLaunchError, "launch-configuration"),
        (lambda a: fill["x"], kapi.LimitError, "range-type"),
        (
            lambda a: kapi.call_kernel_async(fill, kapi.Range(4), a, 1),
            kapi.KernelLaunchError,
            "dependent-events",
        ),
        (lambda a: kapi.call_kernel_async(fill, kapi.Range(4), 3, a, 1), kapi.KernelLaunchError, "dependent-events"),
        (lambda a: fill[4](a, kapi.LocalAccessor(1, float)), kapi.LimitError, "local-memory-in-range"),
        (lambda a: kapi.kernel(3), kapi.KernelCompilationError, "kernel-form"),
        (lambda a: kapi.kernel(lambda: None), kapi.KernelCompilationError, "kernel-without-item"),
        (lambda a: kapi.device_func(np.sin), kapi.KernelCompilationError, "device-function-form"),
        (lambda a: fill[4](np.zeros((1,) * 7), 1), kapi.LimitError, "too-many-axes"),
    ],
)
def test_launch_that_cannot_be_made(launch, error, code):
    with raises(error, code):
        launch(np.zeros(4))


def test_kernel_that_returns_a_value_or_yields():
    @kapi.kernel
    def returns(item: kapi.Item, a):
        return a[0]

    with raises(kapi.KernelCompilationError, "return-value", line="return a[0]"):
        kapi.call_kernel(returns, kapi.Range(1), np.zeros(1))

    @kapi.kernel
    def yields(item: kapi.Item, a):
        yield a[0]

    with raises(kapi.KernelCompilationError, "yield-or-await", line="yield a[0]"):
        kapi.call_kernel(yields, kapi.Range(1), np.zeros(1))


def test_malformed_barrier_is_listed_with_its_line():
    @kapi.kernel
    def malformed(nd_item: kapi.NdItem):
        kapi.group_barrier()

    with raises(kapi.KernelCompilationError, "call-arguments", line="kapi.group_barrier()"):
        kapi.call_kernel(malformed, kapi.NdRange(1, 1))


@kapi.kernel
def who(nd_item: kapi.NdItem):
    print(nd_item.get_global_id(0), "a")
    kapi.group_barrier(nd_item.get_group())
    print(nd_item.get_global_id(0), "b")


def test_program_order_is_the_default(capsys):
    kapi.call_kernel(who, kapi.NdRange(4, 2))
    assert capsys.readouterr().out.split() == "0 a 1 a 0 b 1 b 2 a 3 a 2 b 3 b".split()


def test_seed_permutes_and_replays(capsys):
    outputs = []
    for seed in (1, 1, 2, 3):
        with kapi.simulation(seed=seed):
            kapi.call_kernel(who, kapi.NdRange(12, 4))
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert len(set(outputs)) == 3
    for output in outputs:
        lines = output.split("\n")[:-1]
        assert sorted(lines) == sorted(f"{i} {phase}" for i in range(12) for phase in "ab")
        for start in range(0, 24, 8):
            assert {line[-1] for line in lines[start : start + 4]} == {"a"}


@kapi.kernel
def last_writer(item: kapi.Item, out):
    out[0] = item.get_id(0)


def test_schedules_report_outputs_that_differ():
    out = np.full(1, -1.0)
    with (
        kapi.simulation(checks={"bounds"}, schedules=4) as report,
        pytest.warns(kapi.ScheduleDependenceWarning, match=r"`out` differ under simulation\(seed=\d\)"),
    ):
        kapi.call_kernel(last_writer, kapi.Range(8), out)
    assert out[0] == 7
    assert any("depend on the order" in note for note in report.notes)
    with kapi.simulation(schedules=3) as report:
        kapi.call_kernel(fill, kapi.Range(8), np.zeros(8), 1)
    assert report.notes == []
    assert report.launches[0].seeds == (None, 1, 2)


@kapi.kernel
def fails(nd_item: kapi.NdItem, a):
    kapi.group_barrier(nd_item.get_group())
    if nd_item.get_global_id(0) == 5:
        raise ValueError("item five")


@kapi.kernel
def fails_without_barrier(item: kapi.Item, a):
    if item.get_id(0) == 5:
        raise ValueError("item five")


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("kernel", [fails, fails_without_barrier])
def test_exception_keeps_type_and_line_and_names_the_item(kernel, checks):
    space = kapi.NdRange(8, 4) if kernel is fails else kapi.Range(8)
    with kapi.simulation(checks=checks), pytest.raises(ValueError, match="item five") as caught:
        kapi.call_kernel(kernel, space, np.zeros(1))
    assert any("work-item global (5,)" in note for note in caught.value.__notes__)
    notes = "\n".join(caught.value.__notes__)
    assert '`raise ValueError("item five")`' in notes
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename == __file__
    assert frame.line == 'raise ValueError("item five")'


def test_local_variables_keep_their_names_in_tracebacks():
    @kapi.kernel
    def stops(item: kapi.Item, a):
        here = item.get_id(0) * 2
        a[here] //= 0

    with pytest.raises(ZeroDivisionError) as caught:
        kapi.call_kernel(stops, kapi.Range(1), np.zeros(1, np.int32))
    frames = [t for t in traceback.walk_tb(caught.value.__traceback__) if t[0].f_code.co_name == "stops"]
    assert frames[0][0].f_locals["here"] == 0
    assert linecache.getline(frames[0][0].f_code.co_filename, frames[0][1]).strip() == "a[here] //= 0"


def test_kernel_without_source_runs_as_it_is():
    names = {"kapi": kapi}
    exec(  # what a prompt does
        "import math\n@kapi.kernel\ndef prompt(item, a):\n    i = item.get_id(0)\n    a[i] = math.sqrt(a[i])",
        names,
    )
    a = np.full(3, 4.0, np.float32)
    kapi.call_kernel(names["prompt"], kapi.Range(3), a)
    np.testing.assert_array_equal(a, 2)
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
        kapi.call_kernel(names["prompt"], kapi.Range(4), a)


def helper_of_today(x):
    return x


changing = kapi.device_func(lambda x: x)


@kapi.kernel
def calls_what_changes(item: kapi.Item, out):
    out[0] = changing(1)


def test_redefined_device_function_is_seen(monkeypatch):
    out = np.zeros(1)
    kapi.call_kernel(calls_what_changes, kapi.Range(1), out)
    assert out[0] == 1

    @kapi.device_func
    def other(x):
        return x + 41

    monkeypatch.setitem(globals(), "changing", other)
    kapi.call_kernel(calls_what_changes, kapi.Range(1), out)
    assert out[0] == 42


def test_global_constant_is_read_at_the_launch(monkeypatch):
    kapi.call_kernel(reads_a_global, kapi.Range(1), out := np.zeros(1))
    monkeypatch.setitem(globals(), "CONSTANT", 5)
    kapi.call_kernel(reads_a_global, kapi.Range(1), again := np.zeros(1))
    assert (out[0], again[0]) == (3, 10)


CONSTANT = 1.5


@kapi.kernel
def reads_a_global(item: kapi.Item, out):
    out[0] = CONSTANT * 2


@kapi.device_func
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_recursive_device_function_is_refused():
    @kapi.kernel
    def factorials(item: kapi.Item, out):
        out[item.get_id(0)] = factorial(item.get_id(0))

    with raises(kapi.KernelCompilationError, "recursion", line="@kapi.device_func"):
        kapi.call_kernel(factorials, kapi.Range(5), np.zeros(5))


def test_device_function_is_callable_on_the_host():
    assert factorial(4) == 24
    assert factorial.__name__ == "factorial"


def test_barrier_in_a_local_function():
    @kapi.kernel
    def with_local(nd_item: kapi.NdItem, a, tile):
        group = nd_item.get_group()
        k = nd_item.get_local_id(0)

        def exchange(value):
            tile[k] = value
            kapi.group_barrier(group)
            return tile[1 - k]

        i = nd_item.get_global_id(0)
        a[i] = exchange(a[i])

    a = np.arange(4.0)
    kapi.call_kernel(with_local, kapi.NdRange(4, 2), a, kapi.LocalAccessor(2, float))
    np.testing.assert_array_equal(a, [1, 0, 3, 2])


def test_report_says_what_was_checked_and_what_not():
    with kapi.simulation(checks={"bounds", "races"}) as report:
        kapi.call_kernel(fill, kapi.Range(4), np.zeros(4), 1)
    text = report.text()
    assert "fill over Range(4): 4 work-items in total, program order" in text
    assert "checked: bounds, races" in text
    assert "not checked: initialisation, convergence, limits" in text
    assert "tracked: 4 elements" in text


@pytest.mark.parametrize(
    ("controls", "code"),
    [
        ({"checks": {"bound"}}, "checks-unknown"),
        ({"checks": "rases"}, "checks-unknown"),
        ({"schedules": 0}, "simulation-schedules"),
        ({"seed": 1.5}, "simulation-seed"),
        ({"profile": "gpu"}, "profile-unknown"),
    ],
)
def test_controls_are_validated(controls, code):
    with raises(kapi.KernelLaunchError, code), kapi.simulation(**controls):
        pass


def test_profile_limits():
    small = kapi.Profile(has_fp64=False, has_fp16=False, max_work_group_size=4, local_mem_size=16)
    f32 = np.zeros(8, np.float32)
    with kapi.simulation(profile=small):
        kapi.call_kernel(fill_groups, kapi.NdRange(8, 4), f32, 1)
        with raises(kapi.LimitError, "work-group-too-large"):
            kapi.call_kernel(fill_groups, kapi.NdRange(8, 8), f32, 1)
        with raises(kapi.LimitError, "local-memory-too-large"):
            kapi.call_kernel(fill_groups, kapi.NdRange(8, 4), f32, kapi.LocalAccessor(8, np.float32))
        for value in (np.zeros(8), np.float64(1), np.zeros(8, np.complex128)):
            with raises(kapi.DtypeError, "needs-fp64"):
                kapi.call_kernel(fill_groups, kapi.NdRange(8, 4), value, 1)
        with raises(kapi.DtypeError, "needs-fp16"):
            kapi.call_kernel(fill_groups, kapi.NdRange(8, 4), f32.astype(np.float16), 1)
        kapi.call_kernel(fill_groups, kapi.NdRange(8, 4), f32, 1.0)


@kapi.kernel
def copy(item: kapi.Item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]


@kapi.kernel
def add(item: kapi.Item, a, b, out):
    i = item.get_id(0)
    out[i] = a[i] + b[i]


class UsmDouble:
    """The interface of an array in unified shared memory."""

    def __init__(self, host):
        self.host = host
        self.__sycl_usm_array_interface__ = {
            "data": (host.__array_interface__["data"][0], False),
            "shape": host.shape,
            "strides": None,
            "typestr": host.dtype.str,
            "version": 1,
            "syclobj": None,
            "offset": 0,
        }

    def asnumpy(self):
        return self.host.copy()

    def __setitem__(self, index, value):
        self.host[index] = value


def test_usm_arrays_are_copied_in_and_out():
    array = UsmDouble(np.zeros(4))
    kapi.call_kernel(fill, kapi.Range(4), array, 3)
    np.testing.assert_array_equal(array.host, 3)
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds", line="a[item.get_id(0)] = value"):
        kapi.call_kernel(fill, kapi.Range(5), array, 3)
    base = np.arange(6.0)
    with raises(kapi.DtypeError, "copies-share-memory"):
        kapi.call_kernel(copy, kapi.Range(4), UsmDouble(base[:4]), UsmDouble(base[2:]))
    out = UsmDouble(np.zeros(2))
    base[:] = np.arange(6)
    kapi.call_kernel(add, kapi.Range(2), UsmDouble(base[:4]), UsmDouble(base[2:]), out)
    np.testing.assert_array_equal(out.host, [2, 4])
    device_only = UsmDouble(np.zeros(4))
    device_only.asnumpy = None
    with raises(kapi.DtypeError, "no-host-copy"):
        kapi.call_kernel(fill, kapi.Range(4), device_only, 3)


def test_marked_usm_array_counts_as_written_in_later_launches():
    base = np.zeros(8)
    marked, out = UsmDouble(base), UsmDouble(np.zeros(4))
    with kapi.simulation(uninitialised=marked):
        with raises(kapi.UninitializedReadError, "read-before-write", line="b[item.get_id(0)] = a[item.get_id(0)]"):
            kapi.call_kernel(copy, kapi.Range(3), marked, out)
        kapi.call_kernel(fill, kapi.Range(3), marked, 3)
        kapi.call_kernel(copy, kapi.Range(3), marked, out)
        # Another view of the same memory, of which each launch makes another copy.
        kapi.call_kernel(copy, kapi.Range(1), UsmDouble(base[2:]), out)
        with raises(kapi.UninitializedReadError, "read-before-write", line="b[item.get_id(0)] = a[item.get_id(0)]"):
            kapi.call_kernel(copy, kapi.Range(2), UsmDouble(base[2:]), out)
    kapi.call_kernel(copy, kapi.Range(4), marked, out)


def test_part_of_a_usm_array_that_is_marked_holds_nothing():
    base = np.zeros(8)
    with kapi.simulation(uninitialised=[UsmDouble(base[5:])]):
        kapi.call_kernel(copy, kapi.Range(5), UsmDouble(base), UsmDouble(np.zeros(5)))
        with raises(kapi.UninitializedReadError, "read-before-write", line="b[item.get_id(0)] = a[item.get_id(0)]"):
            kapi.call_kernel(copy, kapi.Range(6), UsmDouble(base), UsmDouble(np.zeros(6)))


def in_a_fresh_python(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_brings_numpy_and_nothing_else():
    loaded = in_a_fresh_python("""
        import numpy, sys
        before = set(sys.modules)
        import kapi_sim
        new = {name.partition(".")[0] for name in set(sys.modules) - before}
        print(" ".join(sorted(new - set(sys.stdlib_module_names) - {"kapi_sim"})))
    """)
    assert loaded.strip() == ""


def test_import_is_quick(tmp_path):
    code = """
        import subprocess, sys, time
        start = time.process_time()
        import numpy
        between = time.process_time()
        import kapi_sim
        print((time.process_time() - between) / (between - start))
    """
    # Compiled once, as an installed package is: a test run may be told to keep no compiled files.
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    times = [float(in_a_fresh_python(code, **environment)) for _ in range(3)]
    # The aim is 30 ms, where NumPy takes some 70; no machine's speed is in this.
    assert min(times) < 1


def test_environment_changes_the_default_checks():
    out = in_a_fresh_python(
        """
        import kapi_sim.settings.simulation_settings
        print(sorted(kapi_sim.settings.simulation_settings.current_settings().checks))
        """,
        KAPI_SIM_CHECKS="races, bounds",
    )
    assert out.strip() == "['bounds', 'races']"


def test_kernel_is_no_sequence():
    """Its brackets take an index space: Python must not count through them."""

    @kapi.kernel
    def fill(item: kapi.Item, a):
        a[item.get_id(0)] = 1

    @kapi.kernel
    def loop(item: kapi.Item):
        for _ in fill:
            pass

    with pytest.raises(TypeError, match="not iterable"):
        list(fill)
    with pytest.raises(TypeError):
        _ = 1 in fill
    with raises(kapi.KernelCompilationError, "kernel-in-kernel", line="for _ in fill:"):
        kapi.call_kernel(loop, kapi.Range(1))
