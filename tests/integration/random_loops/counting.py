"""Accesses from Python: of dpnp's arrays, and of NumPy arrays in loops that nothing compiled; and compilations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import dpnp
import numpy as np

from kapi_numba_offload._numba_compat import CompilerBase
from kapi_numba_offload.loops.host.host_loop import HostLoop

__all__ = ["Counts", "counting"]

SMALL = 16  # elements: an access to fewer is one that compiled code would make by itself


@dataclass
class Counts:
    """The accesses and compilations of a call."""

    accesses: int = 0
    compilations: int = 0


class _Counted(np.ndarray):
    """A NumPy array whose accesses count, and those of its parts."""

    counts: Counts

    def __array_finalize__(self, other: Any) -> None:
        self.counts = getattr(other, "counts", Counts())

    def __getitem__(self, at: Any) -> Any:
        self.counts.accesses += 1
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.counts.accesses += 1
        super().__setitem__(at, value)

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.counts.accesses += 1
            yield each


def _counted(value: Any, counts: Counts) -> Any:
    if type(value) is np.ndarray:
        made = value.view(_Counted)
        made.counts = counts
        return made
    if type(value) is tuple:
        return tuple(_counted(each, counts) for each in value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, _Counted):
        return value.view(np.ndarray) if value.ndim else value[()]
    return tuple(map(_plain, value)) if type(value) is tuple else value


@contextmanager
def counting() -> Iterator[Counts]:
    """Count while a call runs."""
    counts = Counts()
    read, write = dpnp.ndarray.__getitem__, dpnp.ndarray.__setitem__
    leave, compile_extra = HostLoop.leave, CompilerBase.compile_extra

    def reads(self: Any, at: Any) -> Any:
        found = read(self, at)
        counts.accesses += getattr(found, "size", 1) <= SMALL
        return found

    def writes(self: Any, at: Any, value: Any) -> None:
        counts.accesses += 1
        write(self, at, value)

    def leaves(self: Any, *args: Any, **keywords: Any) -> Any:
        function = self.function
        self.function = lambda *given: _plain(function(*(_counted(each, counts) for each in given)))
        try:
            return leave(self, *args, **keywords)
        finally:
            self.function = function

    def compiles(self: Any, *args: Any, **keywords: Any) -> Any:
        counts.compilations += 1
        return compile_extra(self, *args, **keywords)

    with (
        patch.object(dpnp.ndarray, "__getitem__", reads),
        patch.object(dpnp.ndarray, "__setitem__", writes),
        patch.object(HostLoop, "leave", leaves),
        patch.object(CompilerBase, "compile_extra", compiles),
    ):
        yield counts
