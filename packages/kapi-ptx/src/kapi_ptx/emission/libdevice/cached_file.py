"""A file that is kept from one process to the next, in a folder that is its user's alone."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator

__all__ = ["read", "write"]

_DIGEST = hashlib.sha256().digest_size
_LARGEST = 1 << 24  # bytes of a file that is read


@contextlib.contextmanager
def _folder(path: str) -> Iterator[int]:
    """The descriptor of a folder that nobody else can put files into; OSError if it is another's too."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{path} must belong to its user and be writable by nobody else")
        yield descriptor
    finally:
        os.close(descriptor)


def read(folder: str, name: str) -> bytes | None:
    """The content of a file that `write` wrote; None if there is none, or not all of it."""
    if not folder:
        return None
    try:
        with _folder(folder) as at:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(name, flags, dir_fd=at), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                    return None
                data = file.read(_LARGEST)
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            return None
        return data[_DIGEST:]
    except OSError:
        return None


def write(folder: str, name: str, content: bytes) -> None:
    """Keep a file, complete or not at all; where that cannot be, nothing is kept."""
    if not folder:
        return
    unfinished = f"{name}.{os.getpid()}.part"
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _folder(folder) as at:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(unfinished, flags, 0o600, dir_fd=at), "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(unfinished, name, src_dir_fd=at, dst_dir_fd=at)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(unfinished, dir_fd=at)
                raise
