"""The native functions of a launch, and whether they can be had in this process.

They are compiled once on a machine, and taken from the disk cache by later processes.  Either takes longer than many
launches, so that a process does without until it has launched often, unless what it takes is there already.
"""

from __future__ import annotations

import ctypes
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpctl
from dpctl import _sycl_event
from dpctl.memory import _memory

from kapi_runtime.native.loading import NativeLibrary, Worth, address_of, capsule_address, python_addresses
from kapi_runtime.platform.whole import done_whole
from kapi_runtime.sycl.native.structures import MAX_EVENTS, World
from kapi_sim.forks import free_in_children
from kapi_sim.language.usm_structures import Object

__all__ = ["ADD_EVENTS", "DONE", "GET_EVENTS", "Submission", "submission", "why_not"]

DONE = dpctl.SyclEvent()
"""The host's part of a launch, as dpctl's bookkeeping sees it: over at once, as `keep_alive` holds the arguments."""

GET_EVENTS, ADD_EVENTS = "get_submitted_events", "add_to_both_events"
"""Methods of the native keeper of the events in dpctl's order manager of a queue."""

_MODULE = "kapi_runtime.sycl.native.launching"
_SOURCES = (
    "kapi_runtime.sycl.native.structures",
    "kapi_runtime.sycl.native.packing",
    "kapi_runtime.sycl.native.ordering",
    "kapi_sim.language.usm_fields",
    "kapi_sim.language.usm_structures",
)
_PYTHON = (
    "PyBool_FromLong",
    "PyErr_NoMemory",
    "PyFloat_AsDouble",
    "PyGC_Disable",
    "PyGC_Enable",
    "PyList_Append",
    "PyList_GetItem",
    "PyList_SetItem",
    "PyList_Size",
    "PyLong_AsLong",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_AsVoidPtr",
    "PyObject_VectorcallMethod",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyTuple_Size",
    "PyType_GenericAlloc",
    "Py_DecRef",
    "Py_IncRef",
)
_DPCTL = (
    "DPCTLEvent_Copy",
    "DPCTLEvent_Delete",
    "DPCTLQueue_AreEq",
    "DPCTLQueue_SubmitNDRange",
    "DPCTLQueue_SubmitRange",
    "DPCTLRawKernelArg_Create",
    "DPCTLRawKernelArg_Delete",
)
_LIBRARIES = ("libDPCTLSyclInterface.so", "DPCTLSyclInterface.dll")
_PUBLISHED = (
    (_memory, "Memory_GetQueueRef"),
    (_sycl_event, "SyclEvent_GetEventRef"),
    (_sycl_event, "SyclEvent_Make"),
)


@dataclass(frozen=True, slots=True)
class Submission:
    """The functions.

    Attributes
    ----------
    hand_over : callable
        ``hand_over(chain)``: tells dpctl of the last launch of a chain (see `chain`), if it does not know of it.
    launch : callable
        ``launch(plan, arguments, owners, chain, more_events)``: packs and submits; gives the host event and the
        device event, None if the arguments are not the plan's, or False if there is too much to wait for or the driver
        refuses.  The chain holds `owners` until they are let go.
    pack : callable
        ``pack(plan, arguments)``: packs, and says whether the arguments are the plan's.
    send : callable
        ``send(plan, owners, chain, more_events)``: submits what was packed, and answers as `launch`.
    world : int
        Address of what they share.
    """

    hand_over: Callable[[list[Any]], None]
    launch: Callable[[int, tuple[Any, ...], Any, list[Any], list[Any]], Any]
    pack: Callable[[int, tuple[Any, ...]], bool]
    send: Callable[[int, Any, list[Any], list[Any]], Any]
    world: int


class UnlikeError(Exception):
    """Something is not what native code takes it for; the message says what."""


_lock = free_in_children(threading.Lock())
_made: list[Submission | None] = []
_reason = ""
_kept: list[Any] = []


def submission(at_once: bool = False) -> Submission | None:
    """Return the functions, or None where they cannot be had, or are not worth their cost yet.

    Parameters
    ----------
    at_once : bool
        Whether to make them whatever it costs.
    """
    if _made:
        return _made[0]
    if not at_once and not _worth.is_worth_it():
        return None
    return done_whole(_made_once)


def why_not() -> str:
    """Return why launches go the plain way; an empty text if they go the native way, once there are enough of them.

    What is compiled or loaded for it is left alone: the checks before it are made.
    """
    if _made:
        return _reason
    try:
        _require_known()
        _library()
    except UnlikeError as error:
        return str(error)
    return ""


def _is_kept() -> bool:
    """Whether the disk cache has the code."""
    try:
        return _library().is_kept
    except UnlikeError:
        return True  # there is nothing to wait for


_worth = Worth(_is_kept)


def _made_once() -> Submission | None:
    global _reason
    with _lock:
        if not _made:
            try:
                _require_known()
                _made.append(_make())
            except Exception as error:  # whatever it is, the plain way gives the same results
                _reason = str(error) if isinstance(error, UnlikeError) else f"{type(error).__name__}: {error}"
                _made.append(None)
    return _made[0]


def _require_known() -> None:
    """Raise unless the objects of this interpreter and of dpctl begin as the code expects."""
    if platform.python_implementation() != "CPython":
        raise UnlikeError(f"Python must be CPython, got {platform.python_implementation()}")
    if not object.__basicsize__ == ctypes.sizeof(Object) == 16:
        raise UnlikeError(f"objects must begin with two words of 64 bits, got {object.__basicsize__} bytes")
    event = dpctl.SyclEvent()
    if Object.from_address(id(event)).type != id(type(event)):
        raise UnlikeError("the second word of an object must be its class, got another one")
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


def _make() -> Submission:
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
    library = _library()
    hand_over, launch, pack, send = library.load(("hand_over", "launch", "pack", "send"), address)
    _kept.extend((references, call, overflow, world, library))
    return Submission(hand_over, launch, pack, send, address)


def _library() -> NativeLibrary:
    functions = python_addresses(_PYTHON)
    interface = _interface()
    for name in _DPCTL:
        try:
            functions[name] = address_of(getattr(interface, name))
        except AttributeError:
            raise UnlikeError(f"dpctl must have the C function {name}, got {dpctl.__version__} without it") from None
    for module, name in _PUBLISHED:
        capsule = getattr(module, "__pyx_capi__", {}).get(name)
        if capsule is None:
            raise UnlikeError(f"dpctl must publish the function {name}, got {dpctl.__version__} without it")
        functions[name] = capsule_address(capsule)
    return NativeLibrary(_MODULE, _SOURCES, functions)


def _interface() -> Any:
    """Return dpctl's C interface, of which this process has loaded one already."""
    folder = Path(dpctl.__file__).parent
    for name in _LIBRARIES:
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name))
    raise UnlikeError(f"dpctl must have one of the libraries {', '.join(_LIBRARIES)}, got {folder} without them")
