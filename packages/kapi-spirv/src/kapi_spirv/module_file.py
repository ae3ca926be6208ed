"""A compiled kernel as bytes, for a file: each value is checked when it is read, and none is evaluated or looked up.

The first line names the format; 32 bytes of SHA-256 over all that follows; the length of a header in JSON, which holds
all but the large parts; the header; the SPIR-V; and the texts, compressed.  The checksum finds accidents.  It has no
secret, so it is no proof of who wrote a file: `read_module` holds for any bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from typing import Any

from kapi_lowering.results.packed import PackedLayout, Parameter
from kapi_sim.errors import KapiError, ModuleFileError
from kapi_sim.language import KernelOptions
from kapi_spirv import header_checks as check
from kapi_spirv.binary import entry_points
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import SpirvTarget

__all__ = ["read_module", "write_module"]

_FORMAT = b"kapi SPIR-V module 3\n"
_DIGEST_SIZE = 32
_PARAMETER = tuple(each.name for each in dataclasses.fields(Parameter))
_TEXTS = ("typed_ir", "llvm_ir", "optimized_llvm_ir")
_LONGEST_REASON = 400  # characters of a message that holds what the file says
_LARGEST_HEADER = 1 << 22  # bytes: JSON of this length takes some tens of milliseconds
_LARGEST_TEXTS = 1 << 26  # bytes once they are unpacked: a short file cannot ask for all memory


def write_module(module: SpirvModule, key: str = "") -> bytes:
    """Return the bytes of a file that holds `module`.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.
    key : str
        What it was compiled of, such as a digest; `read_module` compares it.

    Raises
    ------
    ModuleFileError
        If an exception that the kernel may raise has an argument that is no text, number or None, or the module is
        larger than files may be.

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
    header["key"] = key
    header["parameters"] = [
        {name: str(each.type) if name == "type" else getattr(each, name) for name in _PARAMETER}
        for each in module.parameters
    ]
    header["layout"] = [[each.owner, each.role, each.code] for each in module.layout.fields]
    header["failures"] = [
        [each.error, [check.spelled_argument(value) for value in each.args], each.filename, each.line]
        for each in module.failures
    ]
    header["target"], header["options"] = dataclasses.asdict(module.target), dataclasses.asdict(module.options)
    texts = json.dumps([getattr(module, name) for name in _TEXTS]).encode()
    packed = zlib.compress(texts, 1)
    header["sizes"] = [len(module.code), len(packed)]
    encoded = json.dumps(header).encode()
    if len(encoded) > _LARGEST_HEADER or len(texts) > _LARGEST_TEXTS:
        raise ModuleFileError(
            f"a module file must have at most {_LARGEST_HEADER} bytes of header and {_LARGEST_TEXTS} of text, got "
            f"{len(encoded)} and {len(texts)} for kernel `{module.name}`",
            code="module-file-too-large",
        )
    body = len(encoded).to_bytes(8, "little") + encoded + module.code + packed
    return _FORMAT + hashlib.sha256(body).digest() + body


def read_module(data: bytes, key: str | None = None) -> SpirvModule:
    """Return the module that `write_module` made bytes of.

    Nothing in the bytes is run, evaluated, imported or looked up by name, whoever wrote them.  To *launch* the module
    is to run its code, as with any program.

    Parameters
    ----------
    data : bytes
        The whole file.
    key : str, optional
        What the module must have been compiled of; left out, any.

    Raises
    ------
    ModuleFileError
        If it is of another format, cut short, changed, of another key, or says what no compiled kernel has.

    Examples
    --------
    >>> read_module(b"something else")
    Traceback (most recent call last):
    ...
    kapi_sim.errors.ModuleFileError: data must be a kapi SPIR-V module of format 3, got something else
    """
    start = len(_FORMAT) + _DIGEST_SIZE
    if not data.startswith(_FORMAT):
        raise ModuleFileError(
            "data must be a kapi SPIR-V module of format 3, got something else", code="module-file-format"
        )
    body = data[start:]
    if hashlib.sha256(body).digest() != data[len(_FORMAT) : start]:
        raise ModuleFileError(
            "data must be what was written, got bytes with another checksum: it was cut short or changed",
            code="module-file-changed",
        )
    try:
        return _module(body, key)
    except ModuleFileError:
        raise
    # JSON's nesting, numbers of too many digits, texts that are no UTF-8, compressed parts, SPIR-V, options, targets.
    except (ValueError, RecursionError, zlib.error, KapiError) as error:
        said = str(error)[:_LONGEST_REASON]
        raise ModuleFileError(
            f"data must be a module that kapi wrote, got one that cannot be: {said}", code="module-file-part"
        ) from error


def _module(body: bytes, key: str | None) -> SpirvModule:
    length = int.from_bytes(body[:8], "little")
    if len(body) < 8 or length > min(_LARGEST_HEADER, len(body) - 8):
        raise ModuleFileError(
            f"header of a module file must be within it and its limit, got {length} bytes", code="module-file-part"
        )
    end = 8 + length
    header = check.mapping(
        json.loads(body[8:end], parse_constant=_no_constant),
        "header",
        (
            *("name", "entry_point", "index_space", "ndim", "parameters", "layout", "failures", "target", "options"),
            *("capabilities", "extensions", "key", "sizes"),
        ),
    )
    if key is not None and header["key"] != key:
        raise check.refusal("key", f"that of its name, {key}, for else it is another file's content", header["key"])
    check.text(header["key"], "key")
    sizes = check.sequence(header["sizes"], "sizes")
    if any(type(size) is not int or size < 0 for size in sizes) or len(sizes) != 2 or end + sum(sizes) != len(body):
        raise check.refusal("sizes", "those of its parts", sizes)
    code = body[end : end + sizes[0]]
    entry_point = check.text(header["entry_point"], "entry_point")
    if entry_point not in entry_points(code):
        raise check.refusal("entry_point", "that of a kernel in the SPIR-V", entry_point)
    index_space = check.one_of(header["index_space"], "index_space", ("item", "nd_item"))
    ndim = check.one_of(header["ndim"], "ndim", (1, 2, 3))
    parameters = check.parameters(header["parameters"])
    fields = check.layout_fields(header["layout"])
    failures = check.failures(header["failures"])
    check.suited_layout(fields, index_space, ndim, parameters, bool(failures))
    texts = check.texts(json.loads(_unpacked(body[end + sizes[0] :])), "texts")
    if len(texts) != len(_TEXTS):
        raise check.refusal("texts", f"{len(_TEXTS)} texts", len(texts))
    target = check.settings(header["target"], "target", SpirvTarget)
    options = check.settings(header["options"], "options", KernelOptions)
    typed_ir, llvm_ir, optimized_llvm_ir = texts
    return SpirvModule(
        name=check.text(header["name"], "name"),
        code=code,
        entry_point=entry_point,
        index_space=index_space,  # type: ignore[arg-type]  # one of the two
        ndim=ndim,
        parameters=parameters,
        layout=PackedLayout.of(fields),
        failures=failures,
        target=SpirvTarget(**target),
        options=KernelOptions(**options),
        capabilities=check.texts(header["capabilities"], "capabilities"),
        extensions=check.texts(header["extensions"], "extensions"),
        typed_ir=typed_ir,
        llvm_ir=llvm_ir,
        optimized_llvm_ir=optimized_llvm_ir,
    )


def _unpacked(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    texts = unpacker.decompress(packed, _LARGEST_TEXTS)
    if not unpacker.eof or unpacker.unused_data:
        raise ModuleFileError(
            f"texts in a module file must be at most {_LARGEST_TEXTS} bytes, whole, and its end",
            code="module-file-part",
        )
    return texts


def _no_constant(word: str) -> Any:
    raise ModuleFileError(f"numbers in a module file must be finite, got {word}", code="module-file-part")
