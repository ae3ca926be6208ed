"""Compute follows data: the device and the stream of a launch's arrays run it.

Arrays of CUDA carry no queue.  A launch goes to the current stream of the first array's library; where the others'
libraries have another one, an event orders the two, before the launch and after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapi_runtime.cuda.devices.device import CudaDevice, device_at
from kapi_runtime.cuda.memory.arrays import Owner
from kapi_runtime.cuda.queues.queue import CudaQueue, describe_queue
from kapi_runtime.platform.handles import describe_device
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["execution_queue"]


def execution_queue(kernel: str, arrays: Sequence[tuple[str, ArrayFields]], otherwise: CudaDevice) -> CudaQueue:
    """Return the queue of a launch, with the other streams of its arrays; see `ArrayReader.queue_of`.

    A launch whose arrays have no elements, and tell no device, goes to the device `otherwise`.
    """
    owners: list[tuple[str, Owner]] = [(name, fields.owner) for name, fields in arrays]
    device = _device(kernel, owners, otherwise)
    streams = [(name, owner, owner.stream(device.ordinal)) for name, owner in owners]
    explicit = [(name, stream) for name, owner, stream in streams if owner.is_explicit]
    for name, stream in explicit[1:]:
        first, of_first = explicit[0]
        if stream.handle != of_first.handle:
            raise placement_error(
                f"arguments `{first}` and `{name}` of kernel `{kernel}` must share one queue, got\n"
                f"  `{first}` on {describe_queue(CudaQueue(device, of_first))}\n"
                f"  `{name}` on {describe_queue(CudaQueue(device, stream))}\n"
                f"Copy one: `{name} = kapi.memory.asarray({name}, queue={first}.queue, copy=True)`",
                "different-queues",
            )
    chosen = explicit[0][1] if explicit else streams[0][2]
    others = {stream.handle: stream for _, _, stream in streams if stream.handle != chosen.handle}
    return CudaQueue(device, chosen, tuple(others.values()))


def _device(kernel: str, owners: Sequence[tuple[str, Owner]], otherwise: CudaDevice) -> CudaDevice:
    placed = [(name, owner.ordinal) for name, owner in owners if owner.ordinal is not None]
    if not placed:
        return otherwise
    first, ordinal = placed[0]
    for name, other in placed[1:]:
        if other != ordinal:
            raise placement_error(
                f"arguments `{first}` and `{name}` of kernel `{kernel}` must be on one device, got\n"
                f"  `{first}` on {describe_device(device_at(ordinal))}\n"
                f"  `{name}` on {describe_device(device_at(other))}\n"
                f"Copy one: `{name} = kapi.memory.asarray({name}, queue={ordinal_call(ordinal)}, copy=True)`",
                "different-queues",
            )
    return device_at(ordinal)


def ordinal_call(ordinal: int) -> str:
    """Return the call that gives the default queue of a device, as source text for messages."""
    return f"kapi.default_queue('cuda:{ordinal}')"
