"""Environment variables that kapi's packages read; every reader goes through this module.

The page of environment variables prints `VARIABLES`. A variable is read when it is asked for, so that a program that
changes its environment is heard.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FOREIGN", "VARIABLES", "Variable", "cache_folder", "changed"]

_OFF = frozenset(("0", "off", "no", "false"))


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable.

    - `name`: its name in the environment.
    - `reader`: the distributions and programs that read it, as the documentation names them.
    - `meaning`: what its values do, in Markdown.
    """

    name: str
    reader: str
    meaning: str

    @property
    def value(self) -> str | None:
        """The text in the environment, or None where the variable is not set."""
        return os.environ.get(self.name)

    @property
    def text(self) -> str:
        """The text without surrounding blanks; empty where the variable is not set."""
        return (self.value or "").strip()

    @property
    def is_off(self) -> bool:
        """Whether the variable says no: `0`, `off`, `no` or `false` in any case."""
        value = self.value
        return value is not None and value.strip().lower() in _OFF

    @property
    def is_on(self) -> bool:
        """Whether the variable is set to anything but a no."""
        return bool(self.text) and not self.is_off

    def number(self, default: int) -> int:
        """Return the whole number that the variable has, or a default where it has none."""
        return int(self.text) if self.text.isdigit() else default


def changed(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for another process, with some variables changed."""
    return {**os.environ, **values}


def cache_folder() -> str:
    """Return the folder of kapi's disk cache, by its variables; empty where the user has no folder of their own."""
    if CACHE_DIR.value:
        return os.path.expanduser(CACHE_DIR.value)
    for base in (XDG_CACHE_HOME.value, LOCALAPPDATA.value, os.path.expanduser("~/.cache")):
        if base and os.path.isabs(base):  # the XDG specification ignores relative ones
            return os.path.join(base, "kapi")
    return ""


FULL_TRACEBACK = Variable(
    "KAPI_FULL_TRACEBACK",
    "kapi-sim",
    "`1`: tracebacks of launches hold all frames, with those of kapi. Without it, they hold your frames only",
)
LOG = Variable("KAPI_LOG", "kapi-sim", "`info` or `debug`: show the log on standard error, see below")
SIM_CHECKS = Variable(
    "KAPI_SIM_CHECKS",
    "kapi-sim",
    "the checks of launches outside `simulation(...)`: `all`, `none`, or names with commas between",
)
SHOW_NUMBA_ERRORS = Variable(
    "KAPI_SHOW_NUMBA_ERRORS", "kapi-lowering", "`1`: keep Numba's own message as the cause of a compile error"
)
DUMP_PASSES = Variable(
    "KAPI_DUMP_PASSES",
    "kapi-lowering",
    "a folder: write the LLVM IR of each kernel there, after each of kapi's passes. Set `KAPI_CACHE=0` as well, since "
    "what comes from the cache is not compiled",
)
PASS_LIMIT = Variable(
    "KAPI_PASS_LIMIT",
    "kapi-lowering",
    "a number: of kapi's passes that may be left out, run so many only. It is for those who look for a wrong one, see "
    "`python -m kapi_lowering.emission.bisect`",
)
FIND_DRIVER = Variable(
    "KAPI_FIND_DRIVER",
    "kapi-runtime",
    "`0`: leave the OpenCL loader's environment alone. A driver from a wheel is then not found",
)
CACHE = Variable(
    "KAPI_CACHE",
    "kapi-runtime, kapi-ptx",
    "`0` (or `off`, `no`, `false`): keep no compiled kernels on disk, and look for none",
)
CACHE_DIR = Variable(
    "KAPI_CACHE_DIR",
    "kapi-runtime, kapi-ptx",
    "the folder of compiled kernels, and of the native code of launches. The default is `kapi` in `$XDG_CACHE_HOME`, "
    "`~/.cache`, or Windows' local data. You must be its only owner. Other files in it stay as they are",
)
CACHE_SIZE = Variable(
    "KAPI_CACHE_SIZE",
    "kapi-runtime",
    "maximum size of that folder in megabytes, 256 by default, `inf` for no bound; the files unused for the longest "
    "time go first",
)
OFFLOAD_FALLBACK = Variable(
    "KAPI_OFFLOAD_FALLBACK",
    "kapi-numba-offload",
    "`0`, `false`, `no` or `off`: code that cannot run on the device is an error. Without it, such code runs on the "
    "host, with an `OffloadFallbackWarning`",
)
DPPY_FALLBACK = Variable("NUMBA_DPPY_FALLBACK_OPTION", "kapi-numba-offload", "the same, by its name in numba-dppy")
OFFLOAD_SMALL = Variable(
    "KAPI_OFFLOAD_SMALL",
    "kapi-numba-offload",
    "how many elements the statements of a loop have at most for the host to run it, 32768 by default, 0 for none",
)
OFFLOAD_KEPT = Variable(
    "KAPI_OFFLOAD_KEPT",
    "kapi-numba-offload",
    "how many bytes of memory of arrays that are gone are kept for new ones at most, 268435456 by default, 0 for none",
)
OFFLOAD_DIAGNOSTICS = Variable(
    "KAPI_OFFLOAD_DIAGNOSTICS",
    "kapi-numba-offload",
    "1 to 4: print the diagnostics of each offloaded function after its first call",
)
DPPY_DIAGNOSTICS = Variable(
    "NUMBA_DPPY_OFFLOAD_DIAGNOSTICS", "kapi-numba-offload", "the same, by its name in numba-dppy"
)

VARIABLES = (
    FULL_TRACEBACK, LOG, SIM_CHECKS, SHOW_NUMBA_ERRORS, DUMP_PASSES, PASS_LIMIT, FIND_DRIVER, CACHE, CACHE_DIR,
    CACHE_SIZE, OFFLOAD_FALLBACK, DPPY_FALLBACK, OFFLOAD_SMALL, OFFLOAD_KEPT, OFFLOAD_DIAGNOSTICS, DPPY_DIAGNOSTICS,
)  # fmt: skip
"""kapi's own variables, in the order of the page."""

OCL_ICD_FILENAMES = Variable(
    "OCL_ICD_FILENAMES",
    "kapi-runtime, the OpenCL loader",
    "drivers to load in addition to the system's; kapi-runtime sets it to the wheel's driver where nothing is set",
)
CL_CONFIG_CPU_TARGET_ARCH = Variable(
    "CL_CONFIG_CPU_TARGET_ARCH",
    "kapi-runtime, Intel's OpenCL driver",
    "processor that the driver compiles for; kapi-runtime sets it to `skx` on processors with AVX-512 FP16 where "
    "nothing is set, since the driver does not end for some kernels otherwise",
)
OCL_ICD_VENDORS = Variable(
    "OCL_ICD_VENDORS",
    "kapi-runtime, the OpenCL loader",
    "the folder or driver that replaces the system's list; kapi-runtime leaves it as it is",
)
ONEAPI_DEVICE_SELECTOR = Variable(
    "ONEAPI_DEVICE_SELECTOR",
    "kapi-runtime, SYCL",
    "which devices SYCL lists; `*:cpu` selects the CPU (`opencl:cpu` finds nothing with the wheels of today)",
)
CUDA_VISIBLE_DEVICES = Variable(
    "CUDA_VISIBLE_DEVICES",
    "kapi-runtime, CUDA's driver",
    "which of NVIDIA's devices are visible; an empty text hides all",
)
CUDA_DEVICE_ORDER = Variable(
    "CUDA_DEVICE_ORDER", "CUDA's driver", "the order of devices. `python -m kapi_runtime` shows it"
)
CUDA_CACHE_DISABLE = Variable(
    "CUDA_CACHE_DISABLE", "CUDA's driver", "whether the driver keeps what it built. `python -m kapi_runtime` shows it"
)
CUDA_HOME = Variable("CUDA_HOME", "kapi-ptx, kapi-runtime", "a CUDA toolkit, if no wheel has libdevice")
CUDA_PATH = Variable("CUDA_PATH", "kapi-ptx, kapi-runtime", "the same, by its name on Windows")
XDG_CACHE_HOME = Variable(
    "XDG_CACHE_HOME", "kapi-runtime, kapi-ptx", "the folder that holds the folder of compiled kernels"
)
LOCALAPPDATA = Variable("LOCALAPPDATA", "kapi-runtime", "the same on Windows")
LD_LIBRARY_PATH = Variable(
    "LD_LIBRARY_PATH", "kapi-runtime", "folders to search for a driver that is named without its folder"
)
NUMBA_NUM_THREADS = Variable(
    "NUMBA_NUM_THREADS", "kapi-runtime, Numba", "how many threads a launch on the CPU is split over"
)
NO_COLOR = Variable("NO_COLOR", "kapi-sim", "set to anything: tables have no colours on a terminal")

FOREIGN = (
    OCL_ICD_FILENAMES, OCL_ICD_VENDORS, CL_CONFIG_CPU_TARGET_ARCH, ONEAPI_DEVICE_SELECTOR, CUDA_VISIBLE_DEVICES,
    CUDA_DEVICE_ORDER, CUDA_CACHE_DISABLE, CUDA_HOME, CUDA_PATH, XDG_CACHE_HOME, LOCALAPPDATA, LD_LIBRARY_PATH,
    NUMBA_NUM_THREADS, NO_COLOR,
)  # fmt: skip
"""Variables of other programs that kapi reads as well."""
