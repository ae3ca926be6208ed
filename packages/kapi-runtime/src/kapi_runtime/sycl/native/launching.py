"""Native code: a launch whose arguments are packed is submitted, and remembered; the functions that Python calls.

Two threads never pack into one plan, or go on with one chain, at the same time: the GIL is held all along.
"""

from __future__ import annotations

from typing import Any

from kapi_runtime.native.language import address, at, c_function, int32, native, shared, words
from kapi_runtime.sycl.native.dependencies import (
    Py_DecRef,
    Py_IncRef,
    PyGC_Disable,
    PyList_GetItem,
    PyList_SetItem,
    collect,
    collect_garbage_again,
    dependencies,
    hand_over,
    none,
)
from kapi_runtime.sycl.native.packing import match_and_pack, world_at
from kapi_runtime.sycl.native.structures import KEPT, LAST, MAX_EVENTS, SyclLaunch

__all__ = ["ENTRY_POINTS", "SOURCES"]

launch_at = at(SyclLaunch)

PyBool_FromLong = c_function("PyBool_FromLong", address, address)
PyLong_AsVoidPtr = c_function("PyLong_AsVoidPtr", address, address)
PyList_Append = c_function("PyList_Append", int32, address, address)
PyTuple_New = c_function("PyTuple_New", address, address)
PyTuple_SetItem = c_function("PyTuple_SetItem", int32, address, address, address)
PyErr_NoMemory = c_function("PyErr_NoMemory", address)
PyType_GenericAlloc = c_function("PyType_GenericAlloc", address, address, address)
SyclEvent_GetEventRef = c_function("SyclEvent_GetEventRef", address, address)
SyclEvent_Make = c_function("SyclEvent_Make", address, address)
DPCTLEvent_Copy = c_function("DPCTLEvent_Copy", address, address)
DPCTLEvent_Delete = c_function("DPCTLEvent_Delete", int32, address)
DPCTLQueue_SubmitRange = c_function("DPCTLQueue_SubmitRange", address, *[address] * 9)
DPCTLQueue_SubmitNDRange = c_function("DPCTLQueue_SubmitNDRange", address, *[address] * 10)
DPCTLRawKernelArg_Create = c_function("DPCTLRawKernelArg_Create", address, address, address)
DPCTLRawKernelArg_Delete = c_function("DPCTLRawKernelArg_Delete", int32, address)


@native
def launch(self: Any, arguments: Any, _: Any) -> Any:
    """``launch(plan, arguments, owners, chain, more_events)``: the host's event and the device's.

    None if the arguments are not the plan's; False if there is too much to wait for, or the driver refuses.
    """
    world, given = world_at(shared(self)), words(arguments)
    plan = launch_at(PyLong_AsVoidPtr(given[0]))
    if not match_and_pack(plan, given[1]):
        return none(world)
    return submitted(world, plan, given[2], given[3], given[4])


@native
def pack(_: Any, arguments: Any, __: Any) -> Any:
    """``pack(plan, arguments)``: whether the arguments are the plan's, in which case they are packed."""
    given = words(arguments)
    return PyBool_FromLong(match_and_pack(launch_at(PyLong_AsVoidPtr(given[0])), given[1]))


@native
def send(self: Any, arguments: Any, _: Any) -> Any:
    """``send(plan, owners, chain, more_events)``: as `launch`, with what was packed."""
    given = words(arguments)
    plan = launch_at(PyLong_AsVoidPtr(given[0]))
    return submitted(world_at(shared(self)), plan, given[1], given[2], given[3])


@native
def submitted(world: Any, plan: Any, owners: Any, chain: Any, more_events: Any) -> Any:
    """Submit what was packed, and return both events, False or null."""
    was_collecting = PyGC_Disable()
    event = ordered(world, plan, owners, chain, more_events)
    collect_garbage_again(was_collecting)
    if event == 0 or event == world.refused:
        return event
    host = host_event(plan, event)
    if host == 0:
        Py_DecRef(event)
        return 0
    return pair_of(host, event)


@native
def ordered(world: Any, plan: Any, owners: Any, chain: Any, more_events: Any) -> Any:
    """Submit after what the chain says and `more_events`, and become the chain's last launch, which keeps `owners`.

    Returns the device's event; False if the driver refuses, or there is too much to wait for; null after an exception.
    """
    count, events = dependencies(world, chain)
    if count < 0:
        return 0
    if count <= MAX_EVENTS:
        count = collect(world, count, more_events, 0)
    reference = 0
    if count <= MAX_EVENTS:
        reference = submission(world, plan, count)
    if events != 0:
        Py_DecRef(events)
    if reference == 0:
        Py_IncRef(world.refused)
        return world.refused
    event = SyclEvent_Make(reference)
    DPCTLEvent_Delete(reference)
    if event == 0 or not is_remembered(chain, event, owners):
        # There is no memory to remember the launch in: what it uses is never let go.
        Py_IncRef(owners)
        return 0
    return event


@native
def submission(world: Any, plan: Any, count: Any) -> Any:
    """Submit after so many events; returns dpctl's reference to the event, or null."""
    raw = DPCTLRawKernelArg_Create(plan.packed, plan.packed_size)  # copied here, and by SYCL when it is submitted
    words(plan.values)[0] = raw
    if plan.local_range == 0:
        reference = DPCTLQueue_SubmitRange(
            plan.kernel,
            plan.queue,
            plan.values,
            plan.value_types,
            plan.value_count,
            plan.global_range,
            plan.dimensions,
            world.references,
            count,
        )
    else:
        reference = DPCTLQueue_SubmitNDRange(
            plan.kernel,
            plan.queue,
            plan.values,
            plan.value_types,
            plan.value_count,
            plan.global_range,
            plan.local_range,
            plan.dimensions,
            world.references,
            count,
        )
    DPCTLRawKernelArg_Delete(raw)
    return reference


@native
def is_remembered(chain: Any, event: Any, owners: Any) -> Any:
    """Make a launch the chain's last one; False if there is no memory for that."""
    Py_IncRef(event)
    PyList_SetItem(chain, LAST, event)
    Py_IncRef(event)
    Py_IncRef(owners)
    kept = pair_of(event, owners)
    if kept == 0:
        Py_DecRef(event)
        return False
    is_kept = PyList_Append(PyList_GetItem(chain, KEPT), kept) == 0
    Py_DecRef(kept)
    if not is_kept:
        Py_DecRef(event)
    return is_kept


@native
def host_event(plan: Any, event: Any) -> Any:
    """A `HostEvent` of a device's event, or null."""
    reference = DPCTLEvent_Copy(SyclEvent_GetEventRef(event))
    if reference == 0:
        PyErr_NoMemory()
        return 0
    host = PyType_GenericAlloc(plan.host_event, 0)
    if host == 0:
        DPCTLEvent_Delete(reference)
    else:
        words(host + plan.methods_offset)[0] = words(event + plan.methods_offset)[0]
        words(host + plan.reference_offset)[0] = reference
        Py_IncRef(event)
        Py_IncRef(plan.release)
        Py_IncRef(plan.pace)
        words(host + plan.event_offset)[0] = event
        words(host + plan.release_offset)[0] = plan.release
        words(host + plan.pace_offset)[0] = plan.pace
    return host


@native
def pair_of(first: Any, second: Any) -> Any:
    """A tuple of two objects, whose references it takes; or null."""
    pair = PyTuple_New(2)
    if pair == 0:
        Py_DecRef(first)
        Py_DecRef(second)
        return 0
    PyTuple_SetItem(pair, 0, first)
    PyTuple_SetItem(pair, 1, second)
    return pair


ENTRY_POINTS = (hand_over, launch, pack, send)

SOURCES = (
    "kapi_runtime.sycl.native.dependencies",
    "kapi_runtime.sycl.native.packing",
    "kapi_runtime.sycl.native.structures",
    "kapi_sim.language.array_memory",
    "kapi_types.usm.structures",
)
