"""A compiled kernel as bytes, for a file: checked when it is read, and never run as code.

The first line names the format; 32 bytes of SHA-256 over all that follows; the length of a header in JSON, which holds
all but the large parts; the header; the SPIR-V; and the texts, compressed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from typing import Any

from kapi_sim.spec import KernelOptions
from kapi_spirv.failures import Failure
from kapi_spirv.module import Field, PackedLayout, Parameter, SpirvModule
from kapi_spirv.target import SpirvTarget

__all__ = ["read_module", "write_module"]

_FORMAT = b"kapi SPIR-V module 2\n"
_DIGEST_SIZE = 32
_PARAMETER = tuple(each.name for each in dataclasses.fields(Parameter))
_TEXTS = ("typed_ir", "llvm_ir", "optimized_llvm_ir")


def write_module(module: SpirvModule) -> bytes:
    """Return the bytes of a file that holds `module`.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.

    Raises
    ------
    TypeError
        If an exception that the kernel may raise has an argument that JSON does not know.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_spirv import compile_kernel
    >>> from kapi_types import ItemType, UsmArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), UsmArrayType(types.float32, 1, "C")])
    >>> read_module(write_module(module)).code == module.code
    True
    """
    header = {
        each.name: getattr(module, each.name)
        for each in dataclasses.fields(module)
        if each.name not in ("code", *_TEXTS)
    }
    header["parameters"] = [
        {name: str(each.type) if name == "type" else getattr(each, name) for name in _PARAMETER}
        for each in module.parameters
    ]
    header["layout"] = {
        "fields": [dataclasses.astuple(each) for each in module.layout.fields],
        "size": module.layout.size,
    }
    header["failures"] = [_plain(each) for each in module.failures]
    header["target"], header["options"] = dataclasses.asdict(module.target), dataclasses.asdict(module.options)
    texts = zlib.compress(json.dumps([getattr(module, name) for name in _TEXTS]).encode(), 1)
    header["sizes"] = [len(module.code), len(texts)]
    encoded = json.dumps(header).encode()
    body = len(encoded).to_bytes(8, "little") + encoded + module.code + texts
    return _FORMAT + hashlib.sha256(body).digest() + body


def read_module(data: bytes) -> SpirvModule:
    """Return the module that `write_module` made bytes of.

    Parameters
    ----------
    data : bytes
        The whole file.

    Raises
    ------
    ValueError
        If it is of another format, cut short, or changed.

    Examples
    --------
    >>> read_module(b"something else")
    Traceback (most recent call last):
    ...
    ValueError: data must be a kapi SPIR-V module of format 2, got something else
    """
    start = len(_FORMAT) + _DIGEST_SIZE
    if not data.startswith(_FORMAT):
        raise ValueError("data must be a kapi SPIR-V module of format 2, got something else")
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(_FORMAT) : start]:
        raise ValueError("data must be what was written, got bytes with another checksum: it was cut short or changed")
    end = 8 + int.from_bytes(body[:8], "little")
    header: dict[str, Any] = json.loads(body[8:end])
    size, _ = header.pop("sizes")
    layout = header["layout"]
    texts = json.loads(zlib.decompress(body[end + size :]))
    target = {name: _as_tuple(value) for name, value in header["target"].items()}
    options = {name: _as_tuple(value) for name, value in header["options"].items()}
    return SpirvModule(
        **header
        | {
            "code": body[end : end + size],
            "parameters": tuple(Parameter(**each) for each in header["parameters"]),
            "layout": PackedLayout(tuple(Field(*each) for each in layout["fields"]), layout["size"]),
            "failures": tuple(Failure(**each | {"args": tuple(each["args"])}) for each in header["failures"]),
            "target": SpirvTarget(**target),
            "options": KernelOptions(**options),
            "capabilities": tuple(header["capabilities"]),
            "extensions": tuple(header["extensions"]),
        }
        | dict(zip(_TEXTS, texts, strict=True))
    )


def _plain(failure: Failure) -> dict[str, Any]:
    for value in failure.args:
        if not isinstance(value, (str, int, float, bool, type(None))):
            raise TypeError(f"arguments of an exception must be text or numbers, got {value!r}")
    return dataclasses.asdict(failure)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
