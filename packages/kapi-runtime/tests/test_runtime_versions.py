from __future__ import annotations

import importlib.metadata
import re
from types import SimpleNamespace

import kapi_runtime as kapi
from kapi_runtime.platform.installed import package_version
from kapi_runtime.sycl import diagnosis
from kapi_runtime.sycl.devices import opencl


def test_versions_are_those_of_what_is_installed():
    versions = kapi.runtime.get_version()
    for name in ("dpctl", "dpnp", "numba", "llvmlite"):
        assert getattr(versions, name) == importlib.metadata.version(name)
    assert versions.kapi_runtime == kapi.__version__
    assert versions.driver == kapi.devices.current.driver_version
    assert versions.opencl.startswith("OpenCL ")
    assert versions.llvm.startswith("22.")
    assert versions.sycl.startswith(importlib.metadata.version("intel-sycl-rt"))
    assert re.search(r"\(libsycl\.so\.[\d.]+", versions.sycl)
    assert versions.unified_runtime.startswith(importlib.metadata.version("intel-cmplr-lib-ur"))
    assert re.search(r"\(libur_\w+\.so\.[\d.]+\)", versions.unified_runtime)


def test_versions_of_spirv_are_those_that_the_driver_takes():
    """The compiler emits SPIR-V 1.4 and earlier, which the CPU's driver must take."""
    assert "1.4" in kapi.runtime.get_version(0).spirv.split(", ")


def test_versions_read_as_lines():
    lines = str(kapi.runtime.get_version()).splitlines()
    assert lines[0].split()[0] == "kapi_runtime"
    assert len(lines) == 12


def test_version_that_cannot_be_known_is_said_to_be_unknown(monkeypatch):
    monkeypatch.setattr(opencl.drivers, "loaded_libraries", lambda name: ())
    versions = kapi.runtime.get_version()
    assert versions.spirv == "unknown"
    assert versions.unified_runtime.endswith("(unknown)")


def test_package_that_is_not_installed_has_no_version():
    assert package_version("no-such-package") == "not installed"


def test_version_of_spirv_is_asked_of_opencl_devices_only():
    assert diagnosis._spirv(SimpleNamespace(backend=SimpleNamespace(name="level_zero"))) == ""


def test_versions_are_reported_without_numba(run_python):
    done = run_python("import sys, kapi_runtime as k; k.runtime.get_version(); print('numba' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr
