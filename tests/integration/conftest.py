"""Faults of drivers that tests looked for: the run prints them, and writes them where a session asks for them."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from pathlib import Path

import pytest

INSTRUCTION_SET = os.environ.get("CL_CONFIG_CPU_TARGET_ARCH", "default")
SEEN: dict[str, str] = {}


PACKAGES = {
    "cpu_backend": Path(__file__).parents[2] / "packages/kapi-cpu/tests/cpu_backend",
    "device_arrays": Path(__file__).parent / "device_arrays",
    "loop_kernels": Path(__file__).parent / "loop_kernels",
    "random_kernels": Path(__file__).parent / "random_kernels",
}
"""Packages of tests, which are on no path: a third opinion on what a device computes, the kernels that kapi-cpu's own
tests run without kapi-runtime; where kernels run; and what several tests of loops share."""

for _name, _folder in PACKAGES.items():
    if _name not in sys.modules:
        _specification = importlib.util.spec_from_file_location(_name, _folder / "__init__.py")
        _package = importlib.util.module_from_spec(_specification)
        sys.modules[_name] = _package
        _specification.loader.exec_module(_package)


@pytest.fixture
def observe():
    """Record what was seen of a fault: `observe(name, whether it is there)`, or words for anything else."""

    def record(fault: str, seen: bool | str) -> None:
        SEEN[fault] = seen if isinstance(seen, str) else "there" if seen else "not there"

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, and add it to the file that KAPI_DRIVER_FAULTS names."""
    if not SEEN:
        return
    terminalreporter.section(f"faults of the driver, instruction set {INSTRUCTION_SET}")
    width = max(map(len, SEEN))
    for fault, seen in SEEN.items():
        terminalreporter.write_line(f"{fault:<{width}}  {seen}")
    if "KAPI_DRIVER_FAULTS" in os.environ:
        path = Path(os.environ["KAPI_DRIVER_FAULTS"])
        found = json.loads(path.read_text("utf-8")) if path.exists() else {}
        found[INSTRUCTION_SET] = {"processor": platform.machine(), "faults": SEEN}
        path.write_text(json.dumps(found, indent=2), "utf-8")
