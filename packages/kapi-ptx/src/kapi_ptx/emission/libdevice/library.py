"""NVIDIA's libdevice, function by function.

It is one file of bitcode with 352 functions; parsing it takes longer than compiling a kernel. So it is cut once into
the texts of its parts, which are kept in memory and in a file of kapi's cache.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from kapi_lowering.emission.pipeline import run_pass

from ..legalize.shift_counts import define_wide_shifts
from . import cached_file

__all__ = ["Library", "LibraryError", "libdevice_path", "library"]

_FORMAT = "kapi libdevice 4"
_BLOCK = re.compile(r"^define [^\n]*?@(\w+)\([^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_SHIFT = re.compile(r"= (?:shl|lshr|ashr) [^\n]*, %")
_LINE = re.compile(r"^(?:declare [^\n]*?@([\w.]+)\([^\n]*|@([\w.]+) = [^\n]*)\n", re.MULTILINE)
_SHARED = re.compile(r"^(?:%[\w.]+ = type|attributes #\d+ =)[^\n]*\n", re.MULTILINE)
_USED = re.compile(r"@([\w.]+)")
_METADATA = re.compile(r", ![\w.]+ !\d+")
_REFLECTED = re.compile(r"call i32 @__nvvm_reflect\(ptr @([\w.]+)\)(?: #\d+)?")
_QUESTION = re.compile(r'^@([\w.]+) = [^\n]* c"(\w+)\\00"', re.MULTILINE)
_ANSWERS = {"__CUDA_FTZ": "0", "__CUDA_PREC_SQRT": "1", "__CUDA_ARCH": "kapi.architecture"}
"""The parameters of libdevice: floats have subnormals, square roots are exact, and the architecture."""


class LibraryError(Exception):
    """A kernel needs libdevice, which is not there, or does not have a function; the message says what to do."""


class Library:
    """The parts of a libdevice.

    - `shared`: what stands in front of each cut: types and attributes.
    - `spans`: each function, declaration and variable by its name, to where its text is in `packed`.
    - `packed`: the texts, each of them compressed.
    """

    def __init__(self, shared: str, spans: dict[str, tuple[int, int]], packed: bytes) -> None:
        self._shared, self._spans, self._packed = shared, spans, packed

    @classmethod
    def of(cls, shared: str, parts: dict[str, str]) -> Library:
        """The library of these parts."""
        spans, packed = {}, b""
        for name, text in parts.items():
            compressed = zlib.compress(text.encode())
            spans[name] = (len(packed), len(packed) + len(compressed))
            packed += compressed
        return cls(shared, spans, packed)

    @classmethod
    def unpacked(cls, data: bytes) -> Library:
        """The library that `to_bytes` made bytes of."""
        index, _, packed = data.partition(b"\n")
        shared, spans = json.loads(index)
        return cls(shared, spans, packed)

    def to_bytes(self) -> bytes:
        """The library as bytes, of which few are looked at when a function is asked for."""
        return json.dumps([self._shared, self._spans]).encode() + b"\n" + self._packed

    def functions(self, names: list[str], sm: int) -> str:
        """LLVM IR text with these functions and all that they use.

        Raises `LibraryError` if there is no function of a name.
        """
        missing = [name for name in names if name not in self._spans]
        if missing:
            raise LibraryError(f"{', '.join(missing)} (NVIDIA's libdevice has no function of that name)")
        found: dict[str, str] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                start, end = self._spans[name]
                found[name] = zlib.decompress(self._packed[start:end]).decode()
                waiting += [each for each in _USED.findall(found[name]) if each in self._spans]
        return (self._shared + "".join(found.values())).replace(_ANSWERS["__CUDA_ARCH"], str(sm * 10))


def library(needed: list[str], folder: str) -> Library:
    """The libdevice that `cuda.pathfinder` finds.

    - `needed`: the functions that it is needed for, for the message.
    - `folder`: where its cut is kept; empty for nowhere.

    Raises `LibraryError` if there is none.
    """
    path = libdevice_path()
    if path is None:
        raise LibraryError(
            f"{', '.join(needed)} of NVIDIA's libdevice, which is not installed: install kapi-ptx[libdevice]"
        )
    return _read(path, folder)


def libdevice_path() -> Path | None:
    """Return the path of NVIDIA's libdevice: of its wheel, or of a CUDA toolkit; None if there is none."""
    try:
        # Here, where it is needed: most kernels do without, and its import takes as long as their compilation.
        from cuda.pathfinder import find_bitcode_lib
    except ImportError:
        return None
    try:
        return Path(find_bitcode_lib("device"))
    except RuntimeError:  # its own for "not found" among them
        return None


@cache
def _read(path: Path, folder: str) -> Library:
    """The library of a file, from its cut in the folder if that is there."""
    content = path.read_bytes()
    digest = hashlib.sha256(content + f"{_FORMAT} {llvmlite.__version__}".encode()).hexdigest()
    name = f"libdevice-{digest}.cut"
    kept = cached_file.read(folder, name)
    if kept is not None:
        return Library.unpacked(kept)
    cut = Library.of(*_cut(str(llvm.parse_bitcode(content))))
    cached_file.write(folder, name, cut.to_bytes())
    return cut


def _cut(text: str) -> tuple[str, dict[str, str]]:
    """The shared lines of a module's text, and its parts by name."""
    questions = dict(_QUESTION.findall(text))
    # Left to LLVM, square roots would be approximate.
    text = _REFLECTED.sub(lambda found: f"add i32 0, {_ANSWERS[questions[found[1]]]}", _METADATA.sub("", text))
    parts = {
        found[1]: run_pass(define_wide_shifts, found[0]) if _SHIFT.search(found[0]) else found[0]
        for found in _BLOCK.finditer(text)
    }
    outside = _BLOCK.sub("", text)
    parts |= {found[1] or found[2]: found[0] for found in _LINE.finditer(outside)}
    return "".join(_SHARED.findall(outside)), parts
