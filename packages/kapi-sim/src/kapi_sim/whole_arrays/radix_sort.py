"""A radix sort by digits of eight bits, the lowest first, for numbers.

For each digit, the pieces of the array are counted, the counts are scanned digit by digit, and each piece moves its
elements to their places. On a GPU, a group sorts a tile by the digit in local memory first, so that neighbours of the
tile go to neighbouring places.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.language import LocalAccessor, NdItem, PrivateArray
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.group_algorithms import exclusive_scan_over_group
from kapi_sim.language.intrinsics.operators import plus
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.whole_arrays.group_steps import add_one, same
from kapi_sim.whole_arrays.onesweep import digit_of, key_of, onesweep
from kapi_sim.whole_arrays.scans import scan_into
from kapi_sim.whole_arrays.world import Pieces, Shape, World, known_dtype, scratch

__all__ = ["radix_sort"]

RUN = 8  # the most elements that a work-item holds
_BITS, _DIGITS = 8, 256
_HALF = 16  # digits of a round in local memory


@device_func
def spread(index):
    """The index of an element of a tile in local memory: runs of neighbours begin in different banks."""
    return index + (index >> 5)


@device_func
def spread_counter(index):
    """The same for counters, of which a work-item has sixteen neighbours."""
    return index + (index >> 4)


def count_alone(item: NdItem, a, counts, length: int, shift, mask, inversion: int, key) -> None:
    """Count the digits of a piece; each work-item takes a piece."""
    piece = item.get_global_id(0)
    pieces = item.get_global_range(0)
    found = PrivateArray(256, np.int64, fill_zeros=True)
    for i in range(piece * length, min((piece + 1) * length, a.shape[0])):
        found[digit_of(a[i], shift, mask, inversion, key)] += 1
    for each in range(256):
        counts[each * pieces + piece] = found[each]


def move_alone(
    item: NdItem, a, values, offsets, out, values_out, length: int, shift, mask, inversion: int, key
) -> None:
    """Move the elements of a piece to their places; each work-item takes a piece."""
    piece = item.get_global_id(0)
    pieces = item.get_global_range(0)
    following = PrivateArray(256, np.int64)
    for each in range(256):
        following[each] = offsets[each * pieces + piece]
    for i in range(piece * length, min((piece + 1) * length, a.shape[0])):
        bits = a[i]
        each = digit_of(bits, shift, mask, inversion, key)
        position = following[each]
        following[each] = position + 1
        out[position] = bits
        if values is not None:
            value = values[i]
        if values_out is not None:
            values_out[position] = value


def count_digits(item: NdItem, a, counts, found, length: int, shift, mask, inversion: int, key) -> None:
    """Count the digits of a piece in local memory; each group takes a piece."""
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    piece, pieces = group.get_group_linear_id(), group.get_group_range(0)
    for each in range(position, 256, size):
        found[each] = 0
    group_barrier(group)
    row, end = piece * length, min((piece + 1) * length, a.shape[0])
    while row + 4 * size <= end:
        w, x, y, z = (
            a[row + position],
            a[row + size + position],
            a[row + 2 * size + position],
            a[row + 3 * size + position],
        )
        add_one(found, digit_of(w, shift, mask, inversion, key))
        add_one(found, digit_of(x, shift, mask, inversion, key))
        add_one(found, digit_of(y, shift, mask, inversion, key))
        add_one(found, digit_of(z, shift, mask, inversion, key))
        row += 4 * size
    for i in range(row + position, end, size):
        add_one(found, digit_of(a[i], shift, mask, inversion, key))
    group_barrier(group)
    for each in range(position, 256, size):
        counts[each * pieces + piece] = found[each]


def move_digits(
    item: NdItem, a, values, offsets, out, values_out, tile, tile_values, counters, following, starts,
    length: int, run: int, shift, mask, inversion: int, key,
) -> None:  # fmt: skip
    """Sort the tiles of a piece by the digit, and move their elements to their places; each group takes a piece.

    A tile is sorted by the lower half of the digit, then by the upper half: each work-item counts the halves of its
    run, the counts of all are scanned half by half, and the work-item moves its run.
    """
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    piece, pieces = group.get_group_linear_id(), group.get_group_range(0)
    held = PrivateArray(RUN, a.dtype)
    counted, ranks = PrivateArray(RUN, np.int32), PrivateArray(RUN, np.int32)
    if values is not None:
        carried = PrivateArray(RUN, values.dtype)
    end = min((piece + 1) * length, a.shape[0])
    for each in range(position, 256, size):
        following[each] = offsets[each * pieces + piece]
    base = piece * length
    while base < end:
        filled = min(size * run, end - base)
        for j in range(RUN):
            held[j] = a[base + min(position + j * size, filled - 1)]
            if values is not None:
                carried[j] = values[base + min(position + j * size, filled - 1)]
        for j in range(RUN):
            i = position + j * size
            if i < filled:
                tile[spread(i)] = held[j]
                if tile_values is not None:
                    tile_values[spread(i)] = carried[j]
        first = position * run
        last = min(first + run, filled)
        for half in range(0, 8, 4):
            for each in range(16):
                counters[spread_counter(each * size + position)] = 0
            group_barrier(group)
            for j in range(RUN):
                held[j] = tile[spread(min(first + j, filled - 1))]
                if values is not None:
                    carried[j] = tile_values[spread(min(first + j, filled - 1))]
            for j in range(RUN):
                number = (digit_of(held[j], shift, mask, inversion, key) >> half) & 15
                counted[j] = spread_counter(number * np.int32(size) + np.int32(position))
            for j in range(RUN):
                if first + j < last:
                    ranks[j] = counters[counted[j]]
                    counters[counted[j]] = ranks[j] + 1
            group_barrier(group)
            # Sixteen neighbouring counters for each work-item.
            total = np.int32(0)
            for each in range(position * 16, position * 16 + 16):
                total += counters[spread_counter(each)]
            before = exclusive_scan_over_group(group, total, plus)
            for each in range(position * 16, position * 16 + 16):
                number = counters[spread_counter(each)]
                counters[spread_counter(each)] = before
                before += number
            group_barrier(group)
            for j in range(RUN):
                if first + j < last:
                    to = spread(counters[counted[j]] + ranks[j])
                    tile[to] = held[j]
                    if values is not None:
                        tile_values[to] = carried[j]
            group_barrier(group)
        # The first of each digit in the tile.
        for i in range(position, filled, size):
            each = digit_of(tile[spread(i)], shift, mask, inversion, key)
            if i == 0:
                starts[each] = 0
            elif digit_of(tile[spread(i - 1)], shift, mask, inversion, key) != each:
                starts[each] = i
        group_barrier(group)
        for j in range(RUN):
            i = position + j * size
            if i < filled:
                bits = tile[spread(i)]
                each = digit_of(bits, shift, mask, inversion, key)
                to = following[each] + (i - starts[each])
                out[to] = bits
                if values_out is not None:
                    values_out[to] = tile_values[spread(i)]
        group_barrier(group)
        # The last of each digit tells where the next tile goes on.
        for i in range(position, filled, size):
            each = digit_of(tile[spread(i)], shift, mask, inversion, key)
            is_last = True
            if i + 1 < filled:
                is_last = digit_of(tile[spread(i + 1)], shift, mask, inversion, key) != each
            if is_last:
                following[each] += i + 1 - starts[each]
        group_barrier(group)
        base += size * run


def copy_pieces(item: NdItem, a, out) -> None:
    """Copy an array."""
    for i in range(item.get_global_id(0), a.shape[0], item.get_global_range(0)):
        out[i] = a[i]


def radix_sort(world: World, keys: Any, values: Any, dtype: np.dtype[Any], is_descending: bool) -> None:
    """Sort an array of numbers in place, and move the elements of another with them; stable.

    - `world`: where kernels run.
    - `keys`: at least two elements.
    - `values`: what goes with the keys.
    - `dtype`: of the keys.
    - `is_descending`: the largest first.
    """
    elements = keys.shape[0]
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    bits = keys if dtype == unsigned else world.bits_of(keys, unsigned)
    other, values_other, widest = world.empty(keys, (elements,), unsigned), None, dtype.itemsize
    if values is not None:
        value_type = known_dtype(world, values)
        values_other, widest = world.empty(values, (elements,), value_type), max(widest, value_type.itemsize)
    shape = world.shape(keys, "sort", widest)
    passes = 1 if dtype.kind == "b" else dtype.itemsize
    move = onesweep if shape.sub_group else _move_pieces
    move(world, shape, bits, other, values, values_other, dtype, is_descending)
    if passes % 2:
        full = Pieces.of(elements, world.shape(keys, "scan", dtype.itemsize)).space
        world.run(copy_pieces, full, (other, bits))
        if values is not None:
            world.run(copy_pieces, full, (values_other, values))


def _move_pieces(
    world: World,
    shape: Shape,
    bits: Any,
    other: Any,
    values: Any,
    values_other: Any,
    dtype: np.dtype[Any],
    is_descending: bool,
) -> None:
    """Sort where groups must not wait for each other; parameters and result are those of `onesweep`."""
    elements = bits.shape[0]
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    pieces = Pieces.of(elements, shape)
    index = np.dtype(np.int64 if elements > np.iinfo(np.int32).max or shape.local == 1 else np.int32)
    counts = world.empty(bits, (_DIGITS * pieces.count,), index)
    scan_shape = world.shape(bits, "scan", index.itemsize)
    key = key_of(dtype)
    optional: dict[str, Any] = {} if values is not None else {"values": None, "values_out": None}
    for number in range(1 if dtype.kind == "b" else dtype.itemsize):
        given = unsigned.type(number * _BITS), unsigned.type(_DIGITS - 1), np.int32(_DIGITS - 1 if is_descending else 0)
        moving = (bits, counts, other) if values is None else (bits, values, counts, other, values_other)
        if shape.local == 1:
            world.run(count_alone, pieces.space, (bits, counts, pieces.length, *given), key=key)
            scan_into(world, scan_shape, counts, counts, index, plus, 0, True, same)
            world.run(move_alone, pieces.space, (*moving, pieces.length, *given), key=key, **optional)
        else:
            found = scratch(np.dtype(np.int32), _DIGITS)
            world.run(count_digits, pieces.space, (bits, counts, found, pieces.length, *given), key=key)
            scan_into(world, scan_shape, counts, counts, index, plus, 0, True, same)
            local: list[LocalAccessor] = [scratch(unsigned, shape.tile + shape.tile // 32)]
            without: dict[str, Any] = {"tile_values": None} if values is None else {}
            if values is not None:
                local.append(scratch(known_dtype(world, values), shape.tile + shape.tile // 32))
            local += [scratch(np.dtype(np.int32), _HALF * shape.local + shape.local), scratch(index, _DIGITS), found]
            args = (*moving, *local, pieces.length, shape.run, *given)
            world.run(move_digits, pieces.space, args, key=key, **optional, **without)
        bits, other, values, values_other = other, bits, values_other, values
