"""The source of functions that pack the arguments of launches like one: parts that platforms share."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.intrinsics.records import field_dtypes

__all__ = ["Pair", "PackingSource", "written_pairs"]


class Pair(NamedTuple):
    """Two arrays of which a kernel writes one.

    A launch like the plan's has them apart, or as one view where they may be one, or as the plan's own launch has them:
    that was looked at element by element, and what is between its elements, as columns of one matrix are, counts.

    - `first`, `second`: what names them.
    - `reach`, `other_reach`: from where to where each reaches beyond its own address, in bytes.
    - `may_be_one`: whether they may be one view.
    - `distance`: from the first one's address to the second one's in the launch that the plan is made of, in bytes.
    """

    first: int
    second: int
    reach: tuple[int, int]
    other_reach: tuple[int, int]
    may_be_one: bool
    distance: int


_NUMBERS = (bool, int, float, complex)


class PackingSource:
    """The text of a function, and the values that it names.

    - `tests`, `stores`: expressions that hold for arguments like those of the launch, and statements that pack them
      into `buffer`.
    - `names`: what the text names.
    """

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.stores: list[str] = []
        self.names: dict[str, Any] = {"error": struct.error}

    def name(self, value: Any) -> str:
        """A name for a value."""
        made = f"k{len(self.names)}"
        self.names[made] = value
        return made

    def store_number(self, index: int, value: Any, fields: Sequence[Any]) -> bool:
        """Let argument `index` be stored as the number `value` is; False if it is none that is known."""
        return self._store_number(f"a{index}", value, fields)

    def store_members(self, index: int, value: Any, fields: Iterator[Sequence[Any]]) -> bool:
        """Let argument `index` be stored as the record or tuple `value` is; False if a member is no number.

        `fields` gives those of each number in it, in their order.
        """
        return self._store_members(f"a{index}", value, fields)

    def _store_number(self, name: str, value: Any, fields: Sequence[Any]) -> bool:
        is_own = type(value) in _NUMBERS
        if not is_own and (not isinstance(value, np.generic) or isinstance(value, np.void)):
            return False
        self.tests.append(f"type({name}) is {self.name(type(value))}")
        number = name if is_own else f"{name}.item()"
        self._store([f"({number}).real", f"({number}).imag"] if len(fields) == 2 else [number], fields)
        return True

    def _store_members(self, name: str, value: Any, fields: Iterator[Sequence[Any]]) -> bool:
        if isinstance(value, np.void):
            self._store_record(name, value, fields)
            return True
        if not isinstance(value, tuple):
            found = next(fields, None)
            return found is not None and self._store_number(name, value, found)
        self.tests.append(f"type({name}) is {self.name(type(value))} and len({name}) == {len(value)}")
        return all(self._store_members(f"{name}[{position}]", each, fields) for position, each in enumerate(value))

    def _store_record(self, name: str, value: np.void, fields: Iterator[Sequence[Any]]) -> None:
        """Let the numbers of a record be read at once, wherever they are in it."""
        dtype = self.name(value.dtype)
        self.tests.append(
            f"type({name}) is {self.name(type(value))} and ({name}.dtype is {dtype} or {name}.dtype == {dtype})"
        )
        numbers = [
            (offset, code, f"n{len(self.names)}_{position}")
            for position, (offset, code) in enumerate(_numbers(value.dtype, 0))
        ]
        form, end = "<", 0
        for offset, code, _ in sorted(numbers):
            form, end = f"{form}{offset - end}x{code}", offset + struct.calcsize("<" + code)
        read = self.name(struct.Struct(f"{form}{value.dtype.itemsize - end}x").unpack)
        self.stores.append(f"{', '.join(number for _, _, number in sorted(numbers))}, = {read}({name})")
        given = [number for _, _, number in numbers]
        while given:
            found = next(fields)
            self._store(given[: len(found)], found)
            del given[: len(found)]

    def _store(self, parts: Sequence[str], fields: Sequence[Any]) -> None:
        for part, field in zip(parts, fields, strict=True):
            store = self.name(struct.Struct("<" + field.code).pack_into)
            self.stores.append(f"{store}(buffer, {field.offset}, {part})")

    def function(self, lines: Sequence[str]) -> Any:
        """The function `pack` that these lines define."""
        exec("\n".join(lines), self.names)  # of texts of this package alone; values are named, not written
        return self.names["pack"]


_CODES = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"}
_CODES |= {"f2": "e", "f4": "f", "f8": "d", "c8": "ff", "c16": "dd"}


def _numbers(dtype: np.dtype[Any], start: int) -> Iterator[tuple[int, str]]:
    """The offset in bytes and the `struct` code of each number of a record, of the parts of complex ones."""
    for field, offset in field_dtypes(dtype).values():
        element = field.base
        for position in range(math.prod(field.shape)):
            at = start + offset + position * element.itemsize
            if element.names is not None:
                yield from _numbers(element, at)
                continue
            for code in _CODES[element.str[1:]]:
                yield at, code
                at += struct.calcsize(code)


def written_pairs(arrays: Sequence[tuple[int, ArrayFields, bool]], reads_apart: bool) -> Iterator[Pair]:
    """The pairs of arrays of a launch that was validated, of which one is written.

    With `reads_apart`, the module takes for granted that what is only read is no view of what is written.

    - `arrays`: what pairs name it by, where it is, and whether it is written.
    - `reads_apart`: as of the module's target.
    """
    for position, (name, one, writes_one) in enumerate(arrays):
        for other_name, other, writes_other in arrays[position + 1 :]:
            if not (writes_one or writes_other) or 0 in one.shape or 0 in other.shape:
                continue
            reach, other_reach = (
                (fields.span[0] - fields.pointer, fields.span[1] - fields.pointer) for fields in (one, other)
            )
            forms = [(each.shape, each.strides, each.dtype.itemsize) for each in (one, other)]
            may_be_one = forms[0] == forms[1] and (writes_one == writes_other or not reads_apart)
            yield Pair(name, other_name, reach, other_reach, may_be_one, other.pointer - one.pointer)
