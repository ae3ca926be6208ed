"""Compiler of Python functions to vector code for CPUs, through Numba and LLVM. Needs no driver."""

from __future__ import annotations

from kapi_cpu.compiler import COMPILER
from kapi_cpu.emission.explanation import Decision, Explanation
from kapi_cpu.module import CpuModule
from kapi_cpu.target import CpuTarget, host_target

__all__ = [
    "CpuModule",
    "CpuTarget",
    "Decision",
    "Explanation",
    "compile_kernel",
    "explain",
    "host_target",
    "read_module",
    "write_module",
]

__version__ = "0.1.0"

compile_kernel = COMPILER.compile_kernel
read_module = COMPILER.read_module
write_module = COMPILER.write_module


def explain(module: CpuModule) -> Explanation:
    """Explain how a kernel became code: as vectors of how many lanes or scalar, and why.

    Parameters
    ----------
    module : CpuModule
        The kernel; with ``lineinfo=True`` decisions have the lines of its source.

    Examples
    --------
    >>> def add(item, x, y):
    ...     y[item.get_id(0)] += x[item.get_id(0)]
    >>> explanation = explain(compile_kernel(add, "item1, float32[:], float32[:]"))
    >>> explanation.decisions[0].kind
    'kernel'
    """
    return module.explanation
