"""The one device that the simulator pretends, and its context."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kapi_sim.errors import KernelLaunchError
from kapi_sim.numba_cuda.host.streams import (
    Event,
    Stream,
    default_stream,
    event,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from kapi_sim.numba_cuda.support import Refused
from kapi_sim.numba_cuda.threads.kernel_arrays import MOST_SHARED_BYTES

__all__ = [
    "Context",
    "Device",
    "close",
    "cuda_error",
    "current_context",
    "defer_cleanup",
    "detect",
    "get_current_device",
    "get_supported_ccs",
    "gpus",
    "is_available",
    "is_float16_supported",
    "is_bfloat16_supported",
    "is_supported_version",
    "list_devices",
    "profile_start",
    "profile_stop",
    "profiling",
    "require_context",
    "select_device",
    "supports_cooperative_launch",
]


class MemoryInfo(NamedTuple):
    """Bytes of memory."""

    free: int
    total: int


class Device:
    """The pretended device.

    Parameters
    ----------
    number : int
        Its place among the devices: 0.
    """

    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X = 1024
    MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = 2**31 - 1
    MAX_GRID_DIM_Y = 65535
    MAX_GRID_DIM_Z = 65535
    MAX_SHARED_MEMORY_PER_BLOCK = MOST_SHARED_BYTES
    WARP_SIZE = 32
    MULTIPROCESSOR_COUNT = 1
    COOPERATIVE_LAUNCH = 1
    UNIFIED_ADDRESSING = 1

    def __init__(self, number: int = 0) -> None:
        self.id = number
        self.name = "kapi_sim"
        self.compute_capability = (9, 0)
        self.uuid = f"GPU-{uuid.UUID(int=number)}"
        self.supports_float16 = True
        self.supports_bfloat16 = False

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *args: object) -> None:
        return None

    def get_primary_context(self) -> Context:
        """Return the device's context."""
        return _context

    def reset(self) -> None:
        """Wait for all work; arrays live as long as they are held."""
        synchronize()

    def get_device_identity(self) -> dict[str, int]:
        """Return where the device is found among those of the host."""
        return {"pci_domain_id": 0, "pci_bus_id": 0, "pci_device_id": 0}

    def __str__(self) -> str:
        return f"<{self.name} (the simulator)>"


class Deallocations:
    """The memory that is to be given back later: none, for here arrays live as long as they are held."""

    def clear(self) -> None:
        """Do nothing: nothing is pending."""

    @contextmanager
    def disable(self) -> Iterator[None]:
        """Do nothing for the ``with`` block."""
        yield

    @property
    def is_disabled(self) -> bool:
        """Whether memory is held back: never."""
        return False

    def __len__(self) -> int:
        return 0


class Context:
    """The context of the pretended device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.deallocations = Deallocations()

    def synchronize(self) -> None:
        """Wait for all work."""
        synchronize()

    def get_memory_info(self) -> MemoryInfo:
        """Return how much memory is free, which the simulator does not count."""
        return MemoryInfo(2**40, 2**40)

    def push(self) -> None:
        """Make the context current."""

    def pop(self) -> None:
        """Go back to the context before."""

    def reset(self) -> None:
        """Wait for all work; arrays live as long as they are held."""
        synchronize()

    def create_stream(self) -> Stream:
        """Return a new stream."""
        return stream()

    def get_default_stream(self) -> Stream:
        """Return the default stream."""
        return default_stream()

    def get_legacy_default_stream(self) -> Stream:
        """Return the legacy default stream."""
        return legacy_default_stream()

    def get_per_thread_default_stream(self) -> Stream:
        """Return the default stream of the calling thread."""
        return per_thread_default_stream()

    def create_external_stream(self, ptr: int) -> Stream:
        """Return a stream that another library made."""
        return external_stream(ptr)

    def create_event(self, timing: bool = True) -> Event:
        """Return a new event."""
        return event(timing)

    def can_access_peer(self, peer_context: object) -> bool:
        """Return whether the memory of another device can be reached: there is none."""
        return False

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Do nothing for the ``with`` block: there is no cleanup."""
        yield

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *args: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return _of_driver("current_context()", name, _OF_CONTEXTS)


_OF_CONTEXTS = (
    *(
        "allocations",
        "create_module_image",
        "create_module_ptx",
        "enable_peer_access",
        "get_active_blocks_per_multiprocessor",
    ),
    *("get_ipc_handle", "get_max_potential_block_size", "handle", "memalloc", "memallocmanaged", "memhostalloc"),
    *("memory_manager", "mempin", "modules", "open_ipc_handle", "prepare_for_use", "unload_module"),
)
"""The part of a numba.cuda context that is of its driver."""


def _of_driver(owner: str, name: str, known: tuple[str, ...]) -> Refused:
    if name not in known:
        raise AttributeError(f"cuda.{owner} has no attribute {name!r}")
    return Refused(f"{owner}.{name}", "the simulator has no driver below it")


class _Devices:
    """``cuda.gpus``: a list of one device."""

    lst = (Device(0),)

    @property
    def current(self) -> Device:
        """The current device."""
        return _device

    def __getitem__(self, index: int) -> Device:
        return self.lst[index]

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __str__(self) -> str:
        return ", ".join(map(str, self.lst))


gpus = _Devices()
_device = gpus.lst[0]
_context = Context(_device)


def list_devices() -> _Devices:
    """Return the devices."""
    return gpus


def get_current_device() -> Device:
    """Return the current device."""
    return _device


def current_context(devnum: int | None = None) -> Context:
    """Return the context of a device, the current one if none is given."""
    if devnum not in (None, 0):
        raise KernelLaunchError(
            f"devnum must be 0, the only device of the simulator, got {devnum}", code="device-unknown"
        )
    return _context


def select_device(device_id: int) -> Device:
    """Make a device current, and return it."""
    if device_id != 0:
        raise KernelLaunchError(
            f"device_id must be 0, the only device of the simulator, got {device_id}", code="device-unknown"
        )
    return _device


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, called with a device current."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return called


def is_available() -> bool:
    """Return whether there is a device: the simulator's is always there."""
    return True


def is_supported_version() -> bool:
    """Return whether the toolkit is supported: the simulator needs none."""
    return True


def is_float16_supported() -> bool:
    """Return whether the device computes in float16."""
    return True


def is_bfloat16_supported() -> bool:
    """Return whether the device computes in bfloat16: NumPy has no such type."""
    return False


def supports_cooperative_launch() -> bool:
    """Return whether a grid may wait for all of its threads."""
    return True


def cuda_error() -> None:
    """Return why there is no CUDA: None, for nothing failed."""
    return


def get_supported_ccs() -> tuple[tuple[int, int], ...]:
    """Return the compute capabilities: that of the pretended device."""
    return (_device.compute_capability,)


def detect() -> bool:
    """Print the devices, and return whether there are any."""
    print("Found 1 CUDA devices\nid 0    b'kapi_sim'    [SUPPORTED]: the simulator of kapi_sim.numba_cuda")
    return True


def close() -> None:
    """Do nothing: there is nothing to close."""


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing for the ``with`` block: there is no cleanup."""
    yield


def profile_start() -> None:
    """Do nothing: profilers of CUDA see no simulator; `kapi_sim.trace` counts what kernels do."""


def profile_stop() -> None:
    """Do nothing, as `profile_start`."""


@contextmanager
def profiling() -> Iterator[None]:
    """Do nothing for the ``with`` block, as `profile_start`."""
    yield
