"""The code of a CPU module: object code for a linker in the process, behind what its launches must know."""

from __future__ import annotations

import re
import struct

__all__ = ["ObjectCode"]

_HEADER = struct.Struct("<8sQQQ")
_MAGIC = b"kapi-cpu"
_FORMATS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa")  # ELF, Mach-O, and COFF of two machines
# The name of a kernel's constant, which no format keeps elsewhere than with the long names; Mach-O's begin with "_".
_ENTRY = re.compile(rb"\0_?(kapi_\w+)\.info(?=\0)")
_MOST_LANES, _MOST_CONTEXT = 64, 1 << 24


class ObjectCode:
    """The contents of a module's bytes.

    - `lanes`: work-items that are computed at once.
    - `context_bytes`: bytes that each vector of work-items keeps at barriers; 0 for a kernel without barriers.
    - `image`: the object file.
    - `decisions`: those of the vectoriser, as `kapi_cpu.emission.explanation` writes them.
    """

    __slots__ = ("context_bytes", "decisions", "image", "lanes")

    def __init__(self, lanes: int, context_bytes: int, image: bytes, decisions: bytes = b"[]") -> None:
        self.lanes, self.context_bytes, self.image, self.decisions = lanes, context_bytes, image, decisions

    def __bytes__(self) -> bytes:
        header = _HEADER.pack(_MAGIC, self.lanes, self.context_bytes, len(self.decisions))
        return header + self.decisions + self.image

    @classmethod
    def of(cls, code: bytes) -> ObjectCode:
        """Read the bytes of a module.

        Raises `ValueError` if they are none.
        """
        if len(code) < _HEADER.size:
            raise ValueError("code must be that of a CPU module, got too few bytes")
        magic, lanes, context_bytes, length = _HEADER.unpack_from(code)
        decisions, image = code[_HEADER.size : _HEADER.size + length], code[_HEADER.size + length :]
        if magic != _MAGIC or not image.startswith(_FORMATS):
            raise ValueError("code must be that of a CPU module, got other bytes")
        if not 1 <= lanes <= _MOST_LANES or context_bytes > _MOST_CONTEXT or context_bytes % 64:
            raise ValueError(
                f"code must be that of a CPU module, got {lanes} lanes and a context of {context_bytes} bytes"
            )
        return cls(lanes, context_bytes, image, decisions)

    @property
    def entry_points(self) -> tuple[str, ...]:
        """The names of the kernels, by the image's table of symbols."""
        return tuple(sorted({name.decode() for name in _ENTRY.findall(self.image)}))
