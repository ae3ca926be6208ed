"""Compute follows data: the queue that all array arguments share is the queue that runs the kernel.

Nothing is copied behind the caller's back.  Arguments on different devices, on different queues of one
device, or on no device at all are an error that names them and the call that mends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kapi_runtime.platform.placement_errors import placement_error
from kapi_runtime.sycl.memory.usm_array import copy_call
from kapi_runtime.sycl.queues.queue import describe_queue, queue_of
from kapi_sim.short_repr import short_repr

__all__ = ["execution_queue"]


def execution_queue(kernel: str, owners: Sequence[tuple[str, Any]]) -> Any:
    """Return the one queue on which all arrays of a launch live; see `ArrayReader.queue_of`.

    - `kernel`: name of the kernel, for messages.
    - `owners`: name of each array argument, and the ``syclobj`` of its USM array protocol.
    """
    if not owners:
        raise placement_error(
            f"arguments of kernel `{kernel}` must hold a USM array, whose queue runs the kernel, got none: "
            f"pass one, such as `{copy_call('values')}`",
            code="no-array",
        )
    first, owner = owners[0]
    queue = _queue(kernel, first, owner)
    for name, other in owners[1:]:
        if other is owner:
            continue
        another = _queue(kernel, name, other)
        if another != queue:
            raise placement_error(
                f"arguments `{first}` and `{name}` of kernel `{kernel}` must share one queue, got\n"
                f"  `{first}` on {describe_queue(queue)}\n"
                f"  `{name}` on {describe_queue(another)}\n"
                # dpnp 0.20 copies between queues without waiting for the queue that it copies from.
                f"Copy one, after the work that fills it: "
                f"`{name}.sycl_queue.wait(); {name} = {name}.to_device({first}.sycl_queue)`",
                code="different-queues",
            )
    return queue


def _queue(kernel: str, name: str, owner: Any) -> Any:
    queue = queue_of(owner)
    if queue is None:
        raise placement_error(
            f"argument `{name}` of kernel `{kernel}` must name its queue, got {short_repr(owner)} as syclobj of its "
            f"__sycl_usm_array_interface__: make it with a queue, as `{copy_call(name, 'queue')}` does",
            code="array-without-queue",
        )
    return queue
