"""The native functions of a launch, and whether they can be had in this process."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpctl
from dpctl import _sycl_event
from dpctl.memory import _memory

from kapi_runtime.native.loading import UnlikeError, address_of, capsule_address, load, python_function
from kapi_runtime.sycl.native.structures import MAX_EVENTS, World
from kapi_sim.forks import reinit_after_fork

__all__ = ["ADD_EVENTS", "DONE", "GET_EVENTS", "NativeFunctions", "native_functions", "why_not"]

DONE = dpctl.SyclEvent()
"""The host's part of a launch, as dpctl's bookkeeping sees it: over at once, as `keep_alive` holds the arguments."""

GET_EVENTS, ADD_EVENTS = "get_submitted_events", "add_to_both_events"
"""Methods of the native keeper of the events in dpctl's order manager of a queue."""

_MODULE = "kapi_runtime.sycl.native.launching"
_LIBRARIES = ("libDPCTLSyclInterface.so", "DPCTLSyclInterface.dll")
_PUBLISHERS = (_memory, _sycl_event)
"""Modules of dpctl's that publish C functions."""


@dataclass(frozen=True, slots=True)
class NativeFunctions:
    """The functions.

    - `hand_over`: ``hand_over(chain)``: tells dpctl of the last launch of a chain (see `chain`), if it does not know of
      it.
    - `launch`: ``launch(plan, arguments, owners, chain, more_events)``: packs and submits; gives the host event and the
      device event, None if the arguments are not the plan's, or False if there is too much to wait for or the driver
      refuses.  The chain holds `owners` until they are let go.
    - `pack`: ``pack(plan, arguments)``: packs, and says whether the arguments are the plan's.
    - `send`: ``send(plan, owners, chain, more_events)``: submits what was packed, and answers as `launch`.
    - `world`: address of what they share.
    """

    hand_over: Callable[[list[Any]], None]
    launch: Callable[[int, tuple[Any, ...], Any, list[Any], list[Any]], Any]
    pack: Callable[[int, tuple[Any, ...]], bool]
    send: Callable[[int, Any, list[Any], list[Any]], Any]
    world: int


_lock = reinit_after_fork(threading.Lock())
_made: list[NativeFunctions | None] = []
_reason = ""
_kept: list[Any] = []


def native_functions() -> NativeFunctions | None:
    """Return the functions, or None where they cannot be had."""
    return _made[0] if _made else _made_once()


def why_not() -> str:
    """Return why launches take the slow path; an empty text if they take the native one."""
    native_functions()
    return _reason


def _made_once() -> NativeFunctions | None:
    global _reason
    with _lock:
        if not _made:
            _reason = ""
            try:
                _made.append(_make())
            except Exception as error:  # whatever it is, the slow path gives the same results
                _reason = str(error) if isinstance(error, UnlikeError) else f"{type(error).__name__}: {error}"
                _made.append(None)
    return _made[0]


def _require_known() -> None:
    """Raise unless dpctl's events are as the code expects."""
    try:
        queue = dpctl.SyclQueue()
    except dpctl.SyclQueueCreationError as error:
        raise UnlikeError("SYCL must have a default queue, got none") from error
    if not _have_identities(queue):
        raise UnlikeError("copies of an event of SYCL's must begin with the same word, and other events with others")


def _have_identities(queue: Any) -> bool:
    """Whether copies of an event begin with the same word, and other events with others."""
    first, second = queue.submit_barrier(), queue.submit_barrier()
    events = (first, dpctl.SyclEvent(first._get_capsule()), second)
    words = [ctypes.c_size_t.from_address(event.addressof_ref()).value for event in events]
    return words[0] == words[1] != words[2]


def _make() -> NativeFunctions:
    _require_known()
    references = (ctypes.c_void_p * MAX_EVENTS)()
    call, overflow = (ctypes.c_void_p * 3)(), (ctypes.c_ssize_t * 1)()
    world = World(
        none=id(None),
        refused=id(False),
        done=id(DONE),
        get_events=id(GET_EVENTS),
        add_events=id(ADD_EVENTS),
        references=ctypes.addressof(references),
        call=ctypes.addressof(call),
        overflow=ctypes.addressof(overflow),
    )
    address = ctypes.addressof(world)
    hand_over, launch, pack, send = load(
        _MODULE, ("hand_over", "launch", "pack", "send"), _address_of_function, address
    )
    _kept.extend((references, call, overflow, world))
    return NativeFunctions(hand_over, launch, pack, send, address)


def _address_of_function(name: str) -> int:
    """The address of a C function: Python's, one of dpctl's library, or one that its modules publish."""
    if name.startswith("Py"):
        return python_function(name)
    if name.startswith("DPCTL"):
        try:
            return address_of(getattr(_interface(), name))
        except AttributeError:
            raise UnlikeError(f"dpctl must have the C function {name}, got {dpctl.__version__} without it") from None
    for module in _PUBLISHERS:
        capsule = getattr(module, "__pyx_capi__", {}).get(name)
        if capsule is not None:
            return capsule_address(capsule)
    raise UnlikeError(f"dpctl must publish the function {name}, got {dpctl.__version__} without it")


@functools.cache
def _interface() -> Any:
    """Return dpctl's C interface, of which this process has loaded one already."""
    folder = Path(dpctl.__file__).parent
    for name in _LIBRARIES:
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name))
    raise UnlikeError(f"dpctl must have one of the libraries {', '.join(_LIBRARIES)}, got {folder} without them")
