"""Records of the logger `kapi` on devices: the choice, each compilation, and each launch."""

from __future__ import annotations

import logging
import re

import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.platform import log


@pytest.fixture
def logged(caplog, monkeypatch):
    """The records of the block, with seconds and devices left out."""
    monkeypatch.setattr(log, "_reported", set())

    def logged():
        messages = [record.getMessage() for record in caplog.records if record.name == "kapi"]
        caplog.clear()
        messages = [each.replace(kapi.default_device().name.strip(), "DEVICE") for each in messages]
        messages = [each.replace(kapi.cache.info().folder, "FOLDER") for each in messages]
        messages = [re.sub(r"\d+ compute units?", "UNITS", each) for each in messages]
        return [re.sub(r"\d+\.\d{3} s$", "SECONDS", each) for each in messages]

    return logged


def kernels():
    """Two kernels of one source and name: what one compiles, the other finds on disk."""

    def made():
        @kapi.kernel
        def add(item: kapi.Item, a, value):
            i = item.get_id(0)
            a[i] = a[i] + value

        return add

    return made(), made()


COMPILED = "kernel `add`: compiled for SPIR-V; was not in the disk cache, SECONDS"
FOUND = "kernel `add`: found in the disk cache, SECONDS"
BUILT = "kernel `add`: built by the driver of DEVICE (opencl:cpu:0), SECONDS"
DEVICE = "device: DEVICE (opencl:cpu:0), UNITS; disk cache: FOLDER"


def test_compilations_are_logged_at_level_info(caplog, logged, monkeypatch):
    kapi.cache.clear()
    first, second = kernels()
    array = dpnp.zeros(4)
    with caplog.at_level(logging.INFO, "kapi"):
        first[4](array, 1.0)
        assert logged() == [DEVICE, COMPILED, BUILT]
        first[4](array, 1.0)
        assert logged() == []
        second[4](array, 1.0)
        assert logged() == [FOUND, BUILT]
        monkeypatch.setenv("KAPI_CACHE", "0")
        first[4](array, 1)
        assert logged() == [COMPILED.replace("was not in the disk cache", "the disk cache is off"), BUILT]
        kapi.select_device(0)
        assert logged() == ["current device: DEVICE (opencl:cpu:0)"]
        kapi.close()


def test_launches_are_logged_at_level_debug_on_every_path(caplog, logged):
    add, _ = kernels()
    array = dpnp.zeros(4)
    add[4](array, 1.0)
    bound = add.bind(kapi.Range(4), array, 1.0)
    with caplog.at_level(logging.DEBUG, "kapi"):
        logged()
        add[4](array, 1.0)
        bound()[0].wait()
        kapi.call_kernel_async(add, kapi.Range(4), (), array, 1.0)[0].wait()
        launched = [each for each in logged() if each != DEVICE]  # which is told where a launch has no plan
        assert launched == ["launch of `add` over Range(4)"] * 3
    add[4](array, 1.0)
    assert logged() == []
    assert array.asnumpy().tolist() == [5.0] * 4


def test_launches_of_foreign_code_are_logged(caplog, logged):
    source = "kernel void one(global int *x) { x[get_global_id(0)] = 1; }"
    one = kapi.load_opencl(source, "one", [("x", "int32[:]")])
    with caplog.at_level(logging.DEBUG, "kapi"):
        one[4](dpnp.zeros(4, dtype="int32"))
    assert logged() == [DEVICE, "launch of `one` over Range(4)"]
