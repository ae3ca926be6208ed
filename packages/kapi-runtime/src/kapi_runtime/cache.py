"""Compiled kernels on disk: what was compiled once is not compiled again, in any process of this user.

On unless the environment says otherwise:

=====================  ============================================================================================
``KAPI_CACHE``         ``0``, ``off``, ``no`` or ``false`` turns it off.
``KAPI_CACHE_DIR``     The folder; by default ``kapi`` in ``$XDG_CACHE_HOME``, ``~/.cache``, or Windows' local data.
``KAPI_CACHE_SIZE``    Most megabytes that the folder may hold, 256 by default, ``inf`` for any; oldest uses go first.
=====================  ============================================================================================

A file is a SPIR-V module with its checksum, and is never run as code on the host.  Its name is a digest of all that
the compilation depends on, see `fingerprint`.  The folder must be its owner's alone.  Files appear whole or not at
all, so that processes may share the folder, be killed, or find the disk full: whatever is wrong with the cache, the
kernel is compiled, and `info` tells what it was.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kapi_spirv import SpirvModule, read_module, write_module

__all__ = ["CacheInfo", "clear", "info", "load", "note_unknown", "store"]

_SWITCH, _FOLDER, _SIZE = "KAPI_CACHE", "KAPI_CACHE_DIR", "KAPI_CACHE_SIZE"
_SUFFIX, _UNFINISHED = ".spirv", ".part"
_DEFAULT_SIZE = 256
_ABANDONED = 3600.0  # seconds after which an unfinished file has no writer any more

_lock = threading.Lock()
_numbers = itertools.count()
_counts = {"hits": 0, "misses": 0, "unknown": 0}
_trouble = ""


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What is in the cache, and what it did for this process; `info` gives it.

    Attributes
    ----------
    folder : str
        Where the files are.
    is_on : bool
        Whether it is used.
    entries : int
        Compiled kernels in it.
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
    """Return what is in the cache, and what it did for this process.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> kapi.cache.info().nbytes <= kapi.cache.info().limit
    True
    """
    files = _files(_folder())
    return CacheInfo(
        folder=str(_folder()),
        is_on=_is_on(),
        entries=len(files),
        nbytes=sum(size for _, size, _ in files),
        limit=_limit(),
        trouble=_trouble,
        **_counts,
    )


def clear() -> int:
    """Remove all compiled kernels from the disk, and return how many there were; those in memory stay."""
    removed = 0
    for path, _, _ in _files(_folder()):
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def load(key: str) -> SpirvModule | None:
    """Return the module that is kept under a key, or None.

    Parameters
    ----------
    key : str
        What `fingerprint` gives.
    """
    if not _is_on() or not _is_private(_folder()):
        return None
    path = _folder() / (key + _SUFFIX)
    try:
        module = read_module(path.read_bytes())
    except FileNotFoundError:
        module = None
    except OSError as error:
        module = None
        _note(f"{path} could not be read: {error}")
    except Exception as error:  # whatever is in the file, it is none of ours
        module = None
        _note(f"{path} was removed: {error}")
        with contextlib.suppress(OSError):
            path.unlink()
    with _lock:
        _counts["misses" if module is None else "hits"] += 1
    if module is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # used last now
    return module


def store(key: str, module: SpirvModule) -> None:
    """Keep a module under a key; whatever stands in the way is only noted.

    Parameters
    ----------
    key : str
        What `fingerprint` gives.
    module : SpirvModule
        The compiled kernel.
    """
    folder = _folder()
    if not _is_on():
        return
    unfinished = folder / f"{key}.{os.getpid()}.{next(_numbers)}{_UNFINISHED}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return
        data = write_module(module)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        unfinished.replace(folder / (key + _SUFFIX))
        _shrink(folder)
    except (OSError, TypeError) as error:
        _note(f"kernel `{module.name}` could not be kept: {error}")
        with contextlib.suppress(OSError):
            unfinished.unlink()


def note_unknown(kernel: str, what: str) -> None:
    """Note that a kernel uses something without a plain description, and is not kept."""
    with _lock:
        _counts["unknown"] += 1
    _note(f"kernel `{kernel}` is not kept: it uses {what}")


def _note(trouble: str) -> None:
    global _trouble
    _trouble = trouble


def _is_on() -> bool:
    return os.environ.get(_SWITCH, "1").strip().lower() not in ("0", "off", "no", "false")


def _folder() -> Path:
    named = os.environ.get(_FOLDER)
    if named:
        return Path(os.path.expanduser(named))
    for base in (os.environ.get("XDG_CACHE_HOME"), os.environ.get("LOCALAPPDATA"), os.path.expanduser("~/.cache")):
        if base and os.path.isabs(base):  # the specification of XDG has relative ones ignored
            return Path(base) / "kapi"
    # A user without a home, as in a container; `_is_private` guards against what others put there.
    return Path(tempfile.gettempdir()) / f"kapi-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"


def _limit() -> int:
    """Most bytes in the folder."""
    try:
        megabytes = float(os.environ.get(_SIZE, _DEFAULT_SIZE))
        if not megabytes >= 0:  # NaN is not, either
            raise ValueError
    except ValueError:
        _note(f"{_SIZE} must be a number of megabytes, got {os.environ[_SIZE]!r}: {_DEFAULT_SIZE} is used")
        megabytes = _DEFAULT_SIZE
    return int(min(megabytes * 2**20, sys.maxsize))


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put files into the folder; it is true of one that is not there yet."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return True
    except OSError as error:
        _note(f"{folder} could not be looked at: {error}")
        return False
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        _note(f"{folder} must belong to its user and be writable by nobody else: run `chmod 700` on it")
        return False
    return True


def _files(folder: Path) -> list[tuple[Path, int, float]]:
    """Path, size and time of the last use of each file."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    found.append((Path(entry.path), status.st_size, status.st_mtime))
                elif entry.name.endswith(_UNFINISHED) and time.time() - status.st_mtime > _ABANDONED:
                    os.unlink(entry.path)
    return found


def _shrink(folder: Path) -> None:
    """Remove the files that were unused the longest, if there are too many bytes."""
    limit = _limit()
    files = sorted(_files(folder), key=lambda each: each[2], reverse=True)
    for (path, _, _), total in zip(files, itertools.accumulate(size for _, size, _ in files), strict=True):
        if total > limit:
            with contextlib.suppress(OSError):
                path.unlink()
