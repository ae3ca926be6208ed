"""The CPU as a device of `kapi_runtime`: devices, contexts, memory, disk cache, failures, and no SYCL.

PYTEST_DONT_REWRITE: a kernel here has an assert.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import kapi_cpu
import kapi_runtime as kapi
from kapi_runtime.cpu.programs import program as programs
from kapi_runtime.platform import installed
from kapi_sim.testing.reports import raises


@kapi.kernel
def double(item: kapi.Item, values):
    values[item.get_id(0)] *= 2


def cpu():
    return next(each for each in kapi.devices if each.filter_string == "cpu:0")


def test_cpu_is_a_device_by_its_names():
    assert cpu().filter_string == "cpu:0"
    for name in ("cpu", "CPU", "cpu:0"):
        with kapi.device_context(name) as queue:
            assert queue == kapi.default_queue("cpu")
            assert kapi.devices.current == cpu()
    with kapi.device_context(cpu().id) as queue:
        assert queue.device == cpu()


def test_name_of_another_platform_s_cpu_stays():
    pytest.importorskip("dpctl", reason="another platform")
    with kapi.device_context("opencl:cpu") as queue:
        assert queue.sycl_device.backend.name == "opencl"


def test_summary_says_what_it_is():
    text = str(cpu().summary)
    assert text.startswith("cpu:0: ")
    assert "sub-groups of 1, 2, 4" in text
    assert cpu().summary.kind == "cpu"
    assert "cpu" in cpu().attributes


def test_memory_of_the_host():
    info = kapi.current_context("cpu").get_memory_info()
    assert info.total == cpu().global_mem_size
    assert info.free is None or 0 < info.free <= info.total


def test_device_has_no_parts_and_no_compute_capability():
    with raises(kapi.DeviceNotFoundError, "sub-devices"):
        cpu().split(1)
    with raises(kapi.LimitError, "device-lacks"):
        cpu().compute_capability  # noqa: B018  a property that raises


def test_context_copies_nothing():
    values = np.ones(4)
    with kapi.device_context("cpu", warn=True):  # warnings are errors
        double[4](values)
        host, _ = kapi.call_kernel_async(double, kapi.Range(4), [], values)
        host.wait()
    assert values.tolist() == [4] * 4


def test_memory_is_numpy_s():
    with cpu():
        values = kapi.memory.device_array((2, 3), "f4", fill=1)
        assert type(values) is np.ndarray
        assert values.tolist() == [[1] * 3] * 2
        assert type(kapi.memory.shared_array(3)) is type(kapi.memory.host_array(3)) is np.ndarray
        assert kapi.memory.asarray(values) is values
        assert kapi.memory.asarray([1, 2], "i2").dtype == np.int16
        assert kapi.memory.asarray(values, copy=True) is not values
        with pytest.raises(ValueError, match="copy"):
            kapi.memory.asarray([1, 2], copy=False)
        assert kapi.memory.view(values) is values
        kapi.memory.copy(np.full((2, 3), 7, "f4"), values, depends=[]).wait()
        assert kapi.memory.like(values, np.ones(3)).shape == (2, 3)
        assert kapi.memory.asnumpy(values).tolist() == [[7] * 3] * 2
    queue = kapi.queue("cpu")
    assert type(kapi.memory.device_array(3, queue=queue)) is np.ndarray


def test_memory_that_is_too_large_is_refused():
    with pytest.raises(kapi.UsmAllocationError):
        kapi.memory.device_array(2**60, queue=kapi.default_queue("cpu"))


def test_local_memory_and_work_groups_have_limits():
    @kapi.kernel
    def local(item: kapi.NdItem, values, cells):
        cells[item.get_local_id(0)] = values[item.get_global_id(0)]

    with raises(kapi.LimitError, "local-memory-too-large"):
        local[kapi.NdRange(64, 64)](np.ones(64), kapi.LocalAccessor(2**20, "f8"))
    with raises(kapi.LimitError, "work-group-too-large"):
        local[kapi.NdRange(2**14, 2**14)](np.ones(2**14), kapi.LocalAccessor(4, "f8"))


def test_failure_of_a_work_item_is_raised():
    @kapi.kernel(debug=True)
    def checked(item: kapi.Item, values):
        assert values[item.get_id(0)] < 7, "too large"

    checked[8](np.zeros(8))
    with pytest.raises(kapi.KernelAssertionError, match=r"too large[\s\S]*work-item global \(3,\)"):
        checked[8](np.arange(4.0, 12))
    with pytest.raises(kapi.OutOfBoundsError, match="work-item global"):
        checked[9](np.zeros(8))
    host, _ = kapi.call_kernel_async(checked, kapi.Range(8), [], np.full(8, 9.0))
    with pytest.raises(kapi.KernelAssertionError):
        host.wait()


def test_print_comes_in_order_with_python_s(run_python):
    program = (
        "import numpy as np\nimport kapi_runtime as kapi\n\n@kapi.kernel\ndef say(item: kapi.Item, values):\n"
        "    print('kernel', values[item.get_id(0)])\n\n"
        "print('before')\nsay[1](np.ones(1, 'i4'))\nprint('between')\nsay[1](np.ones(1, 'i4'))\nprint('after')\n"
    )
    done = run_python(program)
    assert done.stdout.split("\n")[:-1] == ["before", "kernel 1", "between", "kernel 1", "after"], done.stderr


def test_information_of_a_kernel():
    double[4](np.ones(4))
    (information,) = double.information("cpu").values()
    assert information.max_sub_group_size in information.sub_group_sizes
    assert information.device == f"{cpu().name} (cpu:0)"
    assert double.suggest_local_range(1000, "cpu").size <= 1000


def test_reset_begins_anew():
    double[4](np.ones(4))
    assert programs._kernels
    cpu().reset()
    assert not programs._kernels
    double[4](values := np.ones(4))
    assert values.tolist() == [2] * 4


def test_recorded_launches_and_copies():
    with kapi.profiling() as record:
        double[4](np.ones(4))
        host, _ = kapi.call_kernel_async(double, kapi.Range(4), [], np.ones(4))
        host.wait()
    assert [each.name for each in record.entries] == ["double", "double"]
    assert all(each.device == f"{cpu().name} (cpu:0)" for each in record.entries)
    assert all(each.end >= each.start for each in record.entries)


def test_module_that_was_read_from_a_file_is_launched():
    def scale(item, factor, values):
        values[item.get_id(0)] *= factor

    module = kapi_cpu.compile_kernel(scale, "item1, float64, float64[::1]")
    kernel = kapi.load_spirv(kapi_cpu.read_module(kapi_cpu.write_module(module)))
    kernel[3](np.float64(2), values := np.ones(3))
    assert values.tolist() == [2] * 3


def test_module_for_a_processor_with_more_features_is_refused():
    def scale(item, factor, values):
        values[item.get_id(0)] *= factor

    module = kapi_cpu.compile_kernel(scale, "item1, float64, float64[::1]")
    target = dataclasses.replace(module.target, features=f"{module.target.features},+no-such-feature")
    with pytest.raises(kapi.DriverError, match="code that needs no-such-feature"):
        kapi.load_spirv(dataclasses.replace(module, target=target))[3](np.float64(2), np.ones(3))


def test_device_of_pytorch_for_the_host_is_the_cpu():
    class device:
        type = "cpu"

    device.__module__ = "torch"
    with kapi.device_context(device()) as queue:
        assert queue.device == cpu()


def test_code_of_others_is_refused():
    with pytest.raises(kapi.KernelCompilationError, match="write the kernel in Python"):
        installed.named("cpu", "a test").checked_code("ptx", "text", "kernel")


PROGRAM = """
import numpy as np
import kapi_runtime as kapi

@kapi.kernel
def double(item: kapi.Item, values):
    values[item.get_id(0)] *= 2

values = np.ones(4)
double[4](values)
print(values.tolist())
"""
HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('cuda', 'dpctl', 'dpnp', 'kapi_ptx', 'kapi_spirv'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def run_file(run_python, tmp_path):
    """Run a program that is a file, since kernels of such are kept on disk."""

    def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "program.py"
        file.write_text(program, "utf-8")
        return run_python("", str(file), KAPI_LOG="info", KAPI_CACHE_DIR=str(tmp_path / "cache"), **environment)

    return run


def test_kernel_is_kept_on_disk(run_file):
    done = [run_file(PROGRAM + "\nimport sys\nprint('numba' in sys.modules)") for _ in range(2)]
    assert [each.returncode for each in done] == [0, 0], done[0].stderr + done[1].stderr
    assert "was not in the disk cache" in done[0].stderr
    assert done[0].stdout.split("\n")[1] == "True"
    assert "found in the disk cache" in done[1].stderr
    assert done[1].stdout.split("\n")[1] == "False"


def test_cpu_alone_is_enough(run_python):
    done = run_python(HIDDEN + PROGRAM + "print(len(kapi.devices), kapi.default_device().filter_string)")
    assert done.stdout.splitlines() == ["[2.0, 2.0, 2.0, 2.0]", "1 cpu:0"], done.stderr


def test_command_shows_the_cpu(run_python):
    done = run_python(HIDDEN + "from kapi_runtime.__main__ import main\nprint(main([]))")
    assert "cpu:0: " in done.stdout
    assert done.stdout.splitlines()[-1] == "0", done.stdout


def test_launch_imports_no_device_library(run_python):
    done = run_python("import sys" + PROGRAM + "print([n for n in ('cuda', 'dpctl', 'dpnp') if n in sys.modules])")
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_kernel_travels_to_another_process():
    @kapi.kernel
    def tripled(item: kapi.Item, values):
        values[item.get_id(0)] *= 3

    program = (
        "import pickle, sys, numpy as np\nkernel = pickle.loads(sys.stdin.buffer.read())\n"
        "kernel[3](values := np.ones(3))\nprint(values.tolist())"
    )
    import cloudpickle

    done = subprocess.run(
        [sys.executable, "-c", program], input=cloudpickle.dumps(tripled), capture_output=True, timeout=120, check=False
    )
    assert done.stdout.decode().strip() == "[3.0, 3.0, 3.0]", done.stderr.decode()


def test_explain_says_how_a_kernel_became_vector_code():
    @kapi.kernel(lineinfo=True)
    def lookup(item: kapi.Item, table, indices, found):
        found[item.get_id(0)] = table[indices[item.get_id(0)]]

    assert lookup.explain() == {}
    lookup[5](np.arange(5.0), np.arange(5), np.zeros(5))
    (explanation,) = lookup.explain().values()
    line = lookup.py_func.__code__.co_firstlineno + 2
    assert [each.line for each in explanation.decisions if each.kind == "gather"] == [line]
