"""Modules as bytes: what is written is read, and nothing else is."""

import numpy as np
import pytest
from cpu_backend import Cpu

from kapi_cpu import compile_kernel, read_module, write_module
from kapi_cpu.emission.object_code import ObjectCode
from kapi_sim.errors import ModuleFileError


def double(item, x):
    x[item.get_id(0)] *= 2


@pytest.fixture(scope="module")
def module():
    return compile_kernel(double, "item1, float32[:]")


def test_module_is_read_as_it_was_written(module):
    read = read_module(write_module(module, "key"), "key")
    assert (read.code, read.lanes, read.target) == (module.code, module.lanes, module.target)


def test_object_code_names_its_kernels(module):
    assert "kapi_double" in ObjectCode.of(module.code).entry_points


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data.replace(b"kapi-cpu", b"kapi-gpu"),
        lambda data: b"",
        lambda data: data + b"more",
    ],
)
def test_other_bytes_are_refused(module, change):
    with pytest.raises(ModuleFileError):
        read_module(change(write_module(module)))


@pytest.mark.parametrize("code", [b"", b"kapi-cpu", b"kapi-cpu" + bytes(16) + b"\x7fELF", b"\x7fELF" + bytes(60)])
def test_code_that_is_none_is_refused(code):
    with pytest.raises(ValueError, match="code must be that of a CPU module"):
        ObjectCode.of(code)


def test_a_read_module_runs(module):
    from kapi_cpu.loading import load

    assert load(read_module(write_module(module))).lanes == module.lanes
    x = np.arange(5, dtype=np.float32)
    cpu = Cpu()
    import kapi_sim

    cpu.call(kapi_sim.kernel(double), kapi_sim.Range(5), x)
    np.testing.assert_array_equal(x, [0, 2, 4, 6, 8])


def test_kernel_whose_name_is_beyond_ascii_runs():
    def verdopple_größe(item, größe):
        größe[item.get_id(0)] *= 2

    import kapi_sim

    x = np.arange(5, dtype=np.float32)
    Cpu().call(kapi_sim.kernel(verdopple_größe), kapi_sim.Range(5), x)
    assert x.tolist() == [0, 2, 4, 6, 8]
