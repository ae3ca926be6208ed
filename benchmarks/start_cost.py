"""Cost of the first result: imports, the compile of one kernel cold, warm and from the disk cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping

__all__ = ["KERNEL", "interleaved_seconds", "start_costs", "start_text"]

KERNEL = """
import math, time
{imports}
@kapi.kernel
def pairwise(item: kapi.Item, x, d):
    i = item.get_id(0)
    j = item.get_id(1)
    total = x.dtype.type(0.0)
    for k in range(x.shape[1]):
        t = x[i, k] - x[j, k]
        total += t * t
    d[i, j] = math.sqrt(total)
@kapi.kernel
def other(item: kapi.Item, x):
    x[item.get_id(0)] = 1
"""

_IMPORTS = """
import time
import numpy
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

# the queue and the arrays are made before the clock starts, and dpnp's and the driver's first use with them
_FIRST = (
    KERNEL.format(imports="import dpnp, kapi_runtime as kapi")
    + """
x, d = dpnp.ones((64, 3), dtype="float32"), dpnp.zeros((64, 64), dtype="float32")
(x + 1).sycl_queue.wait()
{before}
start = time.perf_counter()
kapi.call_kernel(pairwise, kapi.Range(64, 64), x, d)
print(time.perf_counter() - start)
"""
)

_FRONT = (
    KERNEL.format(imports="import numba, kapi_sim as kapi, kapi_spirv, kapi_types")
    + """
array = kapi_types.ArrayType(numba.types.float32, 2, "C")
signature = (kapi_types.ItemType(2), array, array)
{before}
start = time.perf_counter()
kapi_spirv.compile_kernel(pairwise.py_func, signature)
print(time.perf_counter() - start)
"""
)

_WARM = """
other_signature = kapi_types.ItemType(1), kapi_types.ArrayType(numba.types.int32, 1, "C")
kapi_spirv.compile_kernel(other.py_func, other_signature)
"""

IMPORTS = (
    "kapi_sim",
    "kapi_types",
    "kapi_lowering",
    "kapi_spirv",
    "kapi_runtime",
    "kapi_numba_offload",
    "numba",
    "dpnp",
)


def start_costs(rounds: int) -> dict[str, float]:
    """Median seconds of each step, each in a fresh process, all in turn."""
    scripts = {f"import {each} (over numpy)": (_IMPORTS.format(module=each), False) for each in IMPORTS}
    scripts |= {
        "Python function to SPIR-V, first of a process": (_FRONT.format(before=""), False),
        "Python function to SPIR-V, second": (_FRONT.format(before=_WARM), False),
        "first launch, nothing cached": (_FIRST.format(before=""), False),
        "first launch, from the disk cache": (_FIRST.format(before=""), True),
    }
    return interleaved_seconds(scripts, rounds)


def interleaved_seconds(scripts: Mapping[str, tuple[str, bool]], rounds: int) -> dict[str, float]:
    """Median seconds that scripts print, each in a fresh process; with True, the disk cache is kept for the next."""
    with tempfile.TemporaryDirectory() as cache:
        times: dict[str, list[float]] = {name: [] for name in scripts}
        for _ in range(rounds + 1):
            for name, (script, is_cached) in scripts.items():
                times[name].append(_seconds(script, cache if is_cached else None))
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def start_text(costs: dict[str, float]) -> str:
    """The table, in milliseconds."""
    return "\n".join(["from nothing to a result, ms", *(f"  {k:<48}{v * 1e3:8.0f}" for k, v in costs.items())]) + "\n"


def _seconds(script: str, cache: str | None) -> float:
    with tempfile.TemporaryDirectory() as fresh:
        path = os.path.join(cache or fresh, "script.py")  # one path for both: a kernel's file may be in its key
        with open(path, "w") as file:
            file.write(script)
        environment = os.environ | {"KAPI_CACHE_DIR": os.path.join(cache or fresh, "kernels")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Python would compile all modules at each import
        done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1])
