"""Hand-written OpenCL C on the same device through pyopencl: the peer that matters."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

__all__ = ["Peer", "share_driver_with_pyopencl"]


def share_driver_with_pyopencl() -> None:
    """Let pyopencl's own loader find the driver that kapi finds; call it before either is imported.

    pyopencl reads OCL_ICD_VENDORS only, and kapi leaves the environment as it is where that is set.
    """
    if os.environ.get("OCL_ICD_VENDORS"):
        return
    from kapi_runtime import _drivers

    found = _drivers.driver_search()
    if found.library is None:
        return
    folder = Path(tempfile.mkdtemp(prefix="kapi-benchmarks-"))
    (folder / "driver.icd").write_text(found.library + "\n")
    os.environ["OCL_ICD_VENDORS"] = str(folder)
    os.environ.pop("OCL_ICD_FILENAMES", None)  # named twice, the device would be there twice


class Peer:
    """A kernel in OpenCL C, its arguments set once, on the first CPU or GPU that pyopencl lists.

    Parameters
    ----------
    source : str
        One kernel.
    options : str
        For the driver's compiler.
    """

    def __init__(self, source: str, options: str = "-cl-std=CL2.0") -> None:
        import pyopencl as cl

        self._cl = cl
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
        self.context = cl.Context(devices[:1])
        self.queue = cl.CommandQueue(self.context)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)  # the driver says that it has compiled
            program = cl.Program(self.context, source).build(options)
        (self.kernel,) = program.all_kernels()
        self._buffers: list[Any] = []  # a kernel does not keep its arguments alive

    def array(self, values: Any) -> Any:
        """A copy of a NumPy array on the device."""
        flags = self._cl.mem_flags
        self._buffers.append(self._cl.Buffer(self.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=values))
        return self._buffers[-1]

    def fetch(self, buffer: Any, into: Any) -> Any:
        """Copy a buffer to a NumPy array, and return that."""
        self._cl.enqueue_copy(self.queue, into, buffer)
        return into

    def run(self, global_size: tuple[int, ...], local_size: tuple[int, ...] | None = None) -> None:
        """Run the kernel and wait; sizes are in OpenCL's order, the fastest dimension first."""
        self._cl.enqueue_nd_range_kernel(self.queue, self.kernel, global_size, local_size).wait()
