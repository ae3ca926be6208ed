"""Registry of array libraries: the one that an array, a queue or a function belongs to, imported when it is needed."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from kapi_numba_offload.libraries.entry import ENTRIES, LibraryEntry
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_runtime.host.queues import require_queue
from kapi_runtime.platform.installed import is_installed
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.forks import reinit_after_fork

__all__ = [
    "default_library",
    "imported_libraries",
    "known_libraries",
    "library_name",
    "library_named",
    "library_names",
    "library_of",
    "library_of_platform",
    "library_of_queue",
]

_GROUP = "kapi.array_libraries"

_lock = reinit_after_fork(threading.RLock())
_made: dict[str, ArrayLibrary] = {}
_by_class: dict[type, ArrayLibrary | None] = dict.fromkeys(
    (bool, int, float, complex, str, tuple, list, type(None), np.ndarray)
)
_by_queue_class: dict[type, ArrayLibrary] = {}


@cache
def known_libraries() -> tuple[LibraryEntry, ...]:
    """All array libraries, installed or not."""
    return (*ENTRIES, *(each.load() for each in entry_points(group=_GROUP)))


@cache
def _class_names() -> frozenset[str]:
    return frozenset(each.array_class[1] for each in known_libraries())


def imported_libraries() -> Iterator[ArrayLibrary]:
    """The libraries but NumPy that the program has imported, and whose arrays kernels can run on."""
    for each in known_libraries():
        if each.is_numpy:
            continue
        if each.name in _made or (each.name in sys.modules and is_installed(each.platform)):
            yield _get(each)


def default_library() -> ArrayLibrary | None:
    """The library of arrays that are made where none is given: the first that the program has imported."""
    return next(imported_libraries(), None)


def library_name(function: Any) -> str | None:
    """The name of the array library that a function is of; None for NumPy's and other functions."""
    module = getattr(function, "__module__", None) or type(function).__module__
    root = module.partition(".")[0]
    return root if root in library_names() else None


@cache
def library_names() -> frozenset[str]:
    """The names of all array libraries but NumPy, whose functions are any library's."""
    return frozenset(each.name for each in known_libraries() if not each.is_numpy)


def library_of(value: Any) -> ArrayLibrary | None:
    """The library whose array a value is; None for anything else, a subclass of its arrays' class included."""
    kind = value.__class__
    try:
        return _by_class[kind]
    except KeyError:
        if kind.__name__ not in _class_names():
            return None
    for each in known_libraries():
        if (kind.__module__, kind.__name__) == each.array_class:
            found = _by_class[kind] = _get(each)
            return found
    return None


def library_of_queue(queue: Any) -> ArrayLibrary:
    """The library whose arrays are made on a queue."""
    kind = queue.__class__
    found = _by_queue_class.get(kind)
    if found is None:
        platform, _ = require_queue(queue)
        found = _by_queue_class[kind] = library_of_platform(platform.name)
    return found


def library_named(name: str) -> ArrayLibrary:
    """The library of a name."""
    return _get(next(each for each in known_libraries() if each.name == name))


def library_of_platform(name: str) -> ArrayLibrary:
    """The library whose arrays are those of a platform, by the platform's name."""
    return _get(next(each for each in known_libraries() if each.platform == name))


def _get(entry: LibraryEntry) -> ArrayLibrary:
    with _lock:
        if entry.name not in _made:
            if not is_installed(entry.platform):
                raise placement_error(
                    f"arrays of {entry.name} must have the platform that kernels run on for functions over them to be "
                    f"offloaded, got an environment without it: `{entry.install}`",
                    "platform-absent",
                )
            module, _, name = entry.library.partition(":")
            _made[entry.name] = getattr(importlib.import_module(module), name)()
        return _made[entry.name]
