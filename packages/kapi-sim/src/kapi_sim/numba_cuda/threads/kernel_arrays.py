"""Memory that kernels make: shared by a block, a thread's own, and constant."""

from __future__ import annotations

import dis
import sys
from math import prod
from types import CodeType
from typing import Any

import numpy as np

from kapi_sim.checks.device_limits import check_dtype
from kapi_sim.checks.initialisation import PrivateShadowMemory
from kapi_sim.errors import DtypeError, LimitError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.language.source import source_location
from kapi_sim.memory.views import View, poison
from kapi_sim.numba_cuda.threads.running import CudaClock, running, shared_bytes
from kapi_sim.numba_cuda.values.dtypes import dtype_of
from kapi_sim.tracebacks import users_frame

__all__ = ["MOST_SHARED_BYTES", "ConstantArrays", "LocalArrays", "SharedArrays", "captured_view"]

MOST_SHARED_BYTES = 49152
"""Shared memory that a block can have whose size the kernel's code says."""

CONSTANT = "none that it stores to, for it is constant: pass it as an argument"


def _variable(code: CodeType, instruction: int) -> str:
    """Return the variable that the call at this instruction is assigned to; empty if it is none."""
    following = (each for each in dis.get_instructions(code) if each.offset > instruction and each.opname != "CACHE")
    found = next(following, None)
    if found is None or not found.opname.startswith("STORE_"):
        return ""
    name = found.argval[0] if isinstance(found.argval, tuple) else found.argval
    return name if isinstance(name, str) else ""


def _extents(word: str, shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple) else (shape,)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 0:
            raise DtypeError(
                f"shape of cuda.{word} must be made of integers from 0 on, got {shape!r}", code="array-shape"
            )
    return tuple(int(extent) for extent in extents)


def _alignment(word: str, alignment: Any) -> None:
    if alignment is None:
        return
    if not isinstance(alignment, (int, np.integer)):
        raise DtypeError(f"alignment of cuda.{word} must be an integer, got {alignment!r}", code="cuda-alignment")
    if alignment <= 0 or alignment & (alignment - 1) or alignment % 8:
        raise LimitError(
            f"alignment of cuda.{word} must be a power of two from 8 on, got {alignment}", code="cuda-alignment"
        )


def _made(
    clock: CudaClock, array: np.ndarray[Any, Any], name: str, space: str, shadow: Any, granule: int, unwritten: bool
) -> Any:
    bound = clock.bound
    assert bound is not None
    dialect = bound.dialect
    details = (array, name, clock, shadow, bound.has_bounds, granule, bound.has_fp64, space, unwritten)
    if bound.recorder is not None:
        return dialect.traced_view(clock)(*details).trace(bound.recorder)
    return dialect.view(clock)(*details)


def captured_view(key: object, name: str, array: np.ndarray[Any, Any], is_constant: bool) -> Any:
    """Return the view of an array among a kernel's globals."""
    clock = running("array")
    known = clock.shared.get((-1, ("captured", id(key))))
    if known is None:
        bound = clock.bound
        assert bound is not None
        if is_constant:
            bound.unwritable[name] = CONSTANT
        shadow = None if is_constant else bound.shadow
        known = _made(clock, array, name, "global", shadow, max(array.itemsize, 1), False)
        clock.shared[-1, ("captured", id(key))] = known
    return known


class SharedArrays(DialectIntrinsic):
    """``cuda.shared.array``."""

    def __call__(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return the array that all threads of the block have at this place of the code.

        Parameters
        ----------
        shape : int or tuple of int
            Extents; 0 for what the launch asked for as dynamic shared memory.
        dtype : dtype
            Type of the elements.
        alignment : int, optional
            Bytes; all arrays are aligned here.
        """
        clock = running("shared.array")
        frame = users_frame(sys._getframe(1))
        site = (frame.f_code, frame.f_lasti)
        group = clock.group_of(clock.uid)
        known = clock.shared.get((group, site))
        if known is not None:
            return known
        _alignment("shared.array", alignment)
        extents, kind = _extents("shared.array", shape), dtype_of(dtype, "cuda.shared.array")
        name = _variable(*site) or "shared array"
        bound = clock.bound
        assert bound is not None
        if bound.profile is not None:
            check_dtype(f"shared array `{name}`", kind, bound.profile)
        granule = max(kind.itemsize, 1)
        array: np.ndarray[Any, Any]
        if prod(extents) == 0:
            # All of them are views of one memory, and their elements may overlap in part.
            full = clock.shared.get((group, "dynamic"))
            if full is None:
                full = clock.shared[group, "dynamic"] = np.empty(shared_bytes(), np.uint8)
                poison(full)
            array, granule = full[: len(full) // kind.itemsize * kind.itemsize].view(kind), 1
        else:
            if site not in clock.sizes:
                clock.sizes[site] = prod(extents) * kind.itemsize
                self._check_size(clock, name, site)
            array = np.empty(extents, kind)
            if kind.names is None:
                poison(array)
        made = clock.shared[group, site] = _made(clock, array, name, "local", bound.local_shadow, granule, True)
        return made

    def _check_size(self, clock: CudaClock, name: str, site: tuple[CodeType, int]) -> None:
        profile = clock.bound.profile if clock.bound is not None else None
        most = MOST_SHARED_BYTES if profile is None else profile.local_mem_size
        total = sum(clock.sizes.values()) + (0 if profile is None else shared_bytes())
        if total > most:
            raise LimitError(
                f"shared arrays of a block must have at most {most} bytes in all, got {total}, {clock.sizes[site]} of "
                f"them in `{name}` at {source_location(*site)}: make them smaller, or use dynamic shared memory",
                code="work-group-too-large",
            )


class LocalArrays(DialectIntrinsic):
    """``cuda.local.array``."""

    def __call__(self, shape: Any, dtype: Any, alignment: int | None = None) -> Any:
        """Return a fresh array of the thread's own.

        Parameters
        ----------
        shape : int or tuple of int
            Extents.
        dtype : dtype
            Type of the elements.
        alignment : int, optional
            Bytes; all arrays are aligned here.
        """
        clock = running("local.array")
        frame = users_frame(sys._getframe(1))
        _alignment("local.array", alignment)
        extents, kind = _extents("local.array", shape), dtype_of(dtype, "cuda.local.array")
        bound = clock.bound
        assert bound is not None
        site = (frame.f_code, frame.f_lasti)
        key = (-1, ("name", *site))
        name = clock.shared.get(key)
        if name is None:
            name = clock.shared[key] = _variable(*site) or "local array"
        if bound.profile is not None:
            check_dtype(f"local array `{name}`", kind, bound.profile)
        array: np.ndarray[Any, Any] = np.empty(extents, kind)
        if kind.names is None:
            poison(array)
        shadow = PrivateShadowMemory(clock) if bound.finds_unwritten else None
        return _made(clock, array, name, "private", shadow, max(kind.itemsize, 1), False)


class ConstantArrays(DialectIntrinsic):
    """``cuda.const.array_like``."""

    def __call__(self, ndarray: Any) -> Any:
        """Return an array of the same contents that nobody writes to.

        Parameters
        ----------
        ndarray : array_like
            What the host has under a global name.
        """
        clock = running("const.array_like")
        frame = users_frame(sys._getframe(1))
        key = (-1, ("constant", frame.f_code, frame.f_lasti))
        known = clock.shared.get(key)
        if known is None:
            name = _variable(frame.f_code, frame.f_lasti) or "constant array"
            given = ndarray.array if isinstance(ndarray, View) else getattr(ndarray, "constant", ndarray)
            array = np.array(given)
            array.flags.writeable = False
            bound = clock.bound
            assert bound is not None
            bound.unwritable[name] = CONSTANT
            known = clock.shared[key] = _made(clock, array, name, "global", None, max(array.itemsize, 1), False)
        return known
