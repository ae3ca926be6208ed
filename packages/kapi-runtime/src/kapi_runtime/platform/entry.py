"""`PlatformEntry`: what is known of a platform before its library is imported, installed or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

__all__ = ["PlatformEntry", "installed_entry_points"]

_GROUPS = ("kapi.platforms", "kapi.targets")


@cache
def installed_entry_points() -> tuple[EntryPoint, ...]:
    """Return the entry points of kapi's groups, read once: a search of the path takes some ten milliseconds."""
    found = entry_points()
    return tuple(each for group in _GROUPS for each in found.select(group=group))


@dataclass(frozen=True, slots=True)
class PlatformEntry:
    """A platform, installed or not.

    A sub-package of kapi_runtime has it as ``ENTRY`` in its module ``entry``; another distribution names it as an entry
    point of the group ``kapi.platforms``. The module that holds it imports no library of the platform's.

    Attributes
    ----------
    name : str
        `Platform.name`.
    title : str
        What messages call it.
    platform : str
        Its class, as ``"module:Class"``.
    install : str
        The command that brings what it needs.
    needs : tuple of str
        Modules that must be there for it to be installed.
    is_array : callable
        Whether a value is one of its arrays; imports nothing.
    rank : int
        Its place among the platforms: the lowest one's default device runs what has no array.
    extras : dict of str to str
        Words in names of its devices, and the extra that brings what such a device needs.
    libraries : frozenset of str
        Modules whose devices and queues are its own.
    queue_protocol : str
        Attribute of other libraries' queues of its kind.
    at_import : str
        Module whose `activate` is called when kapi_runtime is imported and it is installed; "" for none.
    is_host : bool
        Whether its arrays are those of the host's memory, which are on no device until they are launched with.
    """

    name: str
    title: str
    platform: str
    install: str
    needs: tuple[str, ...]
    is_array: Callable[[Any], bool]
    rank: int = 100
    extras: dict[str, str] = field(default_factory=dict)
    libraries: frozenset[str] = frozenset()
    queue_protocol: str = ""
    at_import: str = ""
    is_host: bool = False
