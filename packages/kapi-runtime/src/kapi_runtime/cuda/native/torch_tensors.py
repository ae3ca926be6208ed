"""PyTorch's tensors for native code: DLPack's exchange in C tells what each is, and which stream is current.

The exchange does not tell whether a tensor wants gradients, or is conjugated or negated when it is read.  Where PyTorch
keeps that is learned of tensors that are made for it and that differ in it; where it is not found, the tensors are
asked for that by their attributes.  A version of PyTorch without the exchange is asked for all by attributes.

References
----------
DLPack's ``dlpack.h``, ``DLPackExchangeAPI``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kapi_runtime.cuda.native.array_tables import LOWEST, WORD, FilledTable, filled, offset_of, word_at
from kapi_runtime.cuda.native.structures import TorchTable
from kapi_runtime.native.loading import capsule_address
from kapi_runtime.native.packing_source import Pair
from kapi_runtime.platform.dlpack import CPU, DlpackTensor

__all__ = ["Exchange", "exchange_of", "learned_layout", "torch_table"]

_VERSION = 1  # the major one, whose structure this is
_SIZE = 192  # bytes of what a tensor is in C++, at least
_IS_VERSION = 0  # places of words in the exchange's structure
_TENSOR_OF_OBJECT, _CURRENT_STREAM = 5, 6
_REQUIRES_GRAD = sys.intern("requires_grad")


class Exchange(NamedTuple):
    """The addresses of C functions by which a library tells of its arrays.

    - `tensor_of_object`: fills in a `DlpackTensor` for an array, and copies nothing.
    - `current_stream`: tells the current stream of a device.
    """

    tensor_of_object: int
    current_stream: int


@cache
def exchange_of(tensor_type: type) -> Exchange | None:
    """Return what a class of tensors exchanges by; None if it has no such functions."""
    capsule = getattr(tensor_type, "__dlpack_c_exchange_api__", None)
    try:
        structure = capsule_address(capsule)
        words = [word_at(structure + WORD * address) for address in range(_CURRENT_STREAM + 1)]
        made = Exchange(words[_TENSOR_OF_OBJECT], words[_CURRENT_STREAM])
        known = words[_IS_VERSION] & 0xFFFFFFFF == _VERSION and all(made)
        return made if known and _is_truthful(made, sys.modules["torch"]) else None
    except Exception:  # whatever a version has changed, attributes serve
        return None


@cache
def learned_layout(tensor_type: type) -> dict[str, int] | None:
    """Return the offsets of what DLPack does not tell, by the names of `TorchTable`; None if they are unknown."""
    try:
        return _learned(sys.modules["torch"])
    except Exception:  # whatever a version has changed, attributes serve
        return None


def torch_table(
    values: Sequence[tuple[int, Any]], addresses: Sequence[int], pairs: Iterable[Pair], ordinal: int, stream: int
) -> FilledTable | None:
    """Return the table of tensors like these; None if native code cannot read them.

    - `values`: tensors of a launch, and which argument each is.
    - `addresses`: where the address of each is packed.
    - `pairs`: what must be apart, or one view.
    - `ordinal`: the device.
    - `stream`: the stream that must be PyTorch's current one.
    """
    tensor_type = type(values[0][1])
    exchange = exchange_of(tensor_type)  # type: ignore[arg-type]  # classes are hashable
    if exchange is None or any(type(value) is not tensor_type for _, value in values):
        return None
    layout = learned_layout(tensor_type) or {}  # type: ignore[arg-type]
    tensor, told = DlpackTensor(), ctypes.c_void_p()
    rows = []
    for (index, value), address in zip(values, addresses, strict=True):
        seen = _seen(exchange, value, tensor)
        rows.append({
            "index": index, "element": _element(seen), "rank": seen.rank, "shape": tuple(value.shape),
            "strides": value.stride(), "itemsize": value.element_size(), "place": address,
            "keys": word_at(value._cdata + layout["keys_at"]) if layout else 0,
        })  # fmt: skip
    table = TorchTable(
        array_type=id(tensor_type),
        device=ordinal,
        tensor=ctypes.addressof(tensor),
        told_stream=ctypes.addressof(told),
        stream=stream,
        requires_grad=id(_REQUIRES_GRAD),
        false=id(False),
        **exchange._asdict(),
        **layout,
    )
    return filled(table, rows, pairs, tensor, told, tensor_type)


def _seen(exchange: Exchange, value: Any, into: DlpackTensor) -> DlpackTensor:
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
    if kind(exchange.tensor_of_object)(value, ctypes.addressof(into)):
        raise ValueError("the exchange must tell of a tensor, got none")
    return into


def _element(seen: DlpackTensor) -> int:
    return int(seen.code | seen.bits << 8 | seen.lanes << 16)


def _is_truthful(exchange: Exchange, torch: Any) -> bool:
    """Whether a tensor is, by the exchange, what it is by its attributes."""
    base = torch.zeros((4, 6), dtype=torch.int16, device="cpu")
    for value in (base, base[1:, ::2].T):
        seen = _seen(exchange, value, DlpackTensor())
        shape, strides = seen.shape[: seen.rank], seen.strides[: seen.rank]
        if (seen.data or 0) + seen.byte_offset != value.data_ptr() or seen.device_type != CPU:
            return False
        if (tuple(shape), tuple(strides)) != (tuple(value.shape), value.stride()):
            return False
        if (seen.code, seen.bits, seen.lanes) != (0, np.dtype("int16").itemsize * 8, 1):
            return False
    return True


def _learned(torch: Any) -> dict[str, int] | None:
    def made(**options: Any) -> Any:
        return torch.zeros(3, device="cpu", **options)

    plain = [made(), made(dtype=torch.complex64), made(dtype=torch.int8)]
    recorded = [made(requires_grad=True), made(requires_grad=True, dtype=torch.float64)]
    conjugated, views = made(dtype=torch.complex64).conj(), [made()[1:]]
    probes = [*plain, *recorded, conjugated, conjugated.imag, *views]
    keys = {id(probe): torch._C._dispatch_keys(probe).raw_repr() for probe in probes}
    if len(set(keys.values())) < 3:  # of a plain one, a conjugated and a negated one
        return None
    size = type(plain[0]).__basicsize__
    layout = {
        "implementation_at": offset_of(probes, size, lambda probe, at: word_at(id(probe) + at) == probe._cdata),
        "keys_at": offset_of(probes, _SIZE, lambda probe, at: word_at(probe._cdata + at) == keys[id(probe)], WORD),
        "gradient_at": offset_of(
            [*plain, *recorded],
            _SIZE,
            lambda probe, at: (
                word_at(probe._cdata + at) > LOWEST if probe.requires_grad else word_at(probe._cdata + at) == 0
            ),
            WORD,
        ),
    }
    found = {name: at for name, at in layout.items() if at is not None}
    return found if len(found) == len(layout) else None
