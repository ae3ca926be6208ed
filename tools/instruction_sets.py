"""Instruction sets that Intel's OpenCL runtime for CPUs can compile for on this processor."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

__all__ = ["VARIABLE", "available", "table"]

VARIABLE = "CL_CONFIG_CPU_TARGET_ARCH"
"""Read by the driver at a process's first device query; an empty value makes the device unavailable."""

_NEEDED = {
    "corei7": {"sse4_2"},
    "corei7-avx": {"sse4_2", "avx"},
    "core-avx2": {"avx2", "fma", "bmi2"},
    "skx": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def available(flags: Iterable[str] | None = None) -> list[str]:
    """Return the names of the instruction sets that a processor has.

    Parameters
    ----------
    flags : iterable of str, optional
        What the processor says it has, as ``/proc/cpuinfo`` names it; this one's if not given, and
        none where it is not said.
    """
    if flags is None:
        try:
            lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        except OSError:
            lines = []
        flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    has = set(flags)
    return [name for name, needed in _NEEDED.items() if needed <= has]


def table(file: Path) -> str:
    """Return what `tests/integration` saw of the driver's faults, a column for each instruction set.

    Parameters
    ----------
    file : Path
        What the variable ``KAPI_DRIVER_FAULTS`` named while the tests ran.
    """
    found = {name: each["faults"] for name, each in json.loads(file.read_text("utf-8")).items()}
    faults = list(dict.fromkeys(fault for seen in found.values() for fault in seen))
    rows = [["fault", *found], ["---"] * (1 + len(found))]
    rows += [[fault, *(seen.get(fault, "not asked") for seen in found.values())] for fault in faults]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
