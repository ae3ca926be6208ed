"""The folder of the disk cache: its owner's alone, held open while it is used, and shared with files of any other kind.

A folder may be named that holds other things, and one in the system's folder for temporary files may have been made by
somebody else.  So only files that are named as the cache names them are ever touched, and the folder is looked at, and
its files are opened, by its descriptor: nothing can be put in its place in between.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["SUFFIXES", "CacheFolder", "CachedFile", "NotPrivateError"]

SUFFIXES = ("cubin", "module", "object", "ptx", "spirv", "tuning")
"""Kinds of compiled code, and choices of `tune`.  A file of any other name is somebody else's."""

_KEY = rf"[0-9a-f]{{64}}\.(?:{'|'.join(SUFFIXES)})"
_ENTRY = re.compile(_KEY)
_UNFINISHED = re.compile(rf"{_KEY}\.[0-9]+\.[0-9]+\.part")
_ABANDONED = 3600.0  # seconds after which an unfinished file has no writer any more
_LARGEST = 1 << 28  # bytes of an entry that is read
_HAS_DESCRIPTORS = {os.open, os.unlink, os.rename, os.utime} <= os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

_numbers = itertools.count()


class NotPrivateError(OSError):
    """The folder is not its user's alone; the message says why, and the remedy."""


class CachedFile(NamedTuple):
    """One file of the cache: its key, which is its name, its size in bytes, and when it was used last, in seconds."""

    key: str
    nbytes: int
    used: float


class CacheFolder:
    """An open folder.

    - `path`: where it is.
    - `is_shared`: whether others may have put something there, as in the system's folder for temporary files: no link
      is followed.

    Raises `FileNotFoundError` if there is none; `NotPrivateError` if it belongs to somebody else, others can write to
    it, or it is reached by somebody else's link; `OSError` if it cannot be opened.
    """

    def __init__(self, path: Path, *, is_shared: bool = False) -> None:
        self.path = path
        self._descriptor: int | None = None
        if not _HAS_DESCRIPTORS:  # Windows, where the folder is below the user's own
            path.stat()
            return
        _require_own_link(path, is_shared)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _PLAIN | (_NO_LINK if is_shared else 0))
        try:
            status = os.fstat(self._descriptor)
            if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise NotPrivateError(
                    f"{path} must belong to its user and be writable by nobody else: run `chmod 700` on it"
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> CacheFolder:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def read(self, key: str) -> bytes:
        """Return the content of an entry; OSError if there is none, or no plain file is in its place."""
        # A pipe would be waited for.
        waits_not = getattr(os, "O_NONBLOCK", 0)
        with open(self._opened(key, os.O_RDONLY | _NO_LINK | waits_not), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                raise OSError(f"{self.path / key} must be a file of at most {_LARGEST} bytes")
            data = file.read(status.st_size)  # `read` takes the memory that it is told
        with contextlib.suppress(OSError):  # used last now
            if self._descriptor is None:
                os.utime(self.path / key)
            else:
                os.utime(key, dir_fd=self._descriptor, follow_symlinks=False)
        return data

    def write(self, key: str, data: bytes) -> None:
        """Put an entry there, complete or not at all; OSError if that cannot be."""
        unfinished = f"{key}.{os.getpid()}.{next(_numbers)}.part"
        try:
            with open(self._opened(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            if self._descriptor is None:
                os.replace(self.path / unfinished, self.path / key)
            else:
                at = self._descriptor
                os.replace(unfinished, key, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            with contextlib.suppress(OSError):
                self._unlink(unfinished)
            raise

    def remove(self, key: str) -> bool:
        """Remove an entry, and return whether it was there and is gone."""
        try:
            self._unlink(key)
        except OSError:
            return False
        return True

    def entries(self) -> list[CachedFile]:
        """Return the entries; what killed writers left behind long ago is removed."""
        found = []
        for name, status in self._files():
            if _ENTRY.fullmatch(name):
                found.append(CachedFile(name, status.st_size, status.st_mtime))
            elif _UNFINISHED.fullmatch(name) and time.time() - status.st_mtime > _ABANDONED:
                with contextlib.suppress(OSError):
                    self._unlink(name)
        return found

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(self.path if self._descriptor is None else self._descriptor) as files:
            for each in files:
                with contextlib.suppress(OSError):
                    status = each.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(status.st_mode):
                        yield each.name, status

    def _opened(self, name: str, flags: int, mode: int = 0) -> int:
        if self._descriptor is None:
            return os.open(self.path / name, flags | _PLAIN, mode)
        return os.open(name, flags | _PLAIN, mode, dir_fd=self._descriptor)

    def _unlink(self, name: str) -> None:
        if self._descriptor is None:
            os.unlink(self.path / name)
        else:
            os.unlink(name, dir_fd=self._descriptor)


def _require_own_link(path: Path, is_shared: bool) -> None:
    """Raise for a link that somebody else made, or any in a shared folder."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode) and (is_shared or status.st_uid not in (os.getuid(), 0)):
        raise NotPrivateError(
            f"{path} must be a folder and no link there: remove it, or name another by KAPI_CACHE_DIR"
        )
