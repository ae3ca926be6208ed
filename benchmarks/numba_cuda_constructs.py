"""Compare refusals of numba.cuda's compiler with those of `kapi_sim.numba_cuda`, over the tests' tables of constructs.

    python benchmarks/numba_cuda_constructs.py

The environment needs numba, with its own target for CUDA or with numba-cuda, and libNVVM; no GPU.  kapi-sim is not run:
its tests see that it agrees with the tables.  Printed are the constructs of which this compiler says something else.
Compilers differ, so one that is listed as running may be refused by an older one; none that is listed as refused may
compile, but for those whose result would be an undefined symbol for the linker.
"""

from __future__ import annotations

import importlib.util
import linecache
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba import cuda, types

TABLES = Path(__file__).parents[1] / "packages/kapi-sim/tests/planted/cuda_constructs.py"
TARGET = (7, 5)
PROVIDED = ("vprintf", "__assertfail", ".shared")
"""External symbols that a device has."""


class Device:
    """Stands for the device that compilation of device functions asks for."""

    compute_capability = TARGET


def tables() -> ModuleType:
    """Return the module with the tables."""
    specification = importlib.util.spec_from_file_location("cuda_constructs", TABLES)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def constructs(module: ModuleType) -> Iterator[tuple[bool, str, str, str]]:
    """Return for each construct whether it should compile, its code, the kernel's body and what stands before it."""
    for code, bodies in module.REFUSED.items():
        yield from ((False, code, body, "") for body in bodies)
    for code, functions in module.IN_DEVICE_FUNCTIONS.items():
        yield from ((False, code, "part(a)", module.DEVICE + function) for function in functions)
    yield from ((True, "runs", body, "") for body, _ in module.RUNS)


def refusal(source: str) -> str | None:
    """Return why the compiler does not take a kernel; `None` if it does."""
    file = f"<construct {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, Any] = {"__name__": "program", "cuda": cuda}
    a, m, integers = types.float64[::1], types.float64[:, ::1], types.int64[::1]
    try:
        exec(compile(source, file, "exec"), names)
        code, result = cuda.compile_ptx(names["kernel"], (a, m, integers, types.int64), cc=TARGET)
    except BaseException as error:  # compilers fail in many ways, by assertions among others
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    if result != types.void and result != types.none:
        return f"it returns {result}"
    missing = [line for line in code.splitlines() if ".extern" in line and not any(each in line for each in PROVIDED)]
    return f"it needs {missing[0].split()[-1]}" if missing else None


def main() -> None:
    """Compile all constructs, and print those of which the tables say something else."""
    warnings.simplefilter("ignore")
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("numba") and hasattr(module, "get_current_device"):
            module.get_current_device = lambda: Device
    module, counts, taken = tables(), [0, 0], 0
    for should_compile, code, body, before in constructs(module):
        why = refusal(module.source_of(body, before))
        counts[should_compile] += 1
        if should_compile != (why is None):
            taken += why is None
            shown = (f"{before}\n{body}" if before else body).strip().replace("\n", "\n    ")
            print(f"{code}: {'compiles' if why is None else f'refused, {why}'}\n    {shown}")
    print(
        f"Numba {numba.__version__}, {counts[0]} constructs that should be refused and {counts[1]} that should compile"
    )
    if taken:
        raise SystemExit(f"{taken} that should be refused compile")


if __name__ == "__main__":
    main()
