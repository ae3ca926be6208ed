"""Assembled kernels on disk: what the driver has assembled of PTX once is not assembled again.

They are beside the compiled kernels of `kapi_runtime.cache`, under keys that hold all that the assembler's result
depends on: the PTX, the device's architecture, the driver's version, and the registers that a work-item may have.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kapi_runtime import cache
from kapi_runtime.cuda import driver

if TYPE_CHECKING:
    from kapi_runtime.cuda.devices import CudaDevice

__all__ = ["drop", "key_of", "load", "store"]

_FORM = b"kapi cubin 1\n"


def key_of(code: bytes, device: CudaDevice, max_registers: int | None) -> str:
    """Return the key of what a device's driver makes of PTX.

    Parameters
    ----------
    code : bytes
        The PTX.
    device : CudaDevice
        What it is assembled for.
    max_registers : int or None
        Most registers of a work-item; None for as many as it wants.
    """
    told = (*device.compute_capability, *driver.version(), max_registers)
    return hashlib.sha256(_FORM + repr(told).encode() + b"\n" + code).hexdigest()


def load(key: str) -> bytes | None:
    """Return the cubin that is kept under a key, or None."""
    data = cache.load_bytes(key)
    if data is None:
        return None
    head, _, cubin = data.partition(b"\n")[2].partition(b"\n")
    if not data.startswith(_FORM) or head.decode(errors="replace") != hashlib.sha256(cubin).hexdigest():
        cache.drop(key, "it is no cubin, or was changed")
        return None
    return cubin


def store(key: str, cubin: bytes) -> None:
    """Keep a cubin under a key; whatever stands in the way is only noted."""
    cache.store_bytes(key, _FORM + hashlib.sha256(cubin).hexdigest().encode() + b"\n" + cubin)


def drop(key: str) -> None:
    """Remove the cubin that is kept under a key: the driver refuses it."""
    cache.drop(key, "the driver refused it")
