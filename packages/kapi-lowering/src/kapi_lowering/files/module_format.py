"""A compiled kernel as bytes, for a file: each value is checked when it is read, and none is evaluated or looked up.

The first line names the format; 32 bytes of SHA-256 over all that follows; the length of a header in JSON, which holds
all but the large parts; the header; the code; and the texts, compressed.  The checksum finds accidents.  It has no
secret, so it is no proof of who wrote a file: reading holds for any bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kapi_lowering.files import header_checks as check
from kapi_lowering.results.kernel_module import KernelModule
from kapi_lowering.results.packed_argument import PackedLayout, Parameter
from kapi_lowering.target import Target
from kapi_sim.errors import KapiError, ModuleFileError
from kapi_sim.language import KernelOptions
from kapi_sim.short_repr import short_repr

__all__ = ["ModuleFormat"]

M = TypeVar("M", bound=KernelModule)

_DIGEST_SIZE = 32
_PARAMETER = tuple(each.name for each in dataclasses.fields(Parameter))
_TEXTS = ("typed_ir", "llvm_ir", "optimized_llvm_ir")
_SHARED = (
    "name",
    "entry_point",
    "index_space",
    "ndim",
    "parameters",
    "layout",
    "failures",
    "notes",
    "target",
    "options",
)
_LONGEST_REASON = 400  # characters of a message that holds what the file says
_LARGEST_HEADER = 1 << 22  # bytes: JSON of this length takes some tens of milliseconds
_LARGEST_TEXTS = 1 << 26  # bytes once they are unpacked: a short file cannot ask for all memory
_SHOWN = 40  # characters of texts that are none
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ModuleFormat(Generic[M]):
    """The files of one code generator.

    Attributes
    ----------
    name : str
        What messages call its code, such as "SPIR-V".
    number : int
        The format's, raised when what a file holds is changed.
    module, target : type
        The class of its modules and that of its targets.
    entry_points : callable
        The names of the kernels in its code; a ValueError or KapiError where the bytes are none.
    own : mapping of str to callable
        The fields that its modules have beyond those of all, each with the function that checks its value in a header
        and returns it.
    check_module : callable, optional
        Raises ModuleFileError for a module whose own fields do not suit the others.
    """

    name: str
    number: int
    module: type[M]
    target: type[Target]
    entry_points: Callable[[bytes], tuple[str, ...]]
    own: Mapping[str, Callable[[Any, str], Any]] = field(default_factory=dict)
    check_module: Callable[[M], object] | None = None

    @property
    def _start(self) -> bytes:
        return f"kapi {self.name} module {self.number}\n".encode()

    def write(self, module: M, key: str = "") -> bytes:
        """Return the bytes of a file that holds `module`; see `TargetCompiler.write_module`."""
        header = {name: getattr(module, name) for name in (*_SHARED, *self.own)}
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
        header["target"] = dataclasses.asdict(module.target)  # type: ignore[call-overload]  # a subclass is one
        header["options"] = dataclasses.asdict(module.options)
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
        return self._start + hashlib.sha256(body).digest() + body

    def read(self, data: bytes, key: str | None = None) -> M:
        """Return the module that `write` made bytes of; see `TargetCompiler.read_module`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ModuleFileError(
                f"data must be the bytes of a kapi {self.name} module, got {short_repr(data)}",
                code="module-file-format",
            )
        data = bytes(data)
        begin = len(self._start)
        start = begin + _DIGEST_SIZE
        if not data.startswith(self._start):
            raise ModuleFileError(
                f"data must be a kapi {self.name} module of format {self.number}, got something else",
                code="module-file-format",
            )
        body = data[start:]
        if hashlib.sha256(body).digest() != data[begin:start]:
            raise ModuleFileError(
                "data must be what was written, got bytes with another checksum: it was cut short or changed",
                code="module-file-changed",
            )
        try:
            return self._module(body, key)
        except ModuleFileError:
            raise
        # JSON's nesting, numbers of too many digits, texts that are no UTF-8, compressed parts, code, options, targets.
        except (ValueError, RecursionError, zlib.error, KapiError) as error:
            said = str(error)[:_LONGEST_REASON]
            raise ModuleFileError(
                f"data must be a module that kapi wrote, got one that cannot be: {said}", code="module-file-part"
            ) from error

    def _module(self, body: bytes, key: str | None) -> M:
        length = int.from_bytes(body[:8], "little")
        if len(body) < 8 or length > min(_LARGEST_HEADER, len(body) - 8):
            raise ModuleFileError(
                f"header of a module file must be within it and its limit, got {length} bytes", code="module-file-part"
            )
        end = 8 + length
        header = check.mapping(
            json.loads(body[8:end], parse_constant=_no_constant, object_pairs_hook=_each_once),
            "header",
            (*_SHARED, *self.own, "key", "sizes"),
        )
        if key is not None and header["key"] != key:
            raise check.unfit("key", f"that of its name, {key}, for else it is another file's content", header["key"])
        check.text(header["key"], "key")
        sizes = check.sequence(header["sizes"], "sizes")
        if any(type(size) is not int or size < 0 for size in sizes) or len(sizes) != 2 or end + sum(sizes) != len(body):
            raise check.unfit("sizes", "those of its parts", sizes)
        code = body[end : end + sizes[0]]
        entry_point = check.text(header["entry_point"], "entry_point")
        if entry_point not in self.entry_points(code):
            raise check.unfit("entry_point", f"that of a kernel in the {self.name}", entry_point)
        index_space = check.one_of(header["index_space"], "index_space", ("item", "nd_item"))
        ndim = check.one_of(header["ndim"], "ndim", (1, 2, 3))
        parameters = check.parameters(header["parameters"])
        fields = check.layout_fields(header["layout"])
        failures = check.failures(header["failures"])
        check.suited_layout(fields, index_space, ndim, parameters, bool(failures))
        texts = _spelled_texts(_unpacked(body[end + sizes[0] :]).decode())
        target = check.settings(header["target"], "target", self.target)
        options = check.settings(header["options"], "options", KernelOptions)
        module = self.module(
            name=check.text(header["name"], "name"),
            code=code,
            entry_point=entry_point,
            index_space=index_space,  # type: ignore[arg-type]  # one of the two
            ndim=ndim,
            parameters=parameters,
            layout=PackedLayout.of(fields),
            failures=failures,
            notes=check.notes(header["notes"]),
            target=self.target(**target),
            options=KernelOptions(**options),
            **dict(zip(_TEXTS, texts, strict=True)),
            **{name: checked(header[name], name) for name, checked in self.own.items()},
        )
        if self.check_module is not None:
            self.check_module(module)
        return module


def _unpacked(packed: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    texts = unpacker.decompress(packed, _LARGEST_TEXTS)
    if not unpacker.eof or unpacker.unused_data:
        raise ModuleFileError(
            f"texts in a module file must be at most {_LARGEST_TEXTS} bytes, whole, and its end",
            code="module-file-part",
        )
    return texts


def _spelled_texts(spelled: str) -> list[str]:
    """Return the texts of a list as `json.dumps` writes it; lists of other objects would take all memory."""
    found: list[str] = []
    at = 0
    for opening in ("[", *[", "] * (len(_TEXTS) - 1)):
        if not spelled.startswith(f'{opening}"', at):
            raise check.unfit("texts", f"{len(_TEXTS)} texts", spelled[at : at + _SHOWN])
        text, at = _DECODER.raw_decode(spelled, at + len(opening))
        found.append(text)
    if spelled[at:] != "]":
        raise check.unfit("texts", f"{len(_TEXTS)} texts", spelled[at : at + _SHOWN])
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise check.unfit("names of a mapping", "each another one", [name for name, _ in pairs])
    return found


def _no_constant(word: str) -> Any:
    raise ModuleFileError(f"numbers in a module file must be finite, got {word}", code="module-file-part")
