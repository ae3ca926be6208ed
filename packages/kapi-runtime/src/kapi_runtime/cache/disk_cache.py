"""The disk cache: modules are stored, loaded and dropped by key; faults are noted, never raised."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kapi_lowering import KernelModule
from kapi_runtime.cache.private_folder import CacheFolder
from kapi_sim import environment_variables
from kapi_sim.errors import ModuleFileError
from kapi_sim.forks import reinit_after_fork

__all__ = [
    "DEFAULT_SIZE",
    "CacheInfo",
    "clear",
    "drop",
    "evict_unused",
    "info",
    "is_on",
    "load",
    "load_text",
    "note_unknown",
    "size_limit",
    "store",
    "store_text",
]

_lock = reinit_after_fork(threading.Lock())
_counts = {"hits": 0, "misses": 0, "unknown": 0}
_trouble = ""


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Contents of the cache and its statistics for this process; `info` gives it.

    Attributes
    ----------
    folder : str
        Where the files are.
    is_on : bool
        Whether it is used.
    entries : int
        Compiled kernels in it, and choices of `Kernel.tune`.
    nbytes, limit : int
        Bytes that it holds, and most that it may hold.
    hits, misses : int
        Kernels that this process found there, and did not.
    unknown : int
        Kernels of this process that use something without a plain description, and are not kept.
    trouble : str
        The last thing that went wrong; empty if nothing did.
    """

    folder: str
    is_on: bool
    entries: int
    nbytes: int
    limit: int
    hits: int
    misses: int
    unknown: int
    trouble: str


def info() -> CacheInfo:
    """Return the contents of the cache and its statistics for this process.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.cache.info().nbytes <= kapi.cache.info().limit
    True
    """
    try:
        with _opened() as folder:
            entries = folder.entries()
    except FileNotFoundError:
        entries = []
    except OSError as error:
        entries = []
        _note(str(error))
    return CacheInfo(
        folder=str(_folder()[0]),
        is_on=is_on(),
        entries=len(entries),
        nbytes=sum(each.nbytes for each in entries),
        limit=_limit(),
        trouble=_trouble,
        **_counts,
    )


def clear() -> int:
    """Remove all compiled kernels from the disk, and return how many there were; those in memory stay.

    Other files of the folder stay as they are.  It clears a cache that is switched off, too.
    """
    try:
        with _opened() as folder:
            return sum(folder.remove(each.key) for each in folder.entries())
    except FileNotFoundError:
        return 0
    except OSError as error:
        _note(str(error))
        return 0


def load(key: str, read_module: Callable[[bytes, str], KernelModule]) -> KernelModule | None:
    """Return the module that is kept under a key, or None.

    Parameters
    ----------
    key : str
        A fingerprint, a dot, and one of `folder.SUFFIXES`: the name of the file.
    read_module : callable
        `Platform.read_module` of the platform that it is for.
    """
    if not is_on():
        return None
    module, data = None, _load_bytes(key)
    if data is not None:
        try:
            module = read_module(data, key)
        except ModuleFileError as error:
            drop(key, str(error))
    with _lock:
        _counts["misses" if module is None else "hits"] += 1
    return module


def _load_bytes(key: str) -> bytes | None:
    """The bytes that are kept under a key, unchecked, or None."""
    try:
        with _opened() as folder:
            return folder.read(key)
    except FileNotFoundError:
        return None
    except OSError as error:
        _note(f"{_folder()[0]} could not be read: {error}")
        return None


def store(key: str, module: KernelModule, write_module: Callable[[Any, str], bytes]) -> None:
    """Keep a module under a key; a failure is noted, and not raised.

    Parameters
    ----------
    key : str
        A fingerprint, a dot, and one of `folder.SUFFIXES`: the name of the file.
    module : KernelModule
        The compiled kernel.
    write_module : callable
        `Platform.write_module` of the platform that it is for.
    """
    if not is_on():
        return
    try:
        data = write_module(module, key)
    except ModuleFileError as error:
        _note(f"kernel `{module.name}` could not be kept: {error}")
        return
    try:
        _store_bytes(key, data)
    except OSError as error:
        _note(f"kernel `{module.name}` could not be kept: {error}")


def load_text(key: str) -> str | None:
    """Return the text that is kept under a key, or None."""
    data = _load_bytes(key) if is_on() else None
    return None if data is None else data.decode("utf-8", errors="replace")


def store_text(key: str, text: str) -> None:
    """Keep a text under a key; a failure is noted, and not raised."""
    if is_on():
        try:
            _store_bytes(key, text.encode())
        except OSError as error:
            _note(f"a choice of tune could not be kept: {error}")


def _store_bytes(key: str, data: bytes) -> None:
    _folder()[0].mkdir(mode=0o700, parents=True, exist_ok=True)
    with _opened() as folder:
        folder.write(key, data)
        evict_unused(folder, _limit())


def drop(key: str, why: str) -> None:
    """Remove the module that is kept under a key, since a driver refuses it though its file is complete.

    Parameters
    ----------
    key : str
        A fingerprint, a dot, and one of `folder.SUFFIXES`: the name of the file.
    why : str
        What `info` reports.
    """
    try:
        with _opened() as folder:
            folder.remove(key)
            _note(f"{folder.path / key} was removed: {why}")
    except OSError as error:
        _note(str(error))


def note_unknown(kernel: str, what: str) -> None:
    """Note that a kernel is not kept, because it uses a value that has no plain description."""
    with _lock:
        _counts["unknown"] += 1
    _note(f"kernel `{kernel}` is not kept: it uses {what}")


def _note(trouble: str) -> None:
    global _trouble
    _trouble = trouble


def is_on() -> bool:
    """Whether compiled kernels are kept on disk and looked for there."""
    return not environment_variables.CACHE.is_off


def _folder() -> tuple[Path, bool]:
    """The path of the folder, and whether other users may put something there."""
    own = environment_variables.cache_folder()
    if own:
        return Path(own), False
    # A user without a home, as in a container.
    return Path(tempfile.gettempdir()) / f"kapi-{os.getuid() if hasattr(os, 'getuid') else 'cache'}", True


def _opened() -> CacheFolder:
    path, is_shared = _folder()
    return CacheFolder(path, is_shared=is_shared)


def _limit() -> int:
    limit, problem = size_limit()
    if problem:
        _note(problem)
    return limit


DEFAULT_SIZE = 256
"""Megabytes that the folder may hold if the environment names no other number."""


def size_limit() -> tuple[int, str]:
    """Return how many bytes the folder may hold, and what is wrong with the number in the environment, or ""."""
    asked = environment_variables.CACHE_SIZE.value
    problem = ""
    try:
        megabytes = float(DEFAULT_SIZE if asked is None else asked)
        if not megabytes >= 0:  # NaN is not, either
            raise ValueError
    except ValueError:
        name = environment_variables.CACHE_SIZE.name
        problem = f"{name} must be a number of megabytes, got {asked!r}: {DEFAULT_SIZE} is used"
        megabytes = DEFAULT_SIZE
    return int(min(megabytes * 2**20, sys.maxsize)), problem


def evict_unused(folder: CacheFolder, limit: int) -> None:
    """Remove the entries that were unused the longest, until the others hold at most `limit` bytes."""
    entries = sorted(folder.entries(), key=lambda each: each.used, reverse=True)
    for entry, total in zip(entries, itertools.accumulate(each.nbytes for each in entries), strict=True):
        if total > limit:
            folder.remove(entry.key)
