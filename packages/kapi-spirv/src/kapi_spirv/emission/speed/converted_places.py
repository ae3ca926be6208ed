"""Floats that become places in arrays: a place that exists needs no saturation, and 32 bits hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..ir.functions import MADE, NAME, Function, bounds, derived
from ..ir.packed import PACKED, SIZES, array_of, arrays_of

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
_ATOMIC = re.compile(r"^  (?:\S+ = )?(?:tail )?call [^@]*@_Z\d+__spirv_Atomic\w+\(ptr addrspace\([13]\) ([^,]+), ")
_LANGUAGE = "!opencl.ocl.version ="
_LOCAL = re.compile(r"ptr addrspace\(3\)[^,%]* (%\"[^\"]*\"|%[-\w.$]+)")


def convert_places(text: str, is_small: bool) -> str:
    """LLVM IR text in which a float that is a place in an array, and nothing else, becomes one of 32 bits directly.

    An access of an element that is not there is an error, so the place of one that is read or written is not negative
    and less than the array's extent. The ends of the integer's range are never reached, and what is left of the
    conversion is 0 for nan, by one maximum. 31 bits count the elements of local memory, and of global arrays in
    launches with small extents.

    Places of atomic operations are converted so, too. Each operation is done for one work-item after the other, and
    with so little around it Intel's compiler for CPUs finds vectors not worth it, where they take 0.85 of the time. It
    weighs that only in modules that call themselves OpenCL C, so a module with such a place does not.

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
    has_atomic = False
    for first, last in bounds(lines):
        if PACKED in lines[first]:
            conversions = _Conversions(Function(lines, first, last), first, last, sizes if is_small else {})
            conversions.convert()
            has_atomic |= conversions.has_atomic
    return "\n".join(line for line in lines if not (has_atomic and line.startswith(_LANGUAGE)))


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

    Attributes
    ----------
    has_atomic : bool
        Whether an atomic operation is done at one of the places that were converted.
    """

    def __init__(self, function: Function, first: int, last: int, sizes: dict[int, int]) -> None:
        self.has_atomic = False
        self._function, self._sizes = function, sizes
        self._local = set(_LOCAL.findall(function.lines[first]))
        self._uses: dict[str, list[int]] = {}
        for number in range(first + 1, last):
            for name in NAME.findall(function.lines[number].split(" = ", 1)[-1]):
                self._uses.setdefault(name, []).append(number)

    def convert(self) -> None:
        """Write the conversions of places anew."""
        lines = self._function.lines
        for number in (each for numbers in self._function.blocks.values() for each in numbers):
            made = MADE.match(lines[number])
            found = _CONVERSION.match(made[2]) if made else None
            if made and found and self._is_place(made[1], found[1] == "32"):
                lines[number] = _converted(made[1], *found.groups())
                self.has_atomic |= any(map(_ATOMIC.match, self._accesses(made[1])))

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
        array = array_of(self._function, pointer)
        return array is not None and array[1] == [pointer] and self._sizes.get(array[0]) == SIZES.get(element, -1)

    def _accesses(self, name: str) -> Iterator[str]:
        """The lines that access an element at a place, which is used for nothing else."""
        for made in map(MADE.match, self._used(name)):
            if made:
                yield from self._accesses(made[1]) if _WIDENED.match(made[2]) else self._used(made[1])

    @staticmethod
    def _is_access(line: str, pointer: str) -> bool:
        access = _ACCESS.match(line) or _ATOMIC.match(line)
        return access is not None and access[1] == pointer and NAME.findall(line).count(pointer) == 1


def _converted(result: str, width: str, type_: str, value: str) -> str:
    """The lines of a conversion to 32 bits of a float that is not negative, or is nan."""
    above, whole, number = (derived(result, each) for each in ("is.above", "not.below", "place"))
    code = [
        f"  {above} = fcmp ogt {type_} {value}, 0.0",
        f"  {whole} = select i1 {above}, {type_} {value}, {type_} 0.0",
    ]
    if width == "64":
        code += [f"  {number} = fptosi {type_} {whole} to i32", f"  {result} = zext i32 {number} to i64"]
    else:
        code.append(f"  {result} = fptosi {type_} {whole} to i32")
    return "\n".join(code)
