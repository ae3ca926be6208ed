"""A third opinion: the LLVM IR that becomes a kernel's SPIR-V, run on the host by llvmlite's own compiler.

Where the device and the simulator differ, this tells who is wrong. If the host agrees with the device, typing or
lowering is: the IR itself says so. If the host agrees with the simulator, LLVM's SPIR-V back end or the driver is, or
the text that is changed for them just before emission (`optimised=False` runs the IR as lowered).

Covered are kernels over a Range: arithmetic, conversions, memory, control flow, device functions, private arrays, all
functions of numbers, and atomics on global memory.

What is not covered, and is refused by `NotOnHost`:

- kernels over an NdRange: groups, sub-groups, their algorithms, barriers, local memory;
- `print`;
- fences of memory between work-items, which run one after the other here, so that no race shows;
- the record of failures of `debug` and `boundscheck`.

Functions are those of the host's C library: they are exact to a unit or so, and nothing is said of the bounds that a
driver's own functions keep.
"""

from __future__ import annotations

from host_jit.compiled import HostKernel, host_kernel
from host_jit.host_ir import NOT_COVERED, NotOnHost, host_ir

__all__ = ["NOT_COVERED", "HostKernel", "NotOnHost", "host_ir", "host_kernel"]
