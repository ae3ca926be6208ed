"""Assembled kernels on disk: what the driver has assembled of PTX once is not assembled again.

They are among the compiled kernels of `kapi_runtime.cache`, under keys that hold all that the assembler's result
depends on: the PTX, the device's architecture, the driver's version, and the registers that a work-item may have.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kapi_runtime import cache
from kapi_runtime.cuda.devices import driver
from kapi_sim.errors import ModuleFileError

if TYPE_CHECKING:
    from kapi_runtime.cuda.devices.device import CudaDevice

__all__ = ["drop", "key_of", "load", "store"]

_FORM = b"kapi cubin 1\n"


@dataclass(frozen=True, slots=True)
class _Cubin:
    name: str
    code: bytes


def key_of(code: bytes, device: CudaDevice, max_registers: int | None) -> str:
    """Return the key of what a device's driver makes of PTX.

    - `code`: the PTX.
    - `device`: what it is assembled for.
    - `max_registers`: most registers of a work-item; None for as many as it wants.
    """
    facts = (*device.compute_capability, *driver.version(), max_registers)
    return hashlib.sha256(_FORM + repr(facts).encode() + b"\n" + code).hexdigest() + ".cubin"


def load(key: str) -> bytes | None:
    """Return the cubin that is kept under a key, or None."""
    found: Any = cache.load(key, _read)
    return None if found is None else bytes(found.code)


def store(key: str, name: str, cubin: bytes) -> None:
    """Keep the cubin of a kernel under a key; whatever prevents it is only noted."""
    made: Any = _Cubin(name, cubin)
    cache.store(key, made, _written)


def drop(key: str) -> None:
    """Remove the cubin that is kept under a key: it is complete, and yet the driver refuses it."""
    cache.drop(key, "the driver refused it")


def _read(data: bytes, key: str) -> Any:
    head, _, cubin = data.removeprefix(_FORM).partition(b"\n")
    if not data.startswith(_FORM) or head.decode(errors="replace") != _checksum(key, cubin):
        raise ModuleFileError(
            f"data must be a cubin that kapi has kept under {key}, got something else", code="module-file-format"
        )
    return _Cubin("", cubin)


def _written(cubin: _Cubin, key: str) -> bytes:
    return _FORM + _checksum(key, cubin.code).encode() + b"\n" + cubin.code


def _checksum(key: str, cubin: bytes) -> str:
    return hashlib.sha256(key.encode() + cubin).hexdigest()
