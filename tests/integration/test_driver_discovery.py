"""The driver is found in programs that use the entire stack, whatever they import first."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

GOVERNING = ("KAPI_FIND_DRIVER", "OCL_ICD_FILENAMES", "OCL_ICD_VENDORS", "ONEAPI_DEVICE_SELECTOR")
MODULES = ("dpnp", "numba", "kapi_runtime")
ORDERS = [(first, *(each for each in MODULES if each != first)) for first in MODULES]


def run(program: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in GOVERNING}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    "order", [(first, *(each for each in MODULES if each != first)) for first in MODULES], ids=", ".join
)
def test_driver_is_found_in_any_order_of_imports(order):
    imports = "\n".join(f"import {name}" for name in order)
    done = run(f"{imports}\nimport dpnp\nprint(dpnp.arange(4).sum())")
    assert (done.stdout.strip(), done.returncode) == ("6", 0), done.stderr


def test_driver_is_found_by_the_offload_package_too():
    done = run("import kapi_numba_offload, dpnp\nprint(dpnp.arange(4).sum())")
    assert (done.stdout.strip(), done.returncode) == ("6", 0), done.stderr


def test_driver_is_found_after_another_opencl_loader_has_looked():
    done = run(
        "import pyopencl\n"
        "try:\n    pyopencl.get_platforms()\nexcept pyopencl.Error:\n    pass\n"
        "import kapi_runtime, dpnp\nprint(dpnp.arange(4).sum())"
    )
    assert (done.stdout.strip(), done.returncode) == ("6", 0), done.stderr
