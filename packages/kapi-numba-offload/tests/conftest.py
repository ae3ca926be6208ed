"""Fixtures of this package's tests."""

import dataclasses
import importlib.util
import os
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest


def sibling_module(name):
    """The module beside this one of that name: nothing is put on `sys.path`."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


IS_CUPY = os.environ.get("KAPI_ARRAYS") == "cupy"
"""Whether the tests run over CuPy's arrays, which stand in dpnp's place in all of them."""

OF_DPNP = ("array_libraries", "buffer_pool", "foreign_arrays", "registration", "types_on_device")
collect_ignore = [f"test_{each}.py" for each in OF_DPNP if IS_CUPY]

if IS_CUPY:
    sibling_module("over_cupy").install(sibling_module)

import dpnp  # noqa: E402  # which may be CuPy

import kapi_numba_offload.run.launching  # noqa: E402
import kapi_runtime  # noqa: E402
from kapi_numba_offload.libraries.arrays import device_facts, queue_of  # noqa: E402
from kapi_numba_offload.libraries.installed import library_named  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave out tests of what dpnp's arrays alone have, where CuPy's stand for them."""
    left_out = [each for each in items if IS_CUPY and each.get_closest_marker("sycl")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [each for each in items if each not in left_out]


def memory_of(array):
    """Kind of memory and queue of a dpnp array; the device of one of CuPy's."""
    return array.device.id if IS_CUPY else (array.usm_type, array.sycl_queue)


@pytest.fixture(scope="session")
def assert_same():
    """Compare with the library's own result: type, dtype, shape, memory, and values within rounding.

    Where that has rank 0, the result is to be Python's number.
    """

    def compare(result, expected, rtol=1e-6):
        if isinstance(expected, tuple):
            assert len(result) == len(expected)
            for one, other in zip(result, expected, strict=True):
                compare(one, other, rtol)
            return
        if not isinstance(expected, dpnp.ndarray):
            np.testing.assert_allclose(result, expected, rtol=rtol)
            return
        if expected.ndim == 0:
            assert type(result) is type(expected.item())
            np.testing.assert_allclose(result, expected.item(), rtol=rtol)
            return
        assert type(result) is type(expected)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert memory_of(result) == memory_of(expected)
        np.testing.assert_allclose(dpnp.asnumpy(result), dpnp.asnumpy(expected), rtol=rtol)

    return compare


@pytest.fixture(scope="session")
def as_in_python():
    """Run a function, compiled, over device arrays, and in Python over NumPy's; compare what is in them."""

    def compare(function, on_host, rtol=1e-7):
        on_device = [dpnp.asarray(each) for each in on_host]
        numba.njit(function)(*on_device)
        function(*on_host)
        for found, expected in zip(on_device, on_host, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(found), expected, rtol=rtol)

    return compare


@pytest.fixture(scope="session")
def integer_functions():
    """The module beside this one of that name."""
    return sibling_module("integer_functions")


@pytest.fixture(autouse=True)
def no_small_loops(monkeypatch):
    """Loops over the small arrays of tests run as those over large ones do."""
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", "0")


@pytest.fixture(scope="session")
def is_gpu():
    """Whether the tests' arrays are on a GPU, where other loops are kernels, and copies to the host are dear."""
    return not device_facts(queue_of(dpnp.ones(1))).is_cpu


@pytest.fixture
def no_group_does_a_loop(monkeypatch):
    """Loops that one work-group of a GPU would do are left to what runs otherwise."""
    monkeypatch.setattr("kapi_numba_offload.loops.group_loop.GroupLoop.suits", lambda *_: False)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """The device is taken for one with memory of its own, whose work-items are no lanes of vectors."""
    library = type(library_named("cupy" if IS_CUPY else "dpnp"))
    facts = library.facts
    monkeypatch.setattr(
        library,
        "facts",
        lambda self, queue: dataclasses.replace(facts(self, queue), is_cpu=False, has_host_memory=False),
    )


@pytest.fixture
def launches():
    """The kernel launches of a test, in order."""
    with kapi_numba_offload.run.launching.launches() as seen:
        yield seen


@pytest.fixture(scope="session")
def in_context():
    """Call a function in a device context, whatever part of it may run on the host."""

    def call(function, *args, device="opencl:cpu"):
        with kapi_runtime.device_context(device), warnings.catch_warnings():
            warnings.simplefilter("ignore", kapi_numba_offload.OffloadFallbackWarning)
            return function(*args)

    return call


class Marked(np.ndarray):
    """A subclass of NumPy's arrays."""


@pytest.fixture
def layouts(tmp_path):
    """Functions that make memory and an array of four numbers in it, by what the array is called."""

    def part(view, size=12):
        def make():
            base = np.arange(float(size))
            return base, view(base)

        return make

    def mapped():
        base = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=6)
        base[:] = np.arange(6.0)
        return base, base[:4]

    return {
        "whole": part(lambda base: base, 4),
        "middle": part(lambda base: base[3:7]),
        "strided": part(lambda base: base[2:10:2]),
        "reversed": part(lambda base: base[4:0:-1]),
        "column": part(lambda base: base.reshape(4, 3)[:, 1]),
        "diagonal": part(lambda base: np.lib.stride_tricks.as_strided(base, (4,), (40,)), 16),
        "subclass": part(lambda base: base.view(Marked)[1:5]),
        "mapped file": mapped,
    }
