"""Registry of platforms: those known, those installed, and the one that a value belongs to.

A platform is known by what its arrays look like, so that its library is imported when the first of them is seen, and a
platform that is missing is named then, with what installs it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import sys
import threading
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kapi_runtime.platform.entry_points import PlatformEntry, installed_entry_points
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim.errors import DeviceNotFoundError, DriverError
from kapi_sim.forks import block_forks, reinit_after_fork

__all__ = [
    "activate",
    "is_installed",
    "known_platforms",
    "named",
    "nothing_installed",
    "package_version",
    "platform_of_array",
    "platform_of_device",
    "platform_of_host_array",
    "platforms",
    "what_is_missing",
]


_NO_ARRAYS = frozenset((bool, int, float, complex, np.ndarray, str, bytes, type(None)))

_GROUP = "kapi.platforms"

_lock = reinit_after_fork(threading.RLock())
_made: dict[str, Platform] = {}


@cache
def known_platforms() -> tuple[PlatformEntry, ...]:
    """Return all platforms, installed or not, by their ranks.

    Those of kapi_runtime are found in its folder, so that a tree without metadata has them, too; those of other
    distributions by their entry points.
    """
    package = __name__.partition(".")[0]
    folders = map(Path, importlib.import_module(package).__path__)
    own = sorted(file.parent.name for folder in folders for file in folder.glob("*/entry.py"))
    found = [importlib.import_module(f"{package}.{name}.entry").ENTRY for name in own]
    found += [each.load() for each in installed_entry_points() if each.group == _GROUP]
    return tuple(sorted(found, key=lambda each: (each.rank, each.name)))


def activate() -> None:
    """Do what platforms that are installed have to do before their library is first used: `kapi_runtime`'s import."""
    for known in known_platforms():
        if known.at_import and _is_there(known):
            importlib.import_module(known.at_import).activate()


def platforms() -> list[Platform]:
    """Return all platforms that are installed; imports their libraries."""
    return [_get(known) for known in known_platforms() if _is_there(known)]


def is_installed(name: str) -> bool:
    """Whether a platform is installed; imports nothing of it."""
    return any(known.name == name and _is_there(known) for known in known_platforms())


def named(name: str, for_what: str) -> Platform:
    """Return a platform by its name.

    - `name`: `Platform.name`.
    - `for_what`: what it is needed for, for the message.

    Raises `DriverError` if it is not installed.
    """
    known = next(each for each in known_platforms() if each.name == name)
    if not _is_there(known):
        raise DriverError(
            f"{known.title} must be installed for {for_what}, got an environment without it: `{known.install}`",
            code="platform-absent",
        )
    return _get(known)


def platform_of_array(value: Any, what: str) -> Platform | None:
    """Return the platform whose array a value is, or None if it is no array of a device.

    Arrays in the host's memory are on no device: `platform_of_host_array`.

    - `value`: anything.
    - `what`: what it is, such as the name of an argument, for the message.

    Raises `ExecutionPlacementError` if it is an array of a platform that is not installed.
    """
    if type(value) in _NO_ARRAYS:
        return None
    for known in known_platforms():
        if not known.is_host and known.is_array(value):
            if not _is_there(known):
                raise placement_error(
                    f"{what} must be an array of a platform that is installed, got a {type(value).__name__} of "
                    f"{known.title}, which is not: `{known.install}`",
                    "platform-absent",
                )
            return _get(known)
    return None


def platform_of_host_array(value: Any) -> Platform | None:
    """Return the platform that runs launches of an array in the host's memory; None if it is none, or there is none."""
    for known in known_platforms():
        if known.is_host and known.is_array(value) and _is_there(known):
            return _get(known)
    return None


def platform_of_device(device: Any) -> Platform:
    """Return the platform of a device of one that is installed."""
    return next(platform for platform in platforms() if platform.device(device) is not None)


def what_is_missing(source: Any) -> str:
    """Return what a device or a queue needs that is not there, to end a message with; empty if nothing is missing.

    That is a platform which is not installed, or one without devices: it says what was looked for in vain.

    - `source`: the name of a device, or a device or a queue of any library.
    """
    missing = []
    words = _WORD.findall(source.lower()) if isinstance(source, str) else []
    word = next((word for word in words if any(word in known.extras for known in known_platforms())), "")
    for known in known_platforms():
        if _is_there(known):
            if isinstance(source, str) and word in known.extras and not _get(known).devices():
                missing.append(_get(known).missing_device_message())
            continue
        if isinstance(source, str):
            extra = known.extras.get(word, "")
        else:
            # A library may have devices and queues of the host as well.
            is_theirs = _library_of(source) in known.libraries and getattr(source, "type", known.name) != "cpu"
            extra = known.name if is_theirs or hasattr(source, known.queue_protocol) else ""
        if extra:
            missing.append(f'{known.title} is not installed: `pip install "kapi-runtime[{extra}]"`')
    return "".join(f"; {each}" for each in missing)


_WORD = re.compile(r"[a-z_]+")


def _library_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def nothing_installed() -> DeviceNotFoundError:
    """Make the error for an environment in which kernels can run nowhere."""
    return DeviceNotFoundError(
        "a platform must be installed for kernels to run on, got none: `pip install kapi-cpu` brings the CPU, "
        '`pip install "kapi-runtime[sycl]"` SYCL devices, and `pip install "kapi-runtime[cuda]"` NVIDIA\'s GPUs',
        code="platform-absent",
    )


def package_version(distribution: str) -> str:
    """Return the version of a distribution, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        module = sys.modules.get(distribution.replace("-", "_"))  # imported from a source tree
        return str(getattr(module, "__version__", "not installed"))


def _is_there(known: PlatformEntry) -> bool:
    return known.name in _made or all(_exists(name) for name in (known.platform.partition(":")[0], *known.needs))


@lru_cache(maxsize=16)
def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # the package that it is in is missing
        return False


def _class_of(known: PlatformEntry) -> type[Platform]:
    module, _, name = known.platform.partition(":")
    made: type[Platform] = getattr(importlib.import_module(module), name)
    return made


def _get(known: PlatformEntry) -> Platform:
    platform = _made.get(known.name)
    if platform is not None:
        return platform
    with block_forks(), _lock:
        platform = _made.get(known.name)
        if platform is None:
            platform = _made[known.name] = _class_of(known)()
        return platform
