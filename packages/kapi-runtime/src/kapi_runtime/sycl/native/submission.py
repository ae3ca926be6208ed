"""Builtin functions that pack and submit a launch in well under a microsecond of their own, made by LLVM at run time.

Nothing is built or shipped for it: llvmlite, which the compiler needs anyway, compiles `submission_code` for this
processor, and CPython makes builtin functions of the result.  Importing llvmlite takes longer than many launches, so
that a process that gets its kernels from the cache does without until it has launched often.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import dpctl
from dpctl import _sycl_event

from kapi_runtime.platform.whole import done_whole
from kapi_runtime.sycl.native.submission_code import submission_code

__all__ = ["ADD_EVENTS", "DONE", "GET_EVENTS", "Submission", "submission"]

DONE = dpctl.SyclEvent()
"""The host's part of a launch, as dpctl's bookkeeping sees it: over at once, as `keep_alive` holds the arguments."""

GET_EVENTS, ADD_EVENTS = "get_submitted_events", "add_to_both_events"
"""Methods of the native keeper of the events in dpctl's order manager of a queue."""

_LAUNCHES_WITHOUT = 100
_FASTCALL = 0x80
_PYTHON = (
    "PyBool_FromLong",
    "PyGC_Disable",
    "PyGC_Enable",
    "PyFloat_AsDouble",
    "PyList_Append",
    "PyList_GetItem",
    "PyList_SetItem",
    "PyList_Size",
    "PyLong_AsLong",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_AsVoidPtr",
    "PyObject_VectorcallMethod",
    "PyTuple_GetItem",
    "PyTuple_Pack",
    "PyTuple_Size",
    "PyType_GenericAlloc",
    "Py_DecRef",
    "Py_IncRef",
)
_DPCTL = (
    "DPCTLEvent_Delete",
    "DPCTLQueue_AreEq",
    "DPCTLQueue_SubmitNDRange",
    "DPCTLQueue_SubmitRange",
    "DPCTLRawKernelArg_Create",
    "DPCTLRawKernelArg_Delete",
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
        device event, or None if the arguments are not the plan's or the driver refuses.  The chain holds `owners`
        until they are let go.
    pack : callable
        ``pack(plan, arguments)``: packs, and says whether the arguments are the plan's.
    send : callable
        ``send(plan, owners, chain, more_events)``: submits what was packed.
    """

    hand_over: Callable[[list[Any]], None]
    launch: Callable[[int, tuple[Any, ...], Any, list[Any], list[Any]], Any]
    pack: Callable[[int, tuple[Any, ...]], bool]
    send: Callable[[int, Any, list[Any], list[Any]], Any]


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_lock = threading.Lock()
_made: list[Submission | None] = []
_kept: list[Any] = []
_asked = 0


def submission(at_once: bool = False) -> Submission | None:
    """Return the functions, or None where they cannot be had, or are not worth their cost yet.

    Parameters
    ----------
    at_once : bool
        Whether to make them whatever it costs.
    """
    global _asked
    if _made:
        return _made[0]
    _asked += 1
    if not at_once and "llvmlite.binding" not in sys.modules and _asked <= _LAUNCHES_WITHOUT:
        return None
    return done_whole(_made_once)


def _made_once() -> Submission | None:
    with _lock:
        if not _made:
            _made.append(_make() if _is_as_known() else None)
    return _made[0]


def _is_as_known() -> bool:
    """Whether objects of this interpreter and of dpctl begin as the code expects."""
    event, queue = dpctl.SyclEvent(), None
    try:
        queue = dpctl.SyclQueue()
    except dpctl.SyclQueueCreationError:
        return False
    return (
        platform.python_implementation() == "CPython"
        and object.__basicsize__ == 2 * ctypes.sizeof(ctypes.c_void_p) == 16
        and ctypes.c_size_t.from_address(id(event) + 8).value == id(type(event))
        and ctypes.c_size_t.from_address(id(event) + 16).value == event.addressof_ref()
        and ctypes.c_size_t.from_address(id(queue) + 16).value == queue.addressof_ref()
        and _have_identities(queue)
    )


def _have_identities(queue: Any) -> bool:
    """Whether copies of an event begin with the same word, and other events with others."""
    first, second = queue.submit_barrier(), queue.submit_barrier()
    events = (first, dpctl.SyclEvent(first._get_capsule()), second)
    words = [ctypes.c_size_t.from_address(event.addressof_ref()).value for event in events]
    return words[0] == words[1] != words[2]


def _make() -> Submission | None:
    library = _library()
    if library is None:
        return None
    addresses = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON}
    addresses |= {name: _address(getattr(library, name)) for name in _DPCTL}
    addresses["SyclEvent_Make"] = _capsule_pointer(_sycl_event.__pyx_capi__["SyclEvent_Make"])
    objects = {"NONE": None, "DONE": DONE, "GET_EVENTS": GET_EVENTS, "ADD_EVENTS": ADD_EVENTS}
    llvm = import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(submission_code(addresses, {name: id(value) for name, value in objects.items()}))
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _kept.append(engine)
    return Submission(
        *(_builtin(name, engine.get_function_address(name)) for name in ("hand_over", "launch", "pack", "send"))
    )


def _library() -> Any:
    """Return dpctl's C interface, of which this process has loaded one already."""
    folder = Path(dpctl.__file__).parent
    for name in ("libDPCTLSyclInterface.so", "DPCTLSyclInterface.dll"):
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name))
    return None


def _builtin(name: str, address: int) -> Any:
    definition = _MethodDefinition(name.encode(), address, _FASTCALL, None)
    _kept.append(definition)
    make = _python("PyCFunction_NewEx", ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return make(ctypes.addressof(definition), None, None)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _capsule_pointer(capsule: Any) -> int:
    name = _python("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)(capsule)
    return int(_python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(capsule, name) or 0)


def _python(name: str, result: Any, *parameters: Any) -> Any:
    """A function of Python's C interface, as an object of our own: others set the types of the shared one."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))
