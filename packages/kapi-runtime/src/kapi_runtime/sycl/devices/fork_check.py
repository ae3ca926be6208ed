"""A process that was forked from one that used a device: there the SYCL runtime waits for threads that were not copied.

Whatever asks a device would hang, without a word and for ever.  So the child is told instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from kapi_runtime.sycl.devices import drivers
from kapi_sim.errors import ForkError
from kapi_sim.forks import in_children

__all__ = ["require_no_fork"]

_DRIVERS = ("libintelocl", "libur_adapter_level_zero", "libigdrcl", "libze_intel_gpu", "libur_", "libumf")

_has_forked = False


def require_no_fork() -> None:
    """Raise ForkError in a process that was forked after a device was used."""
    if _has_forked:
        raise ForkError(
            f"devices must be used by the process that started their runtime, got process {os.getpid()}, forked from "
            "one that had used a device: start processes by spawning, as `multiprocessing.get_context('spawn')` and "
            "concurrent.futures' `mp_context=` do, or fork before the first array or device is touched",
            code="forked-process",
        )


def _after_fork_in_child() -> None:
    global _has_forked
    if "dpctl" in sys.modules and any(drivers.loaded_libraries(name) for name in _DRIVERS):
        _has_forked = True
        _end_without_the_runtime()


def _end_without_the_runtime() -> None:
    """Let the child's exit pass over what waits for the missing threads.

    dpctl waits for its events, and the libraries of the runtime for their threads when they are unloaded.
    """
    finalizer: Any = getattr(sys.modules.get("dpctl.utils._order_manager"), "f", None)
    if hasattr(finalizer, "detach"):
        finalizer.detach()
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):  # what is registered last is called first
        library.on_exit(library._exit, None)


in_children(_after_fork_in_child)
