"""Tables of what the arrays of a plan must be, filled in for the native code that reads arrays of a library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from kapi_runtime.cuda.native.structures import ArrayPair, ArrayRow, ArrayTable
from kapi_runtime.native.packing_source import Pair

__all__ = ["HEAD", "LOWEST", "WORD", "FilledTable", "filled", "offset_of", "word_at"]

WORD = 8
HEAD = 2 * WORD  # what each object begins with
LOWEST = 1 << 16  # no address of memory is lower


class FilledTable(NamedTuple):
    """A table for native code.

    - `address`: where it is.
    - `kept`: what its addresses are of.
    """

    address: int
    kept: tuple[Any, ...]


def filled(table: ArrayTable, rows: Sequence[dict[str, Any]], pairs: Iterable[Pair], *kept: Any) -> FilledTable:
    """Fill in the rows and pairs of a table.

    - `table`: the table, without rows and pairs.
    - `rows`: the fields of each array's row; `shape` and `strides` are tuples.
    - `pairs`: pairs of arrays, one of them written, named by where their addresses are packed; those of other tables
      may be among them that are read before.
    - `*kept`: what the table's addresses are of.
    """
    held_rows, held_pairs = (ArrayRow * max(1, len(rows)))(), [ArrayPair(*_flat(pair)) for pair in pairs]
    vectors = []
    for row, fields in zip(held_rows, rows, strict=False):
        for name, value in fields.items():
            if isinstance(value, tuple):
                vectors.append((ctypes.c_ssize_t * len(value))(*value))
                value = ctypes.addressof(vectors[-1])
            setattr(row, name, value)
    all_pairs = (ArrayPair * max(1, len(held_pairs)))(*held_pairs)
    table.count, table.rows = len(rows), ctypes.addressof(held_rows)
    table.pair_count, table.pairs = len(held_pairs), ctypes.addressof(all_pairs)
    return FilledTable(ctypes.addressof(table), (table, held_rows, all_pairs, vectors, *kept))


def _flat(pair: Pair) -> tuple[int, ...]:
    return pair.first, pair.second, *pair.reach, *pair.other_reach, pair.may_be_one, pair.distance


def word_at(address: int) -> int:
    """Return the word at an address."""
    return int(ctypes.c_size_t.from_address(address).value)


def offset_of(probes: Sequence[Any], end: int, is_there: Callable[[Any, int], bool], start: int = HEAD) -> int | None:
    """Return the only offset before an end at which all probes have something; None if there is none, or are several.

    - `probes`: objects of one class, or whatever `is_there` takes.
    - `end`: the size of what is looked at, in bytes.
    - `is_there`: whether a probe has it at an offset.
    - `start`: where to begin.
    """
    found = [at for at in range(start, end - WORD + 1, WORD) if all(is_there(probe, at) for probe in probes)]
    return found[0] if len(found) == 1 else None
