"""`Platform`: everything that a kind of device must answer for kernels to run there, and for the host to manage it.

A platform is one subclass, found by `installed`.  The rooms that all platforms share (kernels, launch, build,
recording, diagnosis, memory) ask it, and know no other name of it.  What it hands out is opaque to them: a *device*, a
*queue*, an *event*, an *allocation* are whatever its library has.  They only compare and hash devices and queues, keep
all of these, and hand them back.

Where arrays carry a queue, that is the queue of a launch.  Where they do not, as with streams, the platform gives an
object that stands for the queue which is current when work is submitted; it stands for the same choice until then, and
is equal to others that stand for the same.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from kapi_runtime.platform.interface.arrays import ArrayReader
from kapi_runtime.platform.interface.devices import DeviceLimits, DeviceManager
from kapi_runtime.platform.interface.diagnosis import Diagnosis, Findings
from kapi_runtime.platform.interface.graphs import NativeGraph
from kapi_runtime.platform.interface.launches import DynamicPlan, Launcher, LaunchPlan, NativeArgument
from kapi_runtime.platform.interface.memory import Allocation, MemoryKind, MemoryManager
from kapi_runtime.platform.interface.numba_cuda import NumbaCudaHost
from kapi_runtime.platform.interface.profiling import Profiler, Times
from kapi_runtime.platform.interface.programs import BuiltKernel, ForeignCode, KernelInformation, ProgramBuilder

__all__ = [
    "Allocation",
    "ArrayReader",
    "BuiltKernel",
    "DeviceLimits",
    "DeviceManager",
    "Diagnosis",
    "DynamicPlan",
    "Findings",
    "ForeignCode",
    "KernelInformation",
    "LaunchPlan",
    "Launcher",
    "MemoryKind",
    "MemoryManager",
    "NativeArgument",
    "NativeGraph",
    "Platform",
    "Profiler",
    "ProgramBuilder",
    "Times",
]


class Platform(ArrayReader, DeviceManager, ProgramBuilder, Launcher, Profiler, MemoryManager, Diagnosis):
    """One kind of device: what its arrays, queues and kernels are, and how work is submitted there.

    There is one object of a class in a process; `installed` makes it for the first array or device of its kind.
    Importing its module may import its library, and touches no device.  All methods may be called by any thread.  What
    a platform caches for a device it drops when `kapi_runtime.platform.device_caches` says so.

    Attributes
    ----------
    name : str
        What ``kapi_runtime`` calls it, such as "sycl" or "cuda"; also the name of its sub-package.
    target : str
        Name of the target that its kernels are compiled for: an entry point of the group ``kapi.targets``.
    module_suffix : str
        What the names of its files in the disk cache end in, one of `kapi_runtime.cache.private_folder.SUFFIXES`.
    packages : tuple of str
        Distributions whose versions ``python -m kapi_runtime`` shows.
    is_host : bool
        Whether its arrays are those of the host's memory, which launches use in host_target.
    groups_finish : bool
        Whether a work-group that has started goes on until it ends, whatever others do: then a group may wait for
        those that have started before it, which SYCL does not promise.
    """

    name: str
    module_suffix: str = "module"
    packages: tuple[str, ...]
    is_host: bool = False
    groups_finish: bool = False

    def new_graph(self, queue: Any, is_named: bool) -> NativeGraph:
        """Return a graph for work of a queue, which is empty and not recording.

        Parameters
        ----------
        queue : object
            The queue.
        is_named : bool
            Whether the program has named it; otherwise it is that of the first work.
        """
        return NativeGraph(self, queue)

    @property
    @abstractmethod
    def numba_cuda(self) -> NumbaCudaHost:
        """The platform's part of numba.cuda's host API."""
