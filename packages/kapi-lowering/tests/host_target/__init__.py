"""A target of kapi-lowering that is the host's own processor: kernels run one work-item after the other.

It needs no device, and shares nothing with LLVM's other back ends or a driver. So it tests what all targets share, and
where a device and the simulator differ, it tells who is wrong: if the host agrees with the device, typing or lowering
is; if it agrees with the simulator, it is what the device's target writes, LLVM's back end for it, or the driver.

Covered are kernels over a Range, and over an NdRange of which no work-item waits for another: arithmetic,
conversions, memory, local memory, control flow, device functions, private arrays, functions of numbers, atomics,
fences, `print`, and the record of failures. `LACKING` names the rest, which `NotOnHost` refuses. Races do not show,
for nothing runs at once.

Functions are those of the host's C library: they are exact to a unit or so, and nothing is said of the bounds that a
device's own functions keep.
"""

from __future__ import annotations

from host_target.code import LACKING
from host_target.running import HostKernel, NotOnHost, host_kernel, signature_of
from host_target.target import HostTarget

__all__ = ["LACKING", "HostKernel", "HostTarget", "NotOnHost", "host_kernel", "signature_of"]
