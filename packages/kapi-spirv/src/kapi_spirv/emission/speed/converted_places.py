"""Floats that become places in arrays: a place that exists needs no saturation, and 32 bits hold it."""

from __future__ import annotations

import re

from ..ir.functions import MADE, NAME, Function, bounds, derived
from ..ir.packed import PACKED, arrays_of, field_of

__all__ = ["convert_places"]

_CONVERSION = re.compile(
    r"^(?:tail )?call (?:\w+\([^)]*\) )?i(32|64) @llvm\.fpto[su]i\.sat\.i\d+\.f\d+\("
    r"(half|float|double) (?:noundef )?([^)]+)\)"
)
_WIDENED = re.compile(r"^[sz]ext (?:nneg )?i32 (\S+) to i64$")
_PLACE = re.compile(
    r"^getelementptr (?:(?:inbounds|nuw|nusw) )*(\w+), ptr (addrspace\([13]\)) (%\"[^\"]*\"|%[-\w.$]+), i64 (\S+)$"
)
_ACCESS = re.compile(r"^  (?:\S+ = load [^,]+|store \S+ [^,]+), ptr addrspace\([13]\) ([^,]+), align")
_GLOBAL = re.compile(r"^load ptr addrspace\(1\), ptr (%\"[^\"]*\"|%[-\w.$]+)")
_LOCAL = re.compile(r"ptr addrspace\(3\)[^,%]* (%\"[^\"]*\"|%[-\w.$]+)")
_BYTES = {"i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}


def convert_places(text: str, is_small: bool) -> str:
    """LLVM IR text in which a float that is a place in an array, and nothing else, becomes one of 32 bits directly.

    An access of an element that is not there is an error, so the place of one that is read or written is not negative
    and less than the array's extent. The ends of the integer's range are never reached, and what is left of the
    conversion is 0 for nan, by one maximum. 31 bits count the elements of local memory, and of global arrays in
    launches with small extents.

    Places of atomic operations are left alone. Each is a call for one work-item. With so little around it Intel's
    compiler finds vectors not worth it, where a loop with the whole conversion in vectors takes 0.6 of the time.

    Parameters
    ----------
    text : str
        The IR, with `llvm.fptosi.sat` and `llvm.fptoui.sat`.
    is_small : bool
        Whether 31 bits hold all extents.
    """
    if "@llvm.fpto" not in text:
        return text
    lines = text.split("\n")
    sizes = {pointer: array.size for pointer, array in arrays_of(lines).items() if len(array.extents) == 1}
    for first, last in bounds(lines):
        if PACKED in lines[first]:
            _Conversions(Function(lines, first, last), first, last, sizes if is_small else {}).convert()
    return "\n".join(lines)


class _Conversions:
    """The floats of a kernel that become places.

    Parameters
    ----------
    function : Function
        The kernel.
    first, last : int
        The numbers of its first and last line.
    sizes : dict of int to int
        The bytes of an element of each global array of one axis, by the place of its pointer in the packed argument.
    """

    def __init__(self, function: Function, first: int, last: int, sizes: dict[int, int]) -> None:
        self._function, self._sizes = function, sizes
        self._local = set(_LOCAL.findall(function.lines[first]))
        self._uses: dict[str, list[int]] = {}
        for number in range(first + 1, last):
            for name in NAME.findall(function.lines[number].split(" = ", 1)[-1]):
                self._uses.setdefault(name, []).append(number)

    def convert(self) -> None:
        """Write the conversions of places anew."""
        for result, (_, code) in self._function.made.items():
            found = _CONVERSION.match(code)
            if found and self._is_place(result, found[1] == "32"):
                self._write(result, *found.groups())

    def _is_place(self, name: str, is_narrow: bool) -> bool:
        """Whether an integer is only used as the place of elements that are accessed, or widened and then so used."""
        used = self._used(name)
        for line in used:
            made = MADE.match(line)
            if made is None:
                return False
            if is_narrow:
                if not _WIDENED.match(made[2]) or not self._is_place(made[1], False):
                    return False
                continue
            place = _PLACE.match(made[2])
            if place is None or place[4] != name or not self._is_start(*place.groups()[:3]):
                return False
            if not all(self._is_access(line, made[1]) for line in self._used(made[1])):
                return False
        return bool(used)

    def _used(self, name: str) -> list[str]:
        """The lines that use a value."""
        return [self._function.lines[number] for number in self._uses.get(name, [])]

    def _is_start(self, element: str, space: str, pointer: str) -> bool:
        """Whether a pointer is to the first element of an array that is small enough."""
        if space == "addrspace(3)":
            return pointer in self._local
        loaded = _GLOBAL.match(self._function.made.get(pointer, ("", ""))[1])
        field = field_of(self._function, loaded[1]) if loaded else None
        return field is not None and self._sizes.get(field) == _BYTES.get(element, -1)

    @staticmethod
    def _is_access(line: str, pointer: str) -> bool:
        access = _ACCESS.match(line)
        return access is not None and access[1] == pointer and NAME.findall(line).count(pointer) == 1

    def _write(self, result: str, width: str, type_: str, value: str) -> None:
        above, whole, number = (derived(result, each) for each in ("is.above", "not.below", "place"))
        code = [
            f"  {above} = fcmp ogt {type_} {value}, 0.0",
            f"  {whole} = select i1 {above}, {type_} {value}, {type_} 0.0",
        ]
        if width == "64":
            code += [f"  {number} = fptosi {type_} {whole} to i32", f"  {result} = zext i32 {number} to i64"]
        else:
            code.append(f"  {result} = fptosi {type_} {whole} to i32")
        lines = self._function.lines
        at = next(
            n for n in self._function.blocks[self._function.made[result][0]] if lines[n].startswith(f"  {result} = ")
        )
        lines[at] = "\n".join(code)
