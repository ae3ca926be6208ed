"""Hand-written OpenCL C on the same device through pyopencl: the peer that matters."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Peer", "share_driver_with_pyopencl"]

_UNCONTRACTED = "#pragma OPENCL FP_CONTRACT OFF\n"


def share_driver_with_pyopencl() -> None:
    """Let pyopencl's own loader find the driver that kapi finds; call it before either is imported.

    pyopencl reads OCL_ICD_VENDORS only, and kapi leaves the environment as it is where that is set.
    """
    if os.environ.get("OCL_ICD_VENDORS"):
        return
    from kapi_runtime.sycl.devices import drivers

    found = drivers.driver_search()
    if found.library is None:
        return
    folder = Path(tempfile.mkdtemp(prefix="kapi-benchmarks-"))
    (folder / "driver.icd").write_text(found.library + "\n")
    os.environ["OCL_ICD_VENDORS"] = str(folder)
    os.environ.pop("OCL_ICD_FILENAMES", None)  # named twice, the device would be there twice


class Peer:
    """Kernels in OpenCL C on the first device that pyopencl lists, each with its arguments set once.

    Parameters
    ----------
    source : str
        One or more kernels.
    contract : bool
        Whether the compiler may contract a multiplication and an addition, as OpenCL C lets it by default.
    options : str
        For the driver's compiler.
    """

    def __init__(self, source: str, contract: bool, options: str = "-cl-std=CL2.0") -> None:
        import pyopencl as cl

        self._cl = cl
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
        self.context = cl.Context(devices[:1])
        self.queue = cl.CommandQueue(self.context)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)  # the driver says that it has compiled
            self._program = cl.Program(self.context, source if contract else _UNCONTRACTED + source).build(options)

    def array(self, values: Any) -> Any:
        """A copy of a NumPy array on the device, as a pyopencl array."""
        from pyopencl import array

        return array.to_device(self.queue, np.ascontiguousarray(values))

    def empty(self, shape: Any, dtype: Any) -> Any:
        """A new array on the device, as a pyopencl array."""
        from pyopencl import array

        return array.empty(self.queue, shape, dtype)

    def kernel(self, name: str, *arguments: Any) -> Any:
        """A kernel of the program with its arguments set: pyopencl arrays, NumPy scalars."""
        kernel = self._cl.Kernel(self._program, name)
        kernel.set_args(*(getattr(each, "data", each) if hasattr(each, "queue") else each for each in arguments))
        kernel.kept = arguments  # a kernel does not keep its arguments alive
        return kernel

    def start(self, kernel: Any, global_size: tuple[int, ...], local_size: tuple[int, ...] | None = None) -> Any:
        """Start a kernel; sizes are in OpenCL's order, the fastest dimension first."""
        return self._cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)

    def run(self, kernel: Any, global_size: tuple[int, ...], local_size: tuple[int, ...] | None = None) -> None:
        """Run a kernel and wait for it."""
        self.start(kernel, global_size, local_size).wait()

    def wait(self) -> None:
        """Wait for everything started."""
        self.queue.finish()
