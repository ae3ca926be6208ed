"""Entry points of platforms and targets: known before a platform's library or a target's compiler is imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from kapi_sim.forks import block_forks

if TYPE_CHECKING:
    from kapi_lowering import TargetCompiler

__all__ = ["PlatformEntry", "compiler_of", "distribution_of", "installed_entry_points", "package_of"]

_TARGETS = "kapi.targets"
_GROUPS = ("kapi.platforms", _TARGETS)


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

    - `title`: what messages call it.
    - `platform`: its class, as ``"module:Class"``.
    - `install`: the command that brings what it needs.
    - `needs`: modules that must be there for it to be installed.
    - `is_array`: whether a value is one of its arrays; imports nothing.
    - `rank`: its rank among the platforms: the lowest one's default device runs what has no array.
    - `extras`: words in names of its devices, and the extra that brings what such a device needs.
    - `libraries`: modules whose devices and queues are its own.
    - `queue_protocol`: attribute of other libraries' queues of its kind.
    - `at_import`: module whose `activate` is called when kapi_runtime is imported and it is installed; "" for none.
    - `is_host`: whether its arrays are those of the host's memory, which are on no device until they are launched with.
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


@cache
def compiler_of(target: str) -> TargetCompiler[Any, Any]:
    """Return the compiler of a target by the name of its entry point, such as "spirv"; imports the target's package."""
    with block_forks():  # a child of a fork has no half of a module
        compiler: TargetCompiler[Any, Any] = _entry_point(target).load()
    return compiler


def package_of(target: str) -> str:
    """Return the name of the package that has a target, which is not imported."""
    return _entry_point(target).module.partition(".")[0]


def distribution_of(target: str) -> str:
    """Return the name of the distribution that brings a target."""
    return package_of(target).replace("_", "-")


def _entry_point(target: str) -> EntryPoint:
    for each in installed_entry_points():
        if (each.group, each.name) == (_TARGETS, target):
            return each
    # A tree without metadata has kapi's own targets, too.
    return EntryPoint(target, f"kapi_{target}.compiler:COMPILER", _TARGETS)
