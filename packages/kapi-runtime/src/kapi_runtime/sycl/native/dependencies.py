"""Native code: a launch is ordered with all other work on its queue, by the queue's chain (see `chain`)."""

from __future__ import annotations

from typing import Any

from kapi_runtime.native.language import address, c_function, int32, native, shared, words
from kapi_runtime.sycl.native.packing import world_at
from kapi_runtime.sycl.native.structures import HANDED_OVER, KEEPER, LAST, MAX_EVENTS

__all__ = ["collect", "collect_garbage_again", "dependencies", "hand_over", "none"]

PyList_GetItem = c_function("PyList_GetItem", address, address, address)
PyList_SetItem = c_function("PyList_SetItem", int32, address, address, address)
PyList_Size = c_function("PyList_Size", address, address)
PyObject_VectorcallMethod = c_function("PyObject_VectorcallMethod", address, address, address, address, address)
PyGC_Disable = c_function("PyGC_Disable", int32)
PyGC_Enable = c_function("PyGC_Enable", int32)
Py_IncRef = c_function("Py_IncRef", int32, address)
Py_DecRef = c_function("Py_DecRef", int32, address)
SyclEvent_GetEventRef = c_function("SyclEvent_GetEventRef", address, address)


@native
def dependencies(world: Any, chain: Any) -> Any:
    """Store the events that a launch must wait for; return their number and a list that keeps them alive, or 0.

    The last launch of the chain waited for all before it.  If dpctl does not know of it, nobody has added anything
    since.  Both are -1 and 0 after an exception.
    """
    last = PyList_GetItem(chain, LAST)
    if last != PyList_GetItem(chain, HANDED_OVER):
        words(world.references)[0] = SyclEvent_GetEventRef(last)
        return 1, 0
    words(world.call)[0] = PyList_GetItem(chain, KEEPER)
    events = PyObject_VectorcallMethod(world.get_events, world.call, 1, 0)
    if events == 0:
        return -1, 0
    return collect(world, 0, events, first_that_counts(events, last)), events


@native
def collect(world: Any, count: Any, events: Any, start: Any) -> Any:
    """Store the references of events, those from `start` on, behind the first `count`; returns how many there are."""
    references = words(world.references)
    more = PyList_Size(events) - start
    if count + more <= MAX_EVENTS:
        for index in range(more):
            references[count + index] = SyclEvent_GetEventRef(PyList_GetItem(events, start + index))
    return count + more


@native
def first_that_counts(events: Any, last: Any) -> Any:
    """Index of the last launch's event in a list of events, or 0: that launch waited for all before it."""
    index = PyList_Size(events) - 1
    while index > 0 and identity(PyList_GetItem(events, index)) != identity(last):
        index -= 1
    return max(index, 0)


@native
def identity(event: Any) -> Any:
    """Identity of an event, equal for copies of it: the address of what they share, their first word."""
    return words(SyclEvent_GetEventRef(event))[0]


@native
def hand_over(self: Any, arguments: Any, _: Any) -> Any:
    """``hand_over(chain)`` tells dpctl of the chain's last launch, if it does not know of it."""
    world, chain = world_at(shared(self)), words(arguments)[0]
    last = PyList_GetItem(chain, LAST)
    if last != PyList_GetItem(chain, HANDED_OVER):
        call = words(world.call)
        call[0] = PyList_GetItem(chain, KEEPER)
        call[1] = world.done
        call[2] = last
        was_collecting = PyGC_Disable()
        added = PyObject_VectorcallMethod(world.add_events, world.call, 3, 0)
        collect_garbage_again(was_collecting)
        if added == 0:
            return 0
        Py_DecRef(added)
        Py_IncRef(last)
        PyList_SetItem(chain, HANDED_OVER, last)
    return none(world)


@native
def collect_garbage_again(was_collecting: Any) -> Any:
    """Turn the garbage collector on, if it was.

    While a chain is read and changed it is off: what it destroys may run Python, and so let another thread launch in
    between.
    """
    if was_collecting != 0:
        PyGC_Enable()


@native
def none(world: Any) -> Any:
    """A reference to None."""
    Py_IncRef(world.none)
    return world.none
