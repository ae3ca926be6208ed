"""Memory layout of a plan, for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

import ctypes

__all__ = [
    "ARRAY",
    "BOOL",
    "FLOAT",
    "HANDED_OVER",
    "INT",
    "KEEPER",
    "KEPT",
    "LAST",
    "MAX_EVENTS",
    "NUMBER",
    "OTHER",
    "TUPLE",
    "WRAPPED_ARRAY",
    "SyclLaunch",
    "Pair",
    "Row",
    "World",
]

LAST, HANDED_OVER, KEEPER, KEPT = range(4)
"""Places in a chain, which is a list: see `chain`."""

MAX_EVENTS = 1024
"""Most events that one launch can wait for here."""

ARRAY, WRAPPED_ARRAY, INT, FLOAT, BOOL, NUMBER, OTHER, TUPLE = range(8)
"""Kinds of rows: dpnp's inner array, the array around it, Python's numbers, NumPy's, what is not packed, and tuples."""


class World(ctypes.Structure):
    """State that all launches of a process share."""

    _fields_ = (
        ("none", ctypes.c_void_p),  # the object None
        ("refused", ctypes.c_void_p),  # the object False
        ("done", ctypes.c_void_p),  # an event that is over
        ("get_events", ctypes.c_void_p),  # names of methods of dpctl's keeper of events
        ("add_events", ctypes.c_void_p),
        ("references", ctypes.c_void_p),  # room for those of the events that a launch waits for
        ("call", ctypes.c_void_p),  # room for the arguments of a method
        ("overflow", ctypes.c_void_p),  # room for what Python says of an integer that is too large
    )


class SyclLaunch(ctypes.Structure):
    """A launch that is ready but for its arguments."""

    _fields_ = (
        # what the arguments must be
        ("world", ctypes.c_void_p),
        ("given_count", ctypes.c_ssize_t),
        ("row_count", ctypes.c_ssize_t),
        ("rows", ctypes.c_void_p),
        ("holders", ctypes.c_void_p),  # room for the arguments, and for the tuple that each row is
        ("pair_count", ctypes.c_ssize_t),
        ("pairs", ctypes.c_void_p),
        # where it goes
        ("queue", ctypes.c_void_p),  # dpctl's references
        ("kernel", ctypes.c_void_p),
        # what is submitted
        ("packed", ctypes.c_void_p),
        ("packed_size", ctypes.c_ssize_t),
        ("values", ctypes.c_void_p),  # addresses: of the packed argument, and of local memory
        ("value_types", ctypes.c_void_p),
        ("value_count", ctypes.c_ssize_t),
        ("dimensions", ctypes.c_ssize_t),
        ("global_range", ctypes.c_void_p),
        ("local_range", ctypes.c_void_p),  # null where the driver chooses
        # the host's event: its class, and where it holds what
        ("host_event", ctypes.c_void_p),
        ("methods_offset", ctypes.c_ssize_t),  # dpctl's own two, as in each `dpctl.SyclEvent`
        ("reference_offset", ctypes.c_ssize_t),
        ("event_offset", ctypes.c_ssize_t),
        ("release", ctypes.c_void_p),
        ("release_offset", ctypes.c_ssize_t),
        ("pace", ctypes.c_void_p),
        ("pace_offset", ctypes.c_ssize_t),
    )


class Row(ctypes.Structure):
    """An argument, or a member of one that is a tuple: what it must be, and where it is packed."""

    _fields_ = (
        ("parent", ctypes.c_ssize_t),  # 0 for an argument; for a member of a tuple, one more than the tuple's row
        ("position", ctypes.c_ssize_t),  # among the arguments, or the members
        ("kind", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),  # the Python type, which must be this very one
        ("size", ctypes.c_ssize_t),  # bytes of a number or of an array's element; members of a tuple
        ("offset", ctypes.c_ssize_t),  # where it is in the packed argument, in bytes
        # of an array
        ("inner_type", ctypes.c_void_p),
        ("element", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("flags_mask", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("below", ctypes.c_ssize_t),  # what its extents must be below
        ("strides_offset", ctypes.c_ssize_t),  # 0 where strides are not passed
        ("strides", ctypes.c_void_p),  # room for them
        ("low", ctypes.c_ssize_t),  # room for where its memory begins and ends
        ("high", ctypes.c_ssize_t),
    )


class Pair(ctypes.Structure):
    """Two arrays, of which the kernel writes one: they must be apart, or one view where its code lets them."""

    _fields_ = (
        ("first", ctypes.c_void_p),  # rows
        ("second", ctypes.c_void_p),
        ("may_be_one", ctypes.c_ssize_t),
    )
