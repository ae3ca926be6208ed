"""Launches that wait for each other without dpctl, which is told of the last one when somebody asks.

dpctl orders the work of Python's libraries on a queue by an order manager, which holds the events of all work that may
be pending.  It asks each for its state whenever it is read or added to, and that would be most of a launch's cost.  But
a launch that has waited for everything before it stands for all of that: while nobody else takes part, the next one
needs to wait for it alone, and the order manager needs to know of none.  So the manager of a queue with launches is
replaced, in dpctl's own map, by one of a class derived from its own, with the same keeper of events: it hands the last
launch over to the keeper before anything is read of it, or added to it.

Whoever has the old manager adds to the keeper without the new one noticing.  So the chain begins when nobody has it any
more, which its count of references tells.

A chain is a list: the event of the last launch; that of the last one handed over, which is the same one if nothing is
to be handed over; the manager's keeper; and what the launches use, with their events (see `keep_alive`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any
from weakref import WeakSet

import dpctl
from dpctl.utils import SequentialOrderManager

from kapi_runtime.sycl.devices.fork_check import require_no_fork
from kapi_runtime.sycl.native.native_functions import ADD_EVENTS, DONE, GET_EVENTS, native_functions
from kapi_runtime.sycl.native.structures import KEEPER, LAST
from kapi_runtime.sycl.queues import keep_alive
from kapi_sim.forks import in_children, reinit_after_fork

__all__ = ["chain_of", "managers", "ordering_problem"]

_STATE, _CHAIN = "_state", "kapi_chain"
_OWN_REFERENCES = 2  # of a manager that nobody else has: that of the new one, and that of whoever counts

_map = getattr(SequentialOrderManager, "_map", None)
managers: Callable[[], Any] = _map.get if isinstance(_map, ContextVar) else lambda: SequentialOrderManager
"""Gives the map of order managers, by queue, in this context: ``managers()[queue].kapi_chain`` is the short path."""

_lock = reinit_after_fork(threading.Lock())
_known: WeakSet[Any] = WeakSet()
_classes: dict[type, type | None] = {}


def chain_of(queue: Any) -> list[Any] | None:
    """Return the chain of a queue in this context.

    Returns None where dpctl's order manager is not as expected, or not free yet: order must be kept by its own
    interface. Raises `ForkError` in a process that was forked after a device was used.
    """
    require_no_fork()
    with _lock:
        manager = SequentialOrderManager[queue]
        chain: list[Any] | None = vars(manager).get(_CHAIN)
        if chain is None and not _is_chained(manager):
            class_, entries = _chained_class(type(manager)), managers()
            if class_ is None or not isinstance(entries, dict) or not _is_native(vars(manager).get(_STATE)):
                return None
            manager = entries[queue] = class_(manager)
        if chain is None:
            # From here on all that is added to the new manager is seen; somebody may still have the old one.
            if sys.getrefcount(manager.kapi_replaced) > _OWN_REFERENCES:
                return None
            manager.kapi_replaced = None
            chain = manager.kapi_chain = manager.kapi_links
            _known.add(manager)
            keep_alive.hold_chain(queue, chain)
    return chain


def ordering_problem(queue: Any) -> str:
    """Return why launches on a queue are ordered by dpctl alone, which is slow; empty if nothing speaks for that."""
    manager = SequentialOrderManager[queue]
    if _is_chained(manager) or _is_native(vars(manager).get(_STATE)):
        return ""
    return f"dpctl's order manager must be as it was in dpctl 0.22, got {dpctl.__version__} with another"


def _is_chained(manager: Any) -> bool:
    """Whether a manager is of a class that `_chained_class` made."""
    return type(manager) in _classes.values()


def _is_native(keeper: Any) -> bool:
    """Whether a keeper of events is compiled code, in whose calls no other thread runs Python."""
    method = getattr(type(keeper), ADD_EVENTS, None)
    return method is not None and not isinstance(method, FunctionType) and type(getattr(keeper, GET_EVENTS)()) is list


def _chained_class(base: type) -> type | None:
    """Return the class of order managers that have a chain, or None if it would not do what is expected of it."""
    if base not in _classes:
        made = _make_class(base)
        _classes[base] = made if made is not None and _hands_over(base, made) else None
    return _classes[base]


def _make_class(base: Any) -> type | None:
    native = native_functions()
    if native is None:
        return None
    hand_over = native.hand_over

    class ChainedOrderManager(base):  # type: ignore[misc]
        """dpctl's order manager of a queue on which kapi launches kernels.

        Everything that it does, it does with `_state`.
        """

        def __init__(self, replaced: Any) -> None:
            self.kapi_replaced = replaced
            self.kapi_links = [DONE, DONE, vars(replaced)[_STATE], []]

        @property
        def _state(self) -> Any:
            chain = self.kapi_links
            hand_over(chain)
            return chain[KEEPER]

        def add_event_pair(self, *events: Any) -> None:
            super().add_event_pair(*events)
            # A launch of another thread may have come in between, and does not stand for what was added.
            hand_over(self.kapi_links)

    return ChainedOrderManager


class _Recorder:
    """A stand-in for a keeper of events, which notes what it is told, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def note(*events: Any) -> list[Any]:
            self.calls.append(name)
            return []

        return note


def _hands_over(base: Any, made: Any) -> bool:
    """Whether a manager of the class hands over first, whatever is asked of it."""
    asked: dict[str, Any] = {
        "submitted_events": lambda manager: manager.submitted_events,
        "host_task_events": lambda manager: manager.host_task_events,
        "add_event_pair": lambda manager: manager.add_event_pair(DONE, DONE),
        "wait": lambda manager: manager.wait(),
    }
    for ask in asked.values():
        manager, recorder = base(), _Recorder()
        try:
            setattr(manager, _STATE, recorder)
            chained = made(manager)
            chained.kapi_links[LAST] = object()  # a launch that nobody has been told of
            ask(chained)
        except (AttributeError, LookupError, TypeError):
            return False
        if len(recorder.calls) < 2 or recorder.calls[0] != ADD_EVENTS:
            return False
    return True


def _after_fork_in_child() -> None:
    for manager in _known:
        del manager.kapi_chain  # so that the next launch asks for it, and is told


in_children(_after_fork_in_child)
