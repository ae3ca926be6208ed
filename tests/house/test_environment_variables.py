"""Every environment variable that the packages read is listed in one module, which reads it for them."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGES = Path(__file__).parents[2] / "packages"
LIST = PACKAGES / "kapi-sim" / "src" / "kapi_sim" / "environment_variables.py"
NAME = re.compile(r"\"((?:CUDA(?!_ERROR)|KAPI|NUMBA_DPPY|OCL_ICD|ONEAPI|XDG|NO|LD)_[A-Z][A-Z_]*[A-Z]|LOCALAPPDATA)\"")
CONSTANTS = {"CUDA_HOST", "CUDA_MANAGED", "KAPI_DEFAULT_TARGET"}  # of DLPack, and named in __all__
# The search for a driver changes the environment of the OpenCL loader, and `setup` writes a file that does.
CHANGE_IT = {"kapi_runtime/sycl/devices/drivers.py", "kapi_runtime/sycl/devices/driver_setup.py"}


def test_environment_is_read_and_its_variables_are_named_in_one_module():
    sources = [file for file in PACKAGES.glob("*/src/**/*.py") if file != LIST]
    readers = {
        file.relative_to(PACKAGES).as_posix().partition("/src/")[2]
        for file in sources
        if re.search(r"\benviron\b|getenv", file.read_text("utf-8"))
    }
    assert readers == CHANGE_IT

    named = {(file.name, name) for file in sources for name in NAME.findall(file.read_text("utf-8"))}
    assert {(file, name) for file, name in named if name not in CONSTANTS} == set()
    assert len(NAME.findall(LIST.read_text("utf-8"))) > 20
