from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# First of all, since the first device query fixes what is visible.
import kapi_runtime
from kapi_sim.testing.reports import changing

GOVERNING = ("KAPI_FIND_DRIVER", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "ONEAPI_DEVICE_SELECTOR")


def _machine_descriptions():
    """Patterns of this machine's devices in messages, and their replacements in the snapshot."""
    found = []
    if importlib.util.find_spec("dpctl"):
        import dpctl

        found += [(re.escape(device.name.strip()) + r"(?: \([\w:]+\))?", "DEVICE") for device in dpctl.get_devices()]
    if importlib.util.find_spec("kapi_cpu"):
        from kapi_runtime.cpu.devices.device import cpu_device

        found.append((re.escape(cpu_device().name) + r" \(cpu:0\)", "DEVICE"))
    return [
        *found,
        (r"\d+ of \d+ compute units", "N of N compute units"),
        (r"has \d+ compute units, and splits into at most \d+", "has N compute units, and splits into at most N"),
        (r"which holds \d+ bytes, \d+ in one", "which holds N bytes, N in one"),
        (r"at most \d+ (bytes|work-items)( for a work-group)? on this device", r"at most N \1\2 on this device"),
    ]


for pattern, word in _machine_descriptions():
    changing(pattern, word)


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory):
    """The disk cache of the tests, and of the processes that they start: no kernel of an earlier run is in it.

    Runs under several instruction sets share one, which ``KAPI_TEST_CACHE`` names: SPIR-V is the same for all of them.
    """
    shared = os.environ.get("KAPI_TEST_CACHE")
    folder = Path(shared) if shared else tmp_path_factory.mktemp("cache") / "kapi"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAPI_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture
def run_python():
    """Run a program in a process of its own, with none of the variables that govern what is found."""

    def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if name not in GOVERNING}
        command = [sys.executable, *arguments] if arguments else [sys.executable, "-c", program]
        return subprocess.run(
            command, env=inherited | environment, capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture
def sub_devices():
    """Two queues on two devices: the halves of the CPU."""
    import dpctl

    device = kapi_runtime.default_device()
    half = device.max_compute_units // 2
    return [dpctl.SyclQueue(part) for part in device.create_sub_devices(partition=[half, half])]


@pytest.fixture
def sub_device():
    """One compute unit of the default device, as a device."""
    return kapi_runtime.default_device().split(1)[0]


@pytest.fixture
def native():
    """Launches go by native code."""
    from kapi_runtime.sycl.native.native_functions import native_functions

    assert native_functions() is not None


@pytest.fixture
def slow_path(monkeypatch):
    """Count the launches that go the slow path."""
    from kapi_runtime.kernels.kernel import Kernel

    counted = []
    real = Kernel.prepare

    def prepare(self, space, given):
        counted.append(given)
        return real(self, space, given)

    monkeypatch.setattr(Kernel, "prepare", prepare)
    return counted


@functools.cache
def cuda_double():
    """The module of the double: nothing is put on `sys.path`."""
    name = "cuda_double"
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


cuda_double()  # so that tests can import it by its name


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """The double of CUDA's driver, with one device, and a disk cache of its own."""
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path / "kapi"))
    with cuda_double().driver_double(monkeypatch) as driver:
        yield driver


@pytest.fixture
def lib(monkeypatch, gpu):
    """CuPy and PyTorch as far as kapi asks them, with arrays in the double's memory."""
    return cuda_double().libraries(monkeypatch, gpu)
